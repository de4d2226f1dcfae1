"""Reads request bodies: JSON of a bounded size and depth, without doubt about what it says."""

from __future__ import annotations

import json
import math
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from ..errors import BadInput, TooLarge
from .complaints import in_words

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 8

Schema = dict[str, Any]


def _integer(checker: Any, instance: object) -> bool:
    # JSON Schema counts 2.0 as an integer; a number of containers is written without a point.
    return isinstance(instance, int) and not isinstance(instance, bool)


_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _integer),
)


def read_body(raw: bytes, schema: Schema) -> dict[str, Any]:
    """Parse and check a request body; an empty one is ``{}``.

    Raises
    ------
    BadInput
        Not JSON, a doubled key, a number that JSON does not have, too deep, or not as `schema`
        says.
    TooLarge
        Above 64 KiB.
    """
    if len(raw) > MAX_BODY_BYTES:
        raise TooLarge(
            f"The body has {len(raw)} bytes, more than the limit of {MAX_BODY_BYTES}.",
            hint="Send less.",
            detail={"limit": MAX_BODY_BYTES},
        )
    value = _parse(raw) if raw.strip() else {}
    error = next(iter(sorted(_Validator(schema).iter_errors(value), key=_importance)), None)
    if error is not None:
        raise in_words(error)
    return dict(value)


def _parse(raw: bytes) -> Any:
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_no_doubles,
            parse_constant=_refuse_number,
            parse_float=_finite,
        )
    except RecursionError:
        raise _too_deep() from None
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput(
            f"The body is not JSON: {str(error)[:120]}.",
            hint="Send one JSON object.",
            detail={"field": ""},
            code="not_json",
        ) from None
    if _depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise BadInput(
            f"The key {double[:60]!r} is there twice.",
            hint="Send each key once.",
            detail={"field": double[:60]},
        )
    return result


def _refuse_number(text: str) -> Any:
    raise BadInput(f"{text} is not a JSON number.", hint="Send a finite number.", code="not_json")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else float(_refuse_number(text))


def _too_deep() -> BadInput:
    return BadInput(
        f"The body is nested deeper than {MAX_DEPTH} levels.",
        hint="Send one flat object.",
        detail={"limit": MAX_DEPTH},
    )


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        below: list[Any] = []
        for item in level:
            below.extend(
                item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            )
        level = below
    return depth


def _importance(error: ValidationError) -> tuple[int, str]:
    # An unknown key is more telling than what is missing because of it.
    return (error.validator != "additionalProperties", "/".join(map(str, error.absolute_path)))
