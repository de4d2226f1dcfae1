"""Checks what a person asks for before anything is built of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath
from typing import NoReturn

from ...errors import BadInput
from ...models import ClusterSpec, Mount, Toleration
from ...naming import check_name
from . import layout, quantities
from .config import KubernetesConfig
from .pod import shared_memory

IMAGE_LIMIT = 512  # characters
ENV_COUNT = 100
ENV_VALUE = 8 * 1024  # bytes
ENV_TOTAL = 64 * 1024  # bytes, names and values
MOUNTS = 32
SELECTORS = 32
CPU = (0.01, 1024.0)  # cores
MEMORY = (32 * 2**20, 64 * 2**40)  # bytes
SHARED_MEMORY = (2**20, 64 * 2**40)
GPUS = 64
SIZE = 1000  # the scale this was measured at; what a namespace allows is found out later
PATH_LIMIT = 1024

_HOST = (
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]{{1,5}})?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@[a-z0-9]+(?:[+._-][a-z0-9]+)*:[A-Fa-f0-9]{32,128})?"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names by which text would become code, which belong to a shell, to Kubernetes, a hub or to us.
_DENIED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|IFS|ENV|BASH_ENV|ZDOTDIR|PS4|UID|EUID|PPID|"
    r"SHELLOPTS|BASHOPTS|LD_PRELOAD|LD_AUDIT|(?:KUBERNETES_|JUPYTER|JPY_|SSH_|BASH_FUNC_).*|"
    r"POD_IP|POD_UID|POD_NAME"
)
_DNS = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_DNS_LIMIT = 253
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LABEL = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:(?=[^/]{{1,253}}/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?{_LABEL}")
_LABEL_VALUE = re.compile(rf"(?:{_LABEL})?")
# Folders that hold the system or are ours: a claim over them breaks the pod or gets around us.
_OURS = (layout.OWN, layout.GIVEN, "/etc/jupyter-elastic", layout.SHARED_MEMORY)
_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys",
    "/usr/bin", "/usr/lib", "/usr/sbin", "/var/run",
)  # fmt: skip
_WHOLE = ("/", "/usr", "/var", "/opt")  # not themselves; folders below them are fine


def validate(spec: ClusterSpec, config: KubernetesConfig) -> None:
    """Refuse what pods cannot have or must not have.

    Raises
    ------
    BadInput
        The first thing that is wrong; ``detail.field`` is its path, ``detail.limit`` the limit.
    """
    check_name(spec.name)
    _whole(spec.size, "size", 1, SIZE)
    _whole(spec.gpus_per_container, "gpus_per_container", 0, GPUS)
    if spec.gpus_per_container or spec.gpu_kind is not None:
        _gpu_kind(spec.gpu_kind, config)
    _image(spec, config)
    _sizes(spec, config)
    _environment(spec)
    _mounts((*spec.storage, *config.storage), config.host_folder)
    _selector(spec.node_selector)
    for number, toleration in enumerate(spec.tolerations):
        _toleration(toleration, f"tolerations[{number}]")


def _bad(field: str, message: str, hint: str = "", limit: object = None) -> NoReturn:
    detail: dict[str, object] = {"field": field}
    if limit is not None:
        detail["limit"] = limit
    raise BadInput(message, hint=hint, detail=detail)


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        _bad(field, f"{field} must be a text, not {type(value).__name__}.")
    return value


def _matches(value: object, pattern: re.Pattern[str], field: str, what: str, limit: int) -> str:
    text = _text(value, field)
    if len(text) > limit:
        _bad(field, f"{field} has {len(text)} characters, the limit is {limit}.", limit=limit)
    if pattern.fullmatch(text) is None:
        _bad(field, f"{field}: {_cut(text)} is not {what}.")
    return text


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: object, field: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        _bad(
            field,
            f"{field} must be a whole number from {least} to {most}, not {_cut(value)}.",
            limit=most,
        )
    return value


def _gpu_kind(kind: str | None, config: KubernetesConfig) -> None:
    found = config.gpu(kind)
    if found is None:
        known = ", ".join(item.resource for item in config.gpus) or "none"
        _bad(
            "gpu_kind",
            f"There is no GPU of the kind {_cut(kind)}.",
            f"Choose one that the form offers; the resources are: {known}.",
        )
    _matches(found[1], _LABEL_VALUE, "gpu_kind", "the value of a node label", 63)


def _image(spec: ClusterSpec, config: KubernetesConfig) -> None:
    image = config.image(spec)
    if image is None:
        if spec.launcher_mode == "here":
            return  # that of the pod that runs Jupyter
        _bad(
            "image",
            f"There is no image for {spec.framework}.",
            "Name one; the administrator can set one for everybody.",
        )
    _matches(image, _IMAGE, "image", "the name of an image", IMAGE_LIMIT)


def _sizes(spec: ClusterSpec, config: KubernetesConfig) -> None:
    cpu = spec.cpu
    if cpu is not None and not (_is_number(cpu) and CPU[0] <= cpu <= CPU[1]):
        _bad(
            "cpu",
            f"cpu must be {CPU[0]:g} to {CPU[1]:g} cores, not {_cut(cpu)}.",
            limit=CPU[1],
        )
    _bytes(spec.memory, "memory", *MEMORY)
    _bytes(spec.shared_memory, "shared_memory", *SHARED_MEMORY)
    shared = shared_memory(spec, config)
    if spec.memory is not None and shared >= spec.memory:
        words = quantities.size_words(shared), quantities.size_words(spec.memory)
        _bad(
            "shared_memory",
            f"{words[0]} of shared memory do not fit: it is a part of the memory, {words[1]}.",
            "Ask for more memory, or for less shared memory.",
            spec.memory,
        )


def _bytes(value: object, field: str, least: int, most: int) -> None:
    if value is None:
        return
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return
    low, high = quantities.size_words(least), quantities.size_words(most)
    _bad(field, f"{field} must be {low} to {high}, not {_cut(value)} bytes.", limit=most)


def _environment(spec: ClusterSpec) -> None:
    count = len(spec.env) + len(spec.secret_env)
    if count > ENV_COUNT:
        _bad("env", f"{count} variables are given, the limit is {ENV_COUNT}.", limit=ENV_COUNT)
    seen: set[str] = set()
    total = 0
    for number, (name, value) in enumerate(spec.env):
        field = f"env[{number}]"
        _name(name, f"{field}.name", seen)
        text = _text(value, f"{field}.value")
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            _bad(f"{field}.value", f"The value of {name} has half a character in it.")
        if "\0" in text:
            _bad(f"{field}.value", f"The value of {name} has a NUL in it.")
        if size > ENV_VALUE:
            message = f"The value of {name} has {size} bytes, the limit is {ENV_VALUE}."
            _bad(f"{field}.value", message, "Put it into a file.", ENV_VALUE)
        total += len(name) + size
    if total > ENV_TOTAL:
        message = f"All variables together have {total} bytes, the limit is {ENV_TOTAL}."
        _bad("env", message, "Put some into a file.", ENV_TOTAL)
    for number, (name, secret, key) in enumerate(spec.secret_env):
        field = f"secret_env[{number}]"
        _name(name, f"{field}.name", seen)
        _matches(secret, _DNS, f"{field}.secret", "the name of a Secret", _DNS_LIMIT)
        _matches(key, _SECRET_KEY, f"{field}.key", "a key of a Secret", _DNS_LIMIT)


def _name(value: object, field: str, seen: set[str]) -> None:
    name = _matches(value, _VARIABLE, field, "the name of a variable", 256)
    if _DENIED.fullmatch(name):
        _bad(
            field,
            f"{name} cannot be set: it belongs to the system, to Kubernetes or to Jupyter.",
            "Set it in the script, or choose another name.",
        )
    if name in seen:
        _bad(field, f"{name} is given twice.")
    seen.add(name)


def _mounts(mounts: Sequence[Mount], host_folder: str) -> None:
    if len(mounts) > MOUNTS:
        _bad("storage", f"{len(mounts)} mounts are given, the limit is {MOUNTS}.", limit=MOUNTS)
    seen: set[str] = set()
    for number, mount in enumerate(mounts):
        field = f"storage[{number}]"
        _matches(mount.claim, _DNS, f"{field}.claim", "the name of a claim", _DNS_LIMIT)
        path = _path(mount.path, f"{field}.path")
        for ours in (*_OURS, host_folder, *_SYSTEM):
            if _inside(path, ours) or _inside(ours, path) or path in _WHOLE:
                taken = path if path in _WHOLE else ours
                _bad(
                    f"{field}.path",
                    f"Nothing can be mounted at {path}: {taken} is taken.",
                    "Choose a folder such as /data or /mnt/data.",
                )
        if path in seen:
            _bad(f"{field}.path", f"Two mounts have the path {path}.")
        seen.add(path)
        if mount.sub_path:
            _sub_path(mount.sub_path, f"{field}.sub_path")


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _path(value: object, field: str) -> str:
    text = _text(value, field)
    path = text.rstrip("/") or "/"
    wrong = not text.isprintable() or ":" in text or "\\" in text or normpath(path) != path
    if len(text) > PATH_LIMIT or not text.startswith("/") or text.startswith("//") or wrong:
        _bad(
            field,
            f"{field}: {_cut(text)} is not a full path that can be mounted.",
            "Begin with /, without //, . and .., without colons and control characters.",
        )
    return path


def _sub_path(value: object, field: str) -> None:
    text = _text(value, field)
    parts = text.rstrip("/").split("/")
    wrong = not text.isprintable() or "\\" in text or any(part in ("", ".", "..") for part in parts)
    if wrong or len(text) > PATH_LIMIT:
        _bad(
            field,
            f"{field}: {_cut(text)} is not a folder of a claim.",
            "Give a path without / at the begin, without . and ..",
        )


def _selector(selector: Sequence[tuple[str, str]]) -> None:
    if len(selector) > SELECTORS:
        message = f"{len(selector)} node labels are given, the limit is {SELECTORS}."
        _bad("node_selector", message, limit=SELECTORS)
    seen: set[str] = set()
    for number, (key, value) in enumerate(selector):
        field = f"node_selector[{number}]"
        name = _matches(key, _LABEL_KEY, f"{field}.key", "a node label", 317)
        _matches(value, _LABEL_VALUE, f"{field}.value", "the value of a node label", 63)
        if name in seen:
            _bad(f"{field}.key", f"{name} is given twice.")
        seen.add(name)


def _toleration(toleration: Toleration, field: str) -> None:
    if toleration.operator not in ("Equal", "Exists"):
        _bad(f"{field}.operator", f"{field}.operator must be Equal or Exists.")
    if toleration.effect not in ("", "NoSchedule", "PreferNoSchedule", "NoExecute"):
        _bad(
            f"{field}.effect",
            f"{field}.effect must be NoSchedule, PreferNoSchedule, NoExecute or empty.",
        )
    if toleration.key:
        _matches(toleration.key, _LABEL_KEY, f"{field}.key", "the key of a taint", 317)
    elif toleration.operator == "Equal":
        _bad(f"{field}.key", f"{field}: without a key the operator must be Exists.")
    _matches(toleration.value, _LABEL_VALUE, f"{field}.value", "the value of a taint", 63)
    if toleration.operator == "Exists" and toleration.value:
        _bad(f"{field}.value", f"{field}: the operator Exists takes no value.")
    if toleration.seconds is None:
        return
    if toleration.effect != "NoExecute":
        _bad(f"{field}.seconds", f"{field}: only the effect NoExecute takes seconds.")
    _whole(toleration.seconds, f"{field}.seconds", 0, 2**31 - 1)
