"""Use of each place now: the sum over the process trees of its ranks, and its GPUs. Blocks."""

from __future__ import annotations

from pathlib import Path

import psutil

from ...models import Sample
from .allocation import LAUNCHER_HOST, address
from .gpu import GpuReading
from .processes import ranks_of, runs_of, tree_of
from .records import Place, Record


class Meter:
    """Measures, and remembers processes: a CPU percentage is the difference of two looks."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}

    def measure(self, record: Record, folder: Path, reading: GpuReading) -> tuple[Sample, ...]:
        """Return one sample per place; one without processes uses nothing.

        The first look at a process has no CPU figure. With one-line addressing the workers' use
        cannot be told from the launcher's.
        """
        trees = _trees(record, folder)
        samples = []
        for place in record.places:
            pids = trees.get(place.uid)
            cpu, memory = (None, None) if pids is None else self._sum(pids)
            samples.append(_sample(place, cpu, memory, reading))
        self._known = {pid: one for pid, one in self._known.items() if one.is_running()}
        return tuple(samples)

    def _sum(self, pids: set[int]) -> tuple[float | None, int]:
        percent: float | None = None if pids else 0.0
        memory = 0
        for pid in pids:
            try:
                process = psutil.Process(pid)
                seen = self._known.get(pid)
                if seen == process:
                    percent = (percent or 0.0) + seen.cpu_percent(None)
                else:
                    process.cpu_percent(None)
                    self._known[pid] = process
                memory += process.memory_info().rss
            except psutil.Error:
                continue  # it ended while we looked
        return percent, memory


def _trees(record: Record, folder: Path) -> dict[str, set[int]]:
    trees: dict[str, set[int]] = {}
    elsewhere: set[int] = set()
    if record.addressing == "places":
        for place in record.places[1:]:
            trees[place.uid] = tree_of(ranks_of(folder, address(place.number)))
            elsewhere |= trees[place.uid]
    # The launcher's ranks are children of the launch command; what our ssh started belongs to the
    # place it was started for.
    own = tree_of(runs_of(folder) | ranks_of(folder, LAUNCHER_HOST))
    trees[record.launcher.uid] = own - elsewhere
    return trees


def _sample(place: Place, cpu: float | None, memory: int | None, reading: GpuReading) -> Sample:
    uses = {use.index: use for use in reading.gpus}
    found = [uses.get(index) for index in place.devices]
    return Sample(
        container=place.name,
        cpu_percent=cpu,
        memory_bytes=memory,
        gpu_percent=tuple(use.percent if use else None for use in found),
        gpu_memory_bytes=tuple(use.memory_used if use else None for use in found),
    )
