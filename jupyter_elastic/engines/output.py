"""The output of a place, as far as it is known: its ranks write into the output of the run."""

from __future__ import annotations

from ..models import Run
from .base import KeeperChannel, KeeperStatus


async def log_of(channel: KeeperChannel, role: str, max_bytes: int) -> str:
    """Return the end of the newest run's output.

    A launcher starts all ranks and collects their lines, so there is one output for all places; a
    first line says how to tell a worker's lines apart.
    """
    status = await first_status(channel)
    run = newest(status.runs)
    if run is None:
        return "Nothing was started on this cluster yet.\n"
    text = await channel.run_log(run.id, max_bytes)
    if role == "launcher":
        return text
    head = "The output of all places of this run; lines that begin with [n] are of rank n.\n"
    return head + text


async def first_status(channel: KeeperChannel) -> KeeperStatus:
    """Return the status as it is known now."""
    updates = channel.watch()
    try:
        async for status in updates:
            return status
    finally:
        close = getattr(updates, "aclose", None)
        if close is not None:
            await close()
    raise AssertionError("a channel's watch never ends")


def newest(runs: tuple[Run, ...]) -> Run | None:
    """Return the run that started last."""
    return max(runs, key=lambda run: run.started, default=None)
