"""How long to wait before the next try, and how often to ask at most."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Callable

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
#: From the second failure in a row on: two requests of one try stay two in a second.
LEAST_SECONDS = 1.0
HEALTHY_SECONDS = 120.0
#: More than a second, since requests may arrive closer together than they were sent.
PACE_SECONDS = 1.1


class Backoff:
    """Waiting times that double with each failure, by chance up to their limit.

    Parameters
    ----------
    rng
        Where chance comes from.
    clock
        Monotonic, seconds.
    """

    def __init__(self, rng: Random, clock: Callable[[], float]) -> None:
        self._rng = rng
        self._clock = clock
        self._failures = 0
        self._healthy_since: float | None = None

    @property
    def failures(self) -> int:
        """How many in a row."""
        return self._failures

    def healthy(self) -> None:
        """Say that it works now; `HEALTHY_SECONDS` of that make the next wait a short one."""
        if self._healthy_since is None:
            self._healthy_since = self._clock()

    def failure(self) -> float:
        """Say that it failed, and return the seconds to wait."""
        since, self._healthy_since = self._healthy_since, None
        if since is not None and self._clock() - since >= HEALTHY_SECONDS:
            self._failures = 0
        self._failures += 1
        if self._failures == 1:
            return self._rng.uniform(0, FIRST_SECONDS)
        doubled = FIRST_SECONDS * 2.0 ** min(self._failures - 1, 16)
        return self._rng.uniform(LEAST_SECONDS, min(doubled, LONGEST_SECONDS))


class Pace:
    """At most so many requests in any one second.

    Parameters
    ----------
    clock
        Monotonic, seconds.
    most
        Requests.
    """

    def __init__(self, clock: Callable[[], float], most: int = 2) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=most)

    def wait(self) -> float:
        """Return the seconds until the next request may go."""
        if len(self._times) < (self._times.maxlen or 0):
            return 0.0
        return max(0.0, self._times[0] + PACE_SECONDS - self._clock())

    def went(self) -> None:
        """Count a request."""
        self._times.append(self._clock())
