"""JSON Schemas of the request bodies; ``openapi.yaml`` shows the same ones."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


_TEXT: Schema = {"type": "string", "maxLength": 1024}
_TEXT_OR_NOTHING: Schema = {"type": ["string", "null"], "maxLength": 1024}
_BOOLEAN: Schema = {"type": "boolean"}
_SIZE: Schema = {"type": "integer"}
_SIZE_OR_NOTHING: Schema = {"type": ["integer", "null"]}
_NAMES: Schema = {"type": "array", "items": {"type": "string", "maxLength": 256}, "maxItems": 64}
_ARGUMENTS: Schema = {
    "anyOf": [
        {"type": "array", "items": {"type": "string", "maxLength": 1024}, "maxItems": 200},
        {"type": "string", "maxLength": 1024},
    ]
}

_SHELL: Schema = {"type": ["string", "null"], "maxLength": 128}

_PAIRS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": 8192},
    "maxProperties": 100,
}
_SECRET = _object(("name", "secret", "key"), name=_TEXT, secret=_TEXT, key=_TEXT)
_TOLERATION = _object(
    key=_TEXT,
    operator={"enum": ["Equal", "Exists"]},
    value=_TEXT,
    effect={"enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute"]},
    seconds={"type": ["integer", "null"], "minimum": 0},
)
_MOUNT = _object(("claim", "path"), claim=_TEXT, path=_TEXT, read_only=_BOOLEAN, sub_path=_TEXT)
_STORAGE: Schema = {
    "type": "array",
    "items": {"anyOf": [{"type": "string", "maxLength": 256}, _MOUNT]},
    "maxItems": 32,
}

EMPTY = _object()

CREATE = _object(
    ("name", "framework", "size"),
    name={"type": "string", "maxLength": 4096},
    framework=_TEXT,
    size=_SIZE,
    engine=_TEXT_OR_NOTHING,
    launcher_mode={"enum": ["here", "pod", None]},
    gpus_per_container={"type": "integer", "minimum": 0, "maximum": 64},
    gpu_kind=_TEXT_OR_NOTHING,
    image=_TEXT_OR_NOTHING,
    shared_memory={"type": ["integer", "null"], "minimum": 1},
    storage=_STORAGE,
    cpu={"type": ["number", "null"], "exclusiveMinimum": 0},
    memory={"type": ["integer", "null"], "minimum": 1},
    env=_PAIRS,
    secret_env={"type": "array", "items": _SECRET, "maxItems": 100},
    node_selector=_PAIRS,
    tolerations={"type": "array", "items": _TOLERATION, "maxItems": 32},
    script=_TEXT_OR_NOTHING,
    arguments=_ARGUMENTS,
    kernelspec=_TEXT_OR_NOTHING,
    min_size=_SIZE,
    max_size=_SIZE_OR_NOTHING,
    pass_env=_NAMES,
    operation={"type": "string", "maxLength": 128},
    dry_run=_BOOLEAN,
)

CONFIGURE = _object(
    script=_TEXT_OR_NOTHING,
    arguments=_ARGUMENTS,
    kernelspec=_TEXT_OR_NOTHING,
    min_size=_SIZE,
    max_size=_SIZE_OR_NOTHING,
    pass_env=_NAMES,
    release_policy={"enum": ["ask", "release", "keep"]},
    framework=_TEXT,
)

TARGET = _object(("size",), size=_SIZE, force=_BOOLEAN, victims=_NAMES)

PLAN = _object(("size",), size=_SIZE, victims=_NAMES)

TERMINAL = _object(
    shell=_SHELL,
    rows={"type": "integer", "minimum": 1, "maximum": 1000},
    columns={"type": "integer", "minimum": 1, "maximum": 1000},
)

OFFER = _object(
    ("kind", "choice"),
    kind={"enum": ["drain", "release"]},
    choice={"type": "string", "maxLength": 64},
    container={"type": ["string", "null"], "maxLength": 256},
    run={"type": ["string", "null"], "maxLength": 128},
)
