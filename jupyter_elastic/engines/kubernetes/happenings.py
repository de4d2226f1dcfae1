"""Events of Kubernetes, found by the object they are about; the newest one of a kind counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .fields import Json, instant, mapping, text


@dataclass(frozen=True)
class Happening:
    """One event: what, in whose words, and the instant it happened last."""

    reason: str
    message: str
    at: float


class Happenings:
    """The events of a namespace.

    Parameters
    ----------
    events
        Raw objects; those that cannot be read are left out.
    """

    def __init__(self, events: Iterable[Json] = ()) -> None:
        self._of: dict[str, list[Happening]] = {}
        for event in events:
            uid = text(mapping(event, "involvedObject").get("uid"))
            if uid:
                found = Happening(text(event.get("reason")), text(event.get("message")), _at(event))
                self._of.setdefault(uid, []).append(found)

    def newest(self, uid: str, *reasons: str) -> Happening | None:
        """Return the newest event about an object for one of these reasons."""
        found = (one for one in self._of.get(uid, ()) if one.reason in reasons)
        return max(found, key=lambda one: (one.at, one.message), default=None)

    def message(self, uid: str, *reasons: str) -> str:
        """Return the text of the newest event about an object, an empty one if there is none."""
        found = self.newest(uid, *reasons)
        return found.message if found is not None else ""


def _at(event: Json) -> float:
    times = (
        instant(mapping(event, "series").get("lastObservedTime")),
        instant(event.get("lastTimestamp")),
        instant(event.get("eventTime")),
        instant(event.get("firstTimestamp")),
        instant(mapping(event, "metadata").get("creationTimestamp")),
    )
    return next((time for time in times if time is not None), 0.0)
