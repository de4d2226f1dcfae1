"""What the extension adds to the server, and what a keeper costs."""

from __future__ import annotations

import json
import statistics
import time
import urllib.request
from pathlib import Path

import psutil

from tests.harness.lab import LabServer

from .measure import Row, spread

PAIRS = 5
IDLE_SECONDS = 30.0


def _resident(server: LabServer) -> float:
    assert server.process is not None
    return psutil.Process(server.process.pid).memory_info().rss / 2**20


def _with_us() -> tuple[float, float, float]:
    """Return MiB of the server with a cluster, MiB of its keeper, and % of a core it takes."""
    server = LabServer()
    try:
        server.start()
        cluster = server.create()
        time.sleep(2)
        pid_file = Path(server.runtime / cluster["id"] / "keeper.json")

        keeper = psutil.Process(int(json.loads(pid_file.read_text())["pid"]))
        before, start = sum(keeper.cpu_times()[:2]), time.monotonic()
        time.sleep(IDLE_SECONDS)
        used = 100 * (sum(keeper.cpu_times()[:2]) - before) / (time.monotonic() - start)
        return _resident(server), keeper.memory_info().rss / 2**20, used
    finally:
        server.close()


def _without_us() -> float:
    """MiB of the same server with the extension off."""
    server = LabServer()
    server._config["ServerApp"]["jpserver_extensions"]["jupyter_elastic"] = False
    server._answers = lambda: _listens(server)  # type: ignore[method-assign]
    try:
        server.start()
        time.sleep(2)
        return _resident(server)
    finally:
        server.close()


def _listens(server: LabServer) -> bool:

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/api", timeout=5):
            return True
    except OSError:
        return False


def rows() -> list[Row]:
    """Measure interleaved pairs: without, with, without, with."""
    added, keepers, cpu = [], [], []
    for _ in range(PAIRS):
        plain = _without_us()
        ours, keeper, used = _with_us()
        added.append(ours - plain)
        keepers.append(keeper)
        cpu.append(used)
    return [
        Row(
            "memory added to the server, one cluster",
            statistics.median(added),
            "MiB",
            15,
            spread(added),
        ),
        Row("memory of the keeper", statistics.median(keepers), "MiB", 25, spread(keepers)),
        Row("idle keeper, share of a core", statistics.median(cpu), "%", 0.5, spread(cpu, 2)),
    ]
