"""Notices what other servers and keepers of this user wrote, while somebody watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from ..base import ClusterFacts, EngineSnapshot
from ..tasks import end_task, wait_or_timeout
from .store import Signature

POLL_SECONDS = 0.2
_log = logging.getLogger(__name__)


class Watcher:
    """Shares one polling task among all watchers.

    Parameters
    ----------
    signature
        Reads something cheap that differs after any write.
    snapshot
        Reads everything.
    unreadable
        Makes the snapshot that says why nothing could be read.
    """

    def __init__(
        self,
        signature: Callable[[], Awaitable[Signature]],
        snapshot: Callable[[], Awaitable[EngineSnapshot]],
        unreadable: Callable[[Exception], EngineSnapshot],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._signature = signature
        self._snapshot = snapshot
        self._unreadable = unreadable
        self._poll = poll_seconds
        self._watchers = 0
        self._last: EngineSnapshot | None = None
        self._changed = asyncio.Condition()
        self._poke = asyncio.Event()
        self._forced = True
        self._task: asyncio.Task[None] | None = None

    @property
    def clusters(self) -> tuple[ClusterFacts, ...]:
        """The clusters as they were seen last."""
        return self._last.clusters if self._last is not None else ()

    async def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield the snapshot now and after each change; a slow reader misses those in between."""
        self._watchers += 1
        seen: EngineSnapshot | None = None
        if self._task is None:
            self._forced = True
            self._last = None  # what was read before nobody watched is old
            self._task = asyncio.get_running_loop().create_task(self._follow())
        try:
            while True:
                async with self._changed:
                    while self._last is None or self._last is seen:
                        await self._changed.wait()
                    seen = self._last
                if seen is not None:
                    yield seen
        finally:
            self._watchers -= 1
            if self._watchers == 0:
                await self.stop()

    def poke(self, *, force: bool = False) -> None:
        """Look now; with `force` read everything even when no file was written."""
        self._forced = self._forced or force
        self._poke.set()

    async def stop(self) -> None:
        """End the polling."""
        task, self._task = self._task, None
        if task is not None:
            await end_task(task)

    async def _follow(self) -> None:
        before: Signature | None = None
        while True:
            try:
                # The signature comes first: a write after it is then seen in the next round at the
                # latest.
                now = await self._signature()
                if self._forced or now != before:
                    self._forced = False
                    await self._show(await self._snapshot())
                    before = now
            except Exception as error:
                _log.debug("the state of the clusters cannot be read", exc_info=True)
                before = None
                await self._show(self._unreadable(error))
            await wait_or_timeout(self._poke, self._poll)
            self._poke.clear()

    async def _show(self, snapshot: EngineSnapshot) -> None:
        async with self._changed:
            if snapshot != self._last:
                self._last = snapshot
                self._changed.notify_all()
