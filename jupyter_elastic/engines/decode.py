"""Plain JSON values back into frozen dataclasses, strictly; the way out is ``models.to_json``."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodeError(ValueError):
    """A value that does not have the shape of the model."""


@functools.lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def decode(kind: type[T], value: Any) -> T:
    """Return `value` as a `kind`.

    Unknown keys are left out, so that a newer writer does not stop an older reader.

    Raises
    ------
    DecodeError
        A missing key without default, or a value of another type.
    """
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"{kind} is not a dataclass")
    if not isinstance(value, dict):
        raise DecodeError(f"{kind.__name__} must be an object, not {type(value).__name__}")
    hints = _hints(kind)
    known: dict[str, Any] = {}
    for item in dataclasses.fields(kind):
        if item.name in value:
            known[item.name] = _value(hints[item.name], value[item.name], item.name)
    try:
        return kind(**known)
    except TypeError as error:
        raise DecodeError(str(error)) from None


def _value(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _optional(hint, value, where)
    if origin is tuple:
        return _tuple(hint, value, where)
    if origin is Literal:
        if value not in get_args(hint):
            raise DecodeError(f"{where}: {value!r} is not one of {get_args(hint)}")
        return value
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return decode(hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and type(value) is not hint:
        raise DecodeError(f"{where}: {hint.__name__} wanted, not {type(value).__name__}")
    return value


def _optional(hint: Any, value: Any, where: str) -> Any:
    if value is None:
        return None
    inner = [item for item in get_args(hint) if item is not type(None)]
    return _value(inner[0], value, where)


def _tuple(hint: Any, value: Any, where: str) -> Any:
    if not isinstance(value, (list, tuple)):
        raise DecodeError(f"{where}: a list wanted, not {type(value).__name__}")
    inner = get_args(hint)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_value(inner[0], item, where) for item in value)
    if len(inner) != len(value):
        raise DecodeError(f"{where}: {len(inner)} items wanted, not {len(value)}")
    return tuple(_value(kind, item, where) for kind, item in zip(inner, value, strict=True))
