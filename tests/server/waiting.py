"""Waiting for a state over HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

SECONDS = 15.0  # far above what it takes, also on a busy machine


async def eventually(call: Any, cluster: str, **wanted: Any) -> dict[str, Any]:
    """Wait until the cluster looks as wanted and return it."""
    seen: dict[str, Any] = {}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        seen = (await call("GET", f"clusters/{cluster}")).body
        if all(seen.get(key) == value for key, value in wanted.items()):
            return seen
        await asyncio.sleep(0.01)
    raise AssertionError(f"never {wanted}: {seen}")


async def gone(call: Any, cluster: str) -> None:
    """Wait until the cluster is not there any more."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if (await call("GET", f"clusters/{cluster}")).status == 404:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never gone")
