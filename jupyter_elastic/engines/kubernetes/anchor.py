"""What the anchor ConfigMap of a cluster holds, and how it becomes text and comes back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models import ClusterSpec, HostList, LastChange, Settings, to_json
from ..decode import DecodeError, decode

ABOUT, HOSTS, INTENT = "cluster", "hosts", "intent"
HISTORY_KEPT = 20


@dataclass(frozen=True)
class About:
    """What stays the same but for the settings. ``created`` is an instant."""

    spec: ClusterSpec
    settings: Settings
    created: float
    operation: str = ""
    version: int = 1


@dataclass(frozen=True)
class Pending:
    """A change of size that was begun: whoever finds it later finishes it."""

    target: int
    expected: int
    victims: tuple[str, ...]  # uids
    until: float  # instant at which the grace of the victims is spent
    by: str
    at: float


@dataclass(frozen=True)
class Intent:
    """What was decided and is not visible in any other object."""

    last_change: LastChange | None = None
    pending: Pending | None = None
    releasing: bool = False
    history: tuple[str, ...] = ()  # newest first

    def noted(self, text: str) -> Intent:
        """Return it with one more line of history."""
        return dataclasses.replace(self, history=(text, *self.history)[:HISTORY_KEPT])


@dataclass(frozen=True)
class Anchor:
    """A cluster's anchor as it was read. ``version`` is opaque: it serves compare-and-swap."""

    id: str
    uid: str
    version: str
    about: About
    hosts: HostList = field(default_factory=lambda: HostList(0))
    intent: Intent = field(default_factory=Intent)

    @property
    def reference(self) -> dict[str, Any]:
        """What a reference to it is made of."""
        return {"metadata": {"name": self.id, "uid": self.uid}}


def to_data(about: About, hosts: HostList, intent: Intent) -> dict[str, str]:
    """Return the ``data`` of the ConfigMap."""
    return {ABOUT: _text(about), HOSTS: _text(hosts), INTENT: _text(intent)}


def changed_data(before: Anchor, after: Anchor) -> dict[str, str]:
    """Return only those keys of ``data`` that differ."""
    old = to_data(before.about, before.hosts, before.intent)
    new = to_data(after.about, after.hosts, after.intent)
    return {key: value for key, value in new.items() if value != old[key]}


def read(configmap: Mapping[str, Any]) -> Anchor:
    """Return the anchor in a ConfigMap.

    Raises
    ------
    DecodeError
        It is not one of ours, or a newer version wrote it that cannot be read.
    """
    metadata, data = configmap.get("metadata") or {}, configmap.get("data") or {}
    try:
        return Anchor(
            id=str(metadata["name"]),
            uid=str(metadata["uid"]),
            version=str(metadata["resourceVersion"]),
            about=decode(About, json.loads(data[ABOUT])),
            hosts=decode(HostList, json.loads(data[HOSTS])),
            intent=decode(Intent, json.loads(data[INTENT])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"the anchor cannot be read: {error}") from None


def _text(value: Any) -> str:
    return json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False)
