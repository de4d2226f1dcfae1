"""Opening something within a time, without leaving it open when it comes too late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .tasks import answer_within

T = TypeVar("T")


async def open_within(opening: Awaitable[T], seconds: float, discard: Callable[[T], object]) -> T:
    """Return what `opening` opens.

    Parameters
    ----------
    discard
        Closes what was opened although nobody waits for it any more.

    Raises
    ------
    asyncio.TimeoutError
        It takes longer than `seconds`.
    """
    task = asyncio.ensure_future(opening)

    def close_late(done: asyncio.Future[T]) -> None:
        """Let go of what came too late; asking for the error also marks it as seen."""
        if not done.cancelled() and done.exception() is None:
            discard(done.result())

    try:
        return await answer_within(task, seconds)
    except BaseException:
        task.cancel()
        task.add_done_callback(close_late)
        raise
