"""Waiting that loses no cancellation.

``asyncio.wait_for`` does lose it, before Python 3.12, when the result comes at the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def wait_or_timeout(event: asyncio.Event, seconds: float | None) -> None:
    """Wait until an event is set, at most `seconds`; None: as long as it takes."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()


async def answer_within(future: asyncio.Future[T], seconds: float) -> T:
    """Return the result of a future; asyncio.TimeoutError when it takes longer than `seconds`."""
    done, _ = await asyncio.wait({future}, timeout=seconds)
    if not done:
        raise asyncio.TimeoutError
    return future.result()


async def within(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of a coroutine, which is cancelled after `seconds`.

    Raises
    ------
    asyncio.TimeoutError
        When it takes longer.
    """
    task = asyncio.ensure_future(work)
    try:
        return await answer_within(task, seconds)
    finally:
        task.cancel()


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has ended; asks again where the cancellation was lost."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.5)
