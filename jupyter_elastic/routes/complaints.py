"""Says in words what a body does that its schema does not allow."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jsonschema.exceptions import ValidationError

from ..errors import BadInput

SHOWN = 60  # characters of a value in a message

_TYPES = {
    "integer": "a whole number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "number": "a number",
}


def in_words(error: ValidationError) -> BadInput:
    """Return the error to answer; ``detail.field`` is the path of the field."""
    field = ".".join(str(part) for part in error.absolute_path)
    kind = str(error.validator)
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(error, field)
    limit: Any = error.validator_value
    what = field or "The body"
    shown = _shown(error.instance)
    words = {
        "minimum": f"{what} must be at least {limit}, not {shown}.",
        "maximum": f"{what} must be at most {limit}, not {shown}.",
        "maxLength": f"{what} is longer than {limit} characters.",
        "maxItems": f"{what} has more than {limit} items.",
    }
    message = words.get(kind, f"{what} cannot be {shown}.")
    return BadInput(message, hint="Correct it.", detail={"field": field, "limit": limit})


def _shown(value: object) -> str:
    """Return a value as it was sent, cut."""
    return json.dumps(value, ensure_ascii=False)[:SHOWN]


def _extra(error: ValidationError, field: str) -> BadInput:
    schema: Any = error.schema
    instance: Any = error.instance
    known = list(schema.get("properties", {}))
    name = next((key for key in instance if key not in known), "")
    path = (f"{field}.{name}" if field else name)[:80]
    hint = "Known fields: " + ", ".join(known) + "." if known else "Send an empty object."
    return BadInput(f"There is no field {path!r} here.", hint=hint, detail={"field": path})


def _missing(error: ValidationError, field: str) -> BadInput:
    required: Any = error.validator_value
    instance: Any = error.instance
    name = next(key for key in required if key not in instance)
    path = f"{field}.{name}" if field else name
    return BadInput(f"{path} is missing.", hint=f"Give {path}.", detail={"field": path})


def _type(error: ValidationError, field: str) -> BadInput:
    limit: Any = error.validator_value
    names: list[str] = limit if isinstance(limit, list) else [limit]
    wanted = " or ".join(_TYPES.get(name, name) for name in names)
    shown = _shown(error.instance)
    message = f"{field or 'The body'} must be {wanted}, not {shown}."
    return BadInput(message, hint=f"Send {wanted}.", detail={"field": field})


def _any_of(error: ValidationError, field: str) -> BadInput:
    # Of the choices, the one that went furthest into the value is the one that was meant.
    inner = max(
        error.context or [],
        key=lambda item: (len(item.absolute_path), item.validator != "type"),
        default=None,
    )
    if inner is not None:
        return in_words(inner)
    return BadInput(f"{field} cannot be {_shown(error.instance)}.", detail={"field": field})


def _choice(error: ValidationError, field: str) -> BadInput:
    choices: Any = error.validator_value
    names = ", ".join(str(item) for item in choices if item is not None)
    message = f"{field} cannot be {_shown(error.instance)}."
    return BadInput(message, hint=f"Choose one of: {names}.", detail={"field": field})


_SPECIAL: dict[str, Callable[[ValidationError, str], BadInput]] = {
    "additionalProperties": _extra,
    "required": _missing,
    "type": _type,
    "anyOf": _any_of,
    "enum": _choice,
}
