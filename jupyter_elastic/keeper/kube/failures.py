"""What a reflector does after a failure: how long it waits, and what it says of its objects."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from .backoff import Backoff
from .errors import ApiError, BrokenStream, Forbidden, Gone, Missing, Unauthenticated, Unavailable

#: What only a person can change is asked for once a minute.
REFUSED_SECONDS = 60.0
#: A server that has just started refuses what it will allow once it has read its Roles: the first
#: refusals in a row are taken for that.
EARLY_REFUSALS = 3
#: A server may ask for more; nobody is kept away for longer.
LONGEST_RETRY_AFTER = 60.0
#: Failures in a row after which all objects are read again.
PATIENCE = 3


class Verdict(NamedTuple):
    """Seconds to wait, the state to show (nothing: as before), and whether to list again."""

    delay: float
    state: str
    relist: bool


class Failures:
    """Remembers the failures in a row.

    Parameters
    ----------
    backoff
        Waiting times.
    rng
        Where chance comes from.
    """

    def __init__(self, backoff: Backoff, rng: Random) -> None:
        self._backoff = backoff
        self._rng = rng
        self._row = 0
        self._expired = False
        self._refused = 0
        #: Whether the last watch ended at once without a word.
        self.hollow = False

    def healthy(self) -> None:
        """Say that the server lets us watch."""
        self._backoff.healthy()

    def good(self) -> None:
        """Say that a watch spoke, or lasted."""
        self._row = 0
        self._refused = 0
        self._expired = False
        self.hollow = False

    def wait(self) -> float:
        """Count a failure, and return the seconds to wait."""
        self._row += 1
        return self._backoff.failure()

    def hollow_watch(self, resource: str) -> Unavailable:
        """Return the error of a watch that ended at once without a word."""
        self.hollow = True
        text = "The server ends each watch at once."
        return Unavailable(text, verb="watch", resource=resource)

    def judge(self, error: ApiError) -> Verdict:
        """Say what to do after an error."""
        if isinstance(error, Gone) and not self._expired:
            # Usual after a pause: the objects are only as old as they were.
            self._expired = True
            return Verdict(self._rng.uniform(0.05, 0.5), "", True)
        if isinstance(error, (Forbidden, Missing)):
            state = "forbidden" if isinstance(error, Forbidden) else "gone"
            self._refused += 1
            if state == "forbidden" and self._refused <= EARLY_REFUSALS:
                return Verdict(self.wait(), state, False)
            return Verdict(REFUSED_SECONDS + self._rng.uniform(0, 5), state, state == "gone")
        delay = self.wait()
        if isinstance(error, Unauthenticated):
            return Verdict(delay, "unauthenticated", False)
        if error.retry_after is not None:
            asked = min(error.retry_after, LONGEST_RETRY_AFTER)
            delay = max(delay, asked + self._rng.uniform(0, 0.5))
        return Verdict(delay, "stale", self._row >= PATIENCE or _spoils(error))


def _spoils(error: ApiError) -> bool:
    """Whether the version we hold may be what the server stumbles on."""
    if isinstance(error, BrokenStream):
        return True
    if isinstance(error, Unavailable):
        return error.status == 504
    return True
