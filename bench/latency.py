"""``PUT target`` and the way to the host file, idle and under an elastic run on both cores."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import psutil

from tests.harness.lab import LabServer
from tests.harness.terminal import Terminal
from tests.harness.training import training_env
from tests.story.conftest import prepare
from tests.story.progress import Progress

from .measure import Row, percentile, spread

PUTS = 200
FILES = 30


def _puts(server: LabServer, cluster: Any) -> list[float]:
    """Milliseconds of each PUT, alternating between two sizes."""
    taken = []
    for turn in range(PUTS):
        start = time.perf_counter()
        server.put(f"clusters/{cluster['id']}/target", {"size": 3 + turn % 2})
        taken.append(1000 * (time.perf_counter() - start))
        time.sleep(0.02)
    return taken


def _until_listed(server: LabServer, cluster: Any) -> list[float]:
    """Milliseconds from the call until another reader sees the new number of lines."""
    path, taken = Path(cluster["hostfile"]["hostfile"]), []
    server.put(f"clusters/{cluster['id']}/target", {"size": 4})
    for turn in range(FILES):
        size = 3 + turn % 2
        server.wait_ready(cluster["id"], 7 - size, seconds=30)
        start = time.perf_counter()
        server.put(f"clusters/{cluster['id']}/target", {"size": size})
        while path.read_text().count("\n") != size:
            if time.perf_counter() - start > 10:
                raise AssertionError("the host file did not follow within 10 s")
            time.sleep(0.001)
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def _rows(name: str, puts: list[float], files: list[float]) -> list[Row]:
    return [
        Row(f"`PUT target` p95, {name}", percentile(puts, 95), "ms", 50, spread(puts)),
        Row(f"target to host file p95, {name}", percentile(files, 95), "ms", 300, spread(files)),
    ]


async def _live(server: LabServer) -> list[Row]:
    path = server.work / "progress.txt"
    cluster = server.create(
        name="busy",
        size=2,
        framework="horovod-elastic",
        script=str(server.work / "busy_elastic.py"),
        arguments=["100000", str(path)],
        kernelspec="training",
    )
    opened = server.post(f"clusters/{cluster['id']}/terminals")
    async with Terminal(server, opened["name"]) as terminal:
        await terminal.expect(r"[$#] $")
        await terminal.type(opened["launch"]["text"] + "\r")
        await Progress(path).size(2, seconds=120)
        loop = asyncio.get_running_loop()
        psutil.cpu_percent()
        puts = await loop.run_in_executor(None, _puts, server, cluster)
        files = await loop.run_in_executor(None, _until_listed, server, cluster)
        busy = Row("all cores busy meanwhile", psutil.cpu_percent(), "%", None)
    return [*_rows("elastic run on all cores", puts, files), busy]


def rows() -> list[Row]:
    """Measure idle first, then under a live run of the same server."""
    server = LabServer(
        options={"drain_grace": 0.5, "drain_grace_with_run": 2.0, "drain_answer": 0.5}
    )
    try:
        prepare(server, training_env())
        shutil.copy(Path(__file__).parent / "busy_elastic.py", server.work)
        server.start()
        cluster = server.create(name="idle")
        idle = _rows("idle", _puts(server, cluster), _until_listed(server, cluster))
        server.delete(f"clusters/{cluster['id']}")
        return idle + asyncio.run(_live(server))
    finally:
        server.close()
