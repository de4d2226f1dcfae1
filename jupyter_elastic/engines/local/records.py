"""What is on disk: one record per cluster, the only truth of this engine."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Literal

from ...models import ClusterSpec, HostList, LastChange, Role, Settings, to_json
from ..decode import DecodeError, decode

VERSION = 1
HISTORY_LIMIT = 50

Addressing = Literal[
    "places", "slots"
]  # one loopback address each, or one line `localhost slots=N`


@dataclass(frozen=True)
class Place:
    """One container: place `number` of this machine. ``drain_until`` is set while it is leaving."""

    number: int
    uid: str
    name: str
    role: Role
    created: float
    since: float
    draining: bool = False
    drain_until: float | None = None
    devices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Record:
    """Everything that is known about one cluster.

    ``next_number`` only grows: a number, and with it a host string, is used once in a cluster's
    life.
    """

    id: str
    spec: ClusterSpec
    settings: Settings
    created: float
    target: int
    boot: str
    next_number: int
    host_folder: str
    places: tuple[Place, ...]
    hosts: HostList
    addressing: Addressing = "places"
    operation: str = ""
    shared: bool = False  # the host folder is the machine's shared one, held by a claim
    releasing: bool = False
    last_change: LastChange | None = None
    history: tuple[str, ...] = ()
    version: int = VERSION

    @property
    def members(self) -> tuple[Place, ...]:
        """Places that count towards the target, launcher first, in join order."""
        return tuple(place for place in self.places if not place.draining)

    @property
    def launcher(self) -> Place:
        """The first place."""
        return self.places[0]

    def place(self, uid: str) -> Place | None:
        """Return the place of this uid, or None."""
        return next((place for place in self.places if place.uid == uid), None)

    def with_place(self, changed: Place) -> Record:
        """Return the record with one place replaced."""
        places = tuple(changed if item.uid == changed.uid else item for item in self.places)
        return dataclasses.replace(self, places=places)

    def noted(self, text: str) -> Record:
        """Return the record with one more line of history, newest first."""
        return dataclasses.replace(self, history=(text, *self.history)[:HISTORY_LIMIT])


def dumps(record: Record) -> bytes:
    """Return the text of a state file."""
    return json.dumps(to_json(record), indent=1, ensure_ascii=True).encode() + b"\n"


def loads(text: bytes) -> Record:
    """Read a state file.

    Raises
    ------
    DecodeError
        Not JSON, not a record, or written by a later version that this one cannot read.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise DecodeError(f"not JSON: {error}") from None
    record = decode(Record, value)
    if record.version > VERSION:
        raise DecodeError(f"written by a later version ({record.version} > {VERSION})")
    if not record.places or record.places[0].role != "launcher":
        raise DecodeError("the first container is not a launcher")
    return record
