"""The newest objects of one kind, by uid: what they are, never in which order they came."""

from __future__ import annotations

from typing import Any, Iterable

_GONE = "DELETED"


class Store:
    """A mapping that is replaced by lists and changed by events; not thread-safe."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def copy(self) -> dict[str, dict[str, Any]]:
        """Return the objects; they are never changed in place."""
        return dict(self._objects)

    def replace(self, items: Iterable[dict[str, Any]]) -> bool:
        """Take a whole list, and return whether anything differs from before."""
        fresh = {key: item for key, item in ((key_of(item), item) for item in items) if key}
        before, self._objects = self._objects, fresh
        return before.keys() != fresh.keys() or any(
            not _same(before[key], item) for key, item in fresh.items()
        )

    def apply(self, kind: str, item: dict[str, Any]) -> bool:
        """Take an event of a watch, and return whether it changed anything."""
        key = key_of(item)
        if not key:
            return False
        before = self._objects.get(key)
        if kind == _GONE:
            return self._objects.pop(key, None) is not None
        self._objects[key] = item
        return before is None or not _same(before, item)


def key_of(item: dict[str, Any]) -> str:
    """Return the uid; where there is none, the name in a form that no uid has; else nothing."""
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    uid, name = metadata.get("uid"), metadata.get("name")
    if isinstance(uid, str) and uid:
        return uid
    return f"name:{name}" if isinstance(name, str) and name else ""


def version_of(item: dict[str, Any]) -> str:
    """Return the resourceVersion, which only ever is equal to another or not."""
    metadata = item.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else ""


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    version = version_of(one)
    return version == version_of(other) if version else one == other
