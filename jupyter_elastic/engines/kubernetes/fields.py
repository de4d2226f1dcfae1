"""Reads fields of raw objects: any of them may be missing, null or of another type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

Json = Mapping[str, Any]
_EMPTY: Json = {}


def mapping(value: object, *path: str) -> Json:
    """Return the object at `path` below `value`, an empty one if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else _EMPTY


def mappings(value: object) -> list[Json]:
    """Return the objects of a list; everything else in it is left out."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text, an empty one if it is none."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return a whole number, 0 if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def instant(value: object) -> float | None:
    """Return a time such as ``2026-01-02T03:04:05Z`` in seconds since 1970, or None."""
    try:
        found = datetime.fromisoformat(text(value).replace("Z", "+00:00"))
        if found.tzinfo is None:
            found = found.replace(tzinfo=timezone.utc)
        return found.timestamp()
    except (ValueError, OverflowError):
        return None
