"""Turns pokes of the reflectors into snapshots for whoever watches the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from ..base import ClusterFacts, EngineSnapshot
from ..tasks import end_task, wait_or_timeout

# The first change of a burst is shown at once, those that follow within this time together.
MERGE_SECONDS = 0.05
# Facts depend on time in few ways, such as a change that is stuck; they are looked at again.
LOOK_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Watcher:
    """Shares one task among all watchers.

    Parameters
    ----------
    snapshot
        Makes a snapshot of what is known now; None while nothing is known.
    """

    def __init__(self, snapshot: Callable[[], Awaitable[EngineSnapshot | None]]) -> None:
        self._snapshot = snapshot
        self._last: EngineSnapshot | None = None
        self._changed = asyncio.Condition()
        self._poke = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def clusters(self) -> tuple[ClusterFacts, ...]:
        """The clusters as they were seen last."""
        return self._last.clusters if self._last is not None else ()

    def poke(self) -> None:
        """Look now."""
        self._poke.set()

    async def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield the snapshot now and after each change; a slow reader misses those in between."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow())
        seen: EngineSnapshot | None = None
        while True:
            async with self._changed:
                while self._last is None or self._last is seen:
                    await self._changed.wait()
                seen = self._last
            yield seen

    async def stop(self) -> None:
        """End the task."""
        task, self._task = self._task, None
        if task is not None:
            await end_task(task)

    async def _follow(self) -> None:
        while True:
            self._poke.clear()
            try:
                snapshot = await self._snapshot()
            except Exception:
                # A bug must not end the watch: what is shown stays, and the log says why.
                _log.exception("The objects in Kubernetes could not be read")
                snapshot = None
            if snapshot is not None and snapshot != self._last:
                async with self._changed:
                    self._last = snapshot
                    self._changed.notify_all()
            await asyncio.sleep(MERGE_SECONDS)
            await wait_or_timeout(self._poke, LOOK_SECONDS)
