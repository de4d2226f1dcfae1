"""Objects with versions and a log of changes: what an API server keeps in its database."""

from __future__ import annotations

import copy
import datetime
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .patches import selects

Json = dict[str, Any]


class Key(NamedTuple):
    """One object's place."""

    plural: str
    namespace: str
    name: str


@dataclass(frozen=True)
class Change:
    """One line of the log."""

    version: int
    type: str
    key: Key
    object: Json
    before: Json | None
    serial: int = 0

    def as_seen(self, selector: str) -> str | None:
        """Return the type of the event for a watcher with a selector, None for none."""
        now = self.type != "DELETED" and selects(selector, labels_of(self.object))
        then = self.before is not None and selects(selector, labels_of(self.before))
        if now:
            return "MODIFIED" if then else "ADDED"
        return "DELETED" if then else None


class Store:
    """All objects of the server; one counter of versions; thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Condition(threading.RLock())
        self.version = 1000
        self.oldest = 1000
        self.skew = 0.0
        self.serial = 0
        self.log: list[Change] = []
        self._objects: dict[Key, Json] = {}

    def now(self) -> str:
        """Return the server's time as it writes it."""
        stamp = datetime.datetime.fromtimestamp(time.time() + self.skew, datetime.timezone.utc)
        return stamp.strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, key: Key) -> Json | None:
        """Return an object; as it is shared, nobody may change it."""
        with self.lock:
            return self._objects.get(key)

    def all(
        self, plural: str | None = None, namespace: str | None = None
    ) -> list[tuple[Key, Json]]:
        """Return objects, by name; as they are shared, nobody may change them."""
        with self.lock:
            return [
                (key, found)
                for key, found in sorted(self._objects.items())
                if plural in (None, key.plural) and namespace in (None, key.namespace)
            ]

    def add(self, key: Key, body: Json) -> Json:
        """Keep a new object, and return it as it is kept."""
        fresh = copy.deepcopy(body)
        metadata = fresh.setdefault("metadata", {})
        if isinstance(metadata, dict):
            metadata.update(name=key.name, namespace=key.namespace, uid=str(uuid.uuid4()))
            metadata.setdefault("creationTimestamp", self.now())
            metadata["generation"] = 1
        return self._write("ADDED", key, fresh, None)

    def change(self, key: Key, fresh: Json) -> Json:
        """Keep a changed object; one that is equal to the old one is no change."""
        with self.lock:
            before = self._objects[key]
            fresh = copy.deepcopy(fresh)
            if fresh == before:
                return fresh
            if fresh.get("spec") != before.get("spec"):
                fresh["metadata"]["generation"] = before["metadata"].get("generation", 1) + 1
            return self._write("MODIFIED", key, fresh, before)

    def edit(self, key: Key, edit: Callable[[Json], None]) -> Json:
        """Change an object in place, at once for everybody."""
        with self.lock:
            fresh = copy.deepcopy(self._objects[key])
            edit(fresh)
            return self.change(key, fresh)

    def drop(self, key: Key) -> Json | None:
        """Remove an object."""
        with self.lock:
            before = self._objects.get(key)
            if before is None:
                return None
            gone = copy.deepcopy(before)
            self._write("DELETED", key, gone, before)
            del self._objects[key]
            return gone

    def raw(self, key: Key, body: Json, type_: str = "ADDED") -> None:
        """Keep an object exactly as given, however odd it is."""
        with self.lock:
            self.version += 1
            self._objects[key] = copy.deepcopy(body)
            self._log(type_, key, body, None)

    def repeat(self, key: Key) -> None:
        """Log an object again although nothing changed."""
        with self.lock:
            held = self._objects[key]
            self._log("MODIFIED", key, held, held)

    def tick(self) -> None:
        """Use up a version, as objects elsewhere do."""
        with self.lock:
            self.version += 1
            self.lock.notify_all()

    def compact(self) -> None:
        """Forget the log: versions before now are expired."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self.log.clear()
            self.lock.notify_all()

    def since(self, serial: int) -> list[Change]:
        """Return the log after a serial number."""
        with self.lock:
            return [line for line in self.log if line.serial > serial]

    def serial_of(self, version: int) -> int:
        """Return the serial number after which the changes newer than a version come."""
        with self.lock:
            newer = (line.serial for line in self.log if line.version > version)
            return next(newer, self.serial + 1) - 1

    def owned(self, uids: Iterable[str]) -> list[tuple[Key, Json]]:
        """Return the objects that one of these owns."""
        wanted = set(uids)
        return [(key, found) for key, found in self.all() if wanted & set(owners_of(found))]

    def _write(self, type_: str, key: Key, fresh: Json, before: Json | None) -> Json:
        with self.lock:
            self.version += 1
            if isinstance(fresh.get("metadata"), dict):
                fresh["metadata"]["resourceVersion"] = str(self.version)
            self._objects[key] = fresh
            self._log(type_, key, fresh, before)
            return copy.deepcopy(fresh)

    def _log(self, type_: str, key: Key, body: Json, before: Json | None) -> None:
        self.serial += 1
        frozen = copy.deepcopy(body)
        self.log.append(Change(self.version, type_, key, frozen, before, self.serial))
        self.lock.notify_all()


def labels_of(found: Json) -> dict[str, str]:
    """Return the labels of an object, however odd it is."""
    metadata = found.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else {}


def owners_of(found: Json) -> list[str]:
    """Return the uids of an object's owners."""
    metadata = found.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    return [owner["uid"] for owner in owners or []]
