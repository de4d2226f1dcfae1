"""What time it is at the API server, from the Date headers of its answers."""

from __future__ import annotations

import email.utils
import threading
from typing import Callable


class ServerTime:
    """The server's clock, on top of our monotonic one: a step of the local clock changes nothing.

    A Date header has whole seconds, so each answer says between which two values the difference
    lies; all answers together say it to a fraction of a second.

    Parameters
    ----------
    clock
        Monotonic, seconds.
    wall
        The local clock, seconds since 1970; used until the first answer.
    """

    def __init__(self, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._clock = clock
        self._wall = wall
        self._lock = threading.Lock()
        self._low = self._high = 0.0
        self._known = False

    def learn(self, date: str | None, sent: float) -> None:
        """Take the Date header of an answer that has just come.

        Parameters
        ----------
        date
            The header.
        sent
            Monotonic time when the request went.
        """
        try:
            stamp = email.utils.parsedate_to_datetime(date or "").timestamp()
        except (TypeError, ValueError, IndexError, OverflowError):
            return
        low, high = stamp - self._clock(), stamp + 1.0 - sent
        with self._lock:
            both = max(low, self._low), min(high, self._high)
            # Nothing in common: one of the two clocks was set, or they drifted apart.
            agree = self._known and both[0] <= both[1]
            self._low, self._high = both if agree else (low, high)
            self._known = True

    def now(self) -> float:
        """Return the server's time, seconds since 1970."""
        with self._lock:
            if not self._known:
                return self._wall()
            return self._clock() + (self._low + self._high) / 2.0

    @property
    def offset(self) -> float:
        """Seconds to add to the local clock to have the server's."""
        return self.now() - self._wall()
