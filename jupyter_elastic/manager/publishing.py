"""Tells the event bus that a cluster changed: at once, then at most a few times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Publisher:
    """Merges the changes of each cluster.

    Parameters
    ----------
    emit
        Sends one event for a cluster id.
    per_second
        Most events a second for one cluster.
    """

    def __init__(self, emit: Callable[[str], None], per_second: float) -> None:
        self._emit = emit
        self._gap = 1.0 / per_second
        self._last: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def changed(self, cluster: str) -> None:
        """Send now when the last event is long enough ago, else once when the gap is over."""
        if cluster in self._timers:
            return
        loop = asyncio.get_running_loop()
        due = self._last.get(cluster, -self._gap) + self._gap
        if loop.time() >= due:
            self._send(cluster)
        else:
            self._timers[cluster] = loop.call_at(due, self._send, cluster)

    def forget(self, cluster: str) -> None:
        """Drop what is kept about a cluster that is gone, after its last event."""
        if cluster not in self._timers:
            self._last.pop(cluster, None)

    def stop(self) -> None:
        """Forget what waits."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _send(self, cluster: str) -> None:
        self._timers.pop(cluster, None)
        self._last[cluster] = asyncio.get_running_loop().time()
        self._emit(cluster)
