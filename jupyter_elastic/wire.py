"""JSON back into the models, so that every local caller works with the same typed objects."""

from __future__ import annotations

import dataclasses
import types
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ElasticError

T = TypeVar("T")


def from_json(kind: type[T], value: Any) -> T:
    """Build a model from plain JSON values.

    Unknown keys are dropped and missing ones take the model's default, so a client and a server
    of different versions understand each other as far as they can.

    Parameters
    ----------
    kind
        A dataclass of :mod:`jupyter_elastic.models`.
    value
        What ``json.loads`` returned for it.

    Raises
    ------
    ElasticError
        When `value` is not an object, or a field without default is missing.
    """
    if not isinstance(value, dict):
        raise _unreadable(f"{kind.__name__}: expected an object, got {type(value).__name__}")
    model: Any = kind
    hints = _hints(model)
    known = {name: _build(hints[name], item) for name, item in value.items() if name in hints}
    try:
        return kind(**known)
    except TypeError as error:
        raise _unreadable(str(error)) from None


def _unreadable(why: str) -> ElasticError:
    return ElasticError(
        f"The server's answer cannot be read: {why}.",
        hint="Install the same version of jupyter_elastic here and where the server runs.",
        code="version",
    )


@cache
def _hints(model: Any) -> dict[str, Any]:
    hints = get_type_hints(model)
    return {item.name: hints[item.name] for item in dataclasses.fields(model)}


def _build(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = [item for item in get_args(hint) if item is not type(None)]
        return _build(inner[0], value) if len(inner) == 1 else value
    if origin is tuple and isinstance(value, list):
        return tuple(_build(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    return value
