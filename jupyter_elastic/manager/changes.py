"""Changes of target: the first of a burst at once, followers merged, the newest one wins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

MERGE_SECONDS = 0.15
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TargetRequest:
    """A wish: `size` containers, `victims` by name among those that leave."""

    size: int
    victims: tuple[str, ...] = ()
    force: bool = False
    replace: bool = False
    by: str = ""


class TargetChanges:
    """One change in flight and one waiting.

    Parameters
    ----------
    apply
        Makes one change. Its error reaches the caller of the first change; that of a merged one
        goes to `failed`.
    settle
        Returns when the change is seen in the engine's snapshots, so that the next one starts from
        the truth.
    failed
        Told about a merged change that could not be made.
    """

    def __init__(
        self,
        apply: Callable[[TargetRequest], Awaitable[None]],
        settle: Callable[[TargetRequest], Awaitable[None]],
        failed: Callable[[TargetRequest, Exception], None],
    ) -> None:
        self._apply = apply
        self._settle = settle
        self._failed = failed
        self._waiting: TargetRequest | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def pending(self) -> TargetRequest | None:
        """The change that waits, if any."""
        return self._waiting

    async def submit(self, request: TargetRequest) -> bool:
        """Make the change now, or leave it as the one that waits.

        Returns
        -------
        bool
            True when it is made, False at once when another one is in flight or was made just now.
        """
        if self._task is not None:
            self._waiting = request
            return False
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(request, first))
        await first
        return True

    async def stop(self) -> None:
        """Forget what waits; a change in flight is left to the engine."""
        self._waiting = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, request: TargetRequest, first: asyncio.Future[None]) -> None:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] | None = first
        try:
            while True:
                started = loop.time()
                made = await self._one(request, answer)
                answer = None
                # After a refusal nothing has to settle, and who asks again is told again.
                if made:
                    await asyncio.sleep(max(0.0, started + MERGE_SECONDS - loop.time()))
                if self._waiting is None:
                    return
                request, self._waiting = self._waiting, None
        finally:
            self._task = None
            if not first.done():
                first.cancel()

    async def _one(self, request: TargetRequest, answer: asyncio.Future[None] | None) -> bool:
        try:
            await self._apply(request)
        except Exception as error:
            if answer is not None and not answer.cancelled():
                answer.set_exception(error)
            else:
                self._failed(request, error)
            return False
        if answer is not None and not answer.cancelled():
            answer.set_result(None)
        await self._settle(request)
        return True
