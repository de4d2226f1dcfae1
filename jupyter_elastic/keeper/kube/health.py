"""How good a reflector's objects are."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any, Callable


@dataclass(frozen=True)
class ReflectorHealth:
    """How good the objects of a reflector are; all times are the server's, seconds since 1970.

    Parameters
    ----------
    state
        ``starting``, ``live``, ``stale``, ``forbidden``, ``unauthenticated``, ``gone`` (the
        namespace) or ``failed`` (a fault of ours; it goes on by itself).
    since
        When this state began.
    text
        Why it is not live, in words.
    last_event_at, last_list_at
        When the server last said something in a watch, and when all objects were last read.
    restarts
        How often a fault of ours was survived.
    version
        Up to which the objects are known.
    odd
        How many events and objects were not understood.
    """

    state: str
    since: float
    text: str = ""
    last_event_at: float | None = None
    last_list_at: float | None = None
    restarts: int = 0
    version: str | None = None
    odd: int = 0


class Record:
    """A health that one thread keeps and any reads.

    Parameters
    ----------
    now
        The server's time, seconds since 1970.
    clock
        Monotonic, seconds.
    """

    def __init__(self, now: Callable[[], float], clock: Callable[[], float]) -> None:
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._health = ReflectorHealth("starting", now())
        self._heard: float | None = None

    @property
    def health(self) -> ReflectorHealth:
        """The newest."""
        return self._health

    @property
    def age(self) -> float:
        """Seconds since the server last said something."""
        heard = self._heard
        return float("inf") if heard is None else self._clock() - heard

    def enter(self, state: str, text: str = "") -> bool:
        """Take a state, and return whether it is another one or has another reason."""
        before = self._health
        if (state, text) == (before.state, before.text):
            return False
        since = before.since if state == before.state else self._now()
        self._set(state=state, text=text, since=since)
        return True

    def heard(self) -> None:
        """Note that the server said something."""
        self._heard = self._clock()

    def heard_event(self, version: str | None) -> None:
        """Note an event, and up to where it takes us."""
        self.heard()
        self._set(last_event_at=self._now(), version=version)

    def listed(self, version: str) -> None:
        """Note that all objects were read."""
        self.heard()
        self._set(last_list_at=self._now(), version=version)

    def forget_version(self) -> None:
        """Note that all objects must be read again."""
        self._set(version=None)

    def count(self, *, restarts: int = 0, odd: int = 0) -> None:
        """Add to the counts."""
        with self._lock:
            before = self._health
            self._health = replace(
                before, restarts=before.restarts + restarts, odd=before.odd + odd
            )

    def _set(self, **fields: Any) -> None:
        with self._lock:
            self._health = replace(self._health, **fields)
