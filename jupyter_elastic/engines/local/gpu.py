"""The GPUs of this machine, read with ``nvidia-smi``.

No GPU and not available are states, never errors.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from ...models import Gpu

FIELDS = "index,name,memory.total,memory.used,utilization.gpu"
TIMEOUT_SECONDS = 5.0
_MIB = 1024 * 1024


@dataclass(frozen=True)
class GpuUse:
    """One GPU and its use now. None: the driver does not tell. Memory in bytes, use in percent."""

    index: int
    name: str
    memory_total: int | None
    memory_used: int | None
    percent: float | None

    @property
    def gpu(self) -> Gpu:
        """Return the part that does not change."""
        return Gpu(self.index, self.name, self.memory_total)


@dataclass(frozen=True)
class GpuReading:
    """What one reading found. ``problem`` is set when there may be GPUs that cannot be read."""

    gpus: tuple[GpuUse, ...] = ()
    problem: str = ""


def parse(text: str) -> tuple[GpuUse, ...]:
    """Read the CSV of ``nvidia-smi``; other lines are left out, ``[N/A]`` becomes None."""
    found = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) < 5 or not words[0].isdigit():
            continue
        # A name may hold a comma; the numbers are the last three.
        name = ", ".join(words[1:-3])
        total, used, percent = (_number(word) for word in words[-3:])
        found.append(GpuUse(int(words[0]), name, _bytes(total), _bytes(used), percent))
    return tuple(found)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _bytes(mib: float | None) -> int | None:
    return None if mib is None else int(mib * _MIB)


def visible(reading: GpuReading, environment: Mapping[str, str]) -> GpuReading:
    """Leave only the GPUs that ``CUDA_VISIBLE_DEVICES`` names by index, where it is set."""
    names = environment.get("CUDA_VISIBLE_DEVICES")
    if names is None:
        return reading
    words = [word.strip() for word in names.split(",") if word.strip()]
    allowed: set[int] = set()
    for word in words:
        if not word.isdigit():
            if word.startswith(("GPU-", "MIG-")):
                return GpuReading(
                    (), "CUDA_VISIBLE_DEVICES names GPUs by uuid; name them by index."
                )
            break  # as CUDA does: the first invalid entry ends the list
        allowed.add(int(word))
    return GpuReading(tuple(gpu for gpu in reading.gpus if gpu.index in allowed), reading.problem)


def read(program: str = "nvidia-smi", timeout: float = TIMEOUT_SECONDS) -> GpuReading:
    """Run ``nvidia-smi`` once; blocks for at most `timeout` seconds."""
    path = shutil.which(program)
    if path is None:
        return GpuReading()
    command = [path, f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return GpuReading((), f"nvidia-smi did not answer within {timeout:g} s.")
    except OSError as error:
        return GpuReading((), f"nvidia-smi could not be run: {error.strerror}.")
    text = done.stdout.decode("utf-8", "replace")
    gpus = parse(text)
    if done.returncode == 0:
        return visible(GpuReading(gpus), os.environ)
    said = (text.strip() or done.stderr.decode("utf-8", "replace").strip()).splitlines()
    if any("No devices were found" in line for line in said):
        return GpuReading()
    return GpuReading((), f"nvidia-smi: {said[0][:200] if said else f'exit {done.returncode}'}")


class GpuProbe:
    """Readings off the event loop, at most one a second and one at a time."""

    def __init__(self, program: str = "nvidia-smi", keep_seconds: float = 1.0) -> None:
        self._program = program
        self._keep = keep_seconds
        self._last = GpuReading()
        self._at: float | None = None
        self._reading: asyncio.Task[GpuReading] | None = None

    @property
    def last(self) -> GpuReading:
        """The last reading, without waiting."""
        return self._last

    async def now(self) -> GpuReading:
        """Return a reading that is at most one second old."""
        loop = asyncio.get_running_loop()
        if self._at is not None and loop.time() - self._at < self._keep:
            return self._last
        if self._reading is None or self._reading.done():
            self._reading = loop.create_task(asyncio.to_thread(read, self._program))
        # Shielded: one caller that gives up must not take the reading away from the others.
        self._last = await asyncio.shield(self._reading)
        self._at = loop.time()
        return self._last
