"""Reads what ``own_elastic.py`` wrote: (step, size, pid of rank 0, instant)."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """One line of progress."""

    step: int
    size: int
    pid: int
    at: float


class Progress:
    """The progress file of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def steps(self) -> list[Step]:
        """Return all whole lines."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")[:-1]
        parts = [line.split() for line in lines]
        return [Step(int(p[0]), int(p[1]), int(p[2]), float(p[3])) for p in parts]

    def last(self) -> Step | None:
        """Return the newest step."""
        steps = self.steps()
        return steps[-1] if steps else None

    async def size(self, size: int, *, seconds: float = 60) -> Step:
        """Wait for the next step that runs at this size."""
        seen = len(self.steps())
        return await self._next(lambda step: step.size == size, seen, seconds, f"size {size}")

    async def further(self, *, seconds: float = 60, steps: int = 5) -> Step:
        """Wait until the counter has gone on by some steps from now."""
        last = self.last()
        goal = (last.step if last else 0) + steps
        return await self._next(lambda step: step.step >= goal, 0, seconds, f"step {goal}")

    async def _next(
        self, wanted: Callable[[Step], bool], seen: int, seconds: float, what: str
    ) -> Step:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for step in self.steps()[seen:]:
                if wanted(step):
                    return step
            await asyncio.sleep(0.1)
        raise AssertionError(f"waited {seconds} s for {what}; last: {self.last()}")

    def assert_never_falls(self) -> None:
        """A committed step is never lost: the counter of rank 0 repeats at most the step in work."""
        steps = [step.step for step in self.steps()]
        falls = [(a, b) for a, b in itertools.pairwise(steps) if b < a]
        assert not falls, f"the step counter fell: {falls}"
