"""A live elastic run grows, shrinks, loses a rank, loses its server and its tab, and goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from ..harness.lab import LabServer
from ..harness.terminal import Terminal
from .progress import Progress
from .test_static_story import launch


class Elastic:
    """A cluster of two with the user's own elastic script running in a terminal."""

    def __init__(
        self, server: LabServer, cluster: Any, terminal: Terminal, progress: Progress
    ) -> None:
        self.server = server
        self.id: str = cluster["id"]
        self.terminal = terminal
        self.progress = progress

    def run(self) -> Any:
        """The newest run."""
        return self.server.cluster(self.id)["runs"][0]

    def driver(self) -> psutil.Process:
        """The horovodrun process."""
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
            except psutil.Error:
                continue
            if any(w.endswith("/horovodrun") for w in words[:2]) and str(
                self.server.folder
            ) in " ".join(words):
                return process
        raise AssertionError("no horovodrun process")

    def finish(self, code: int = 0) -> None:
        """Wait for the recorded exit."""
        self.server.wait(
            lambda: self.run()["exit"] == code, seconds=90, what=f"exit {code}: {self.run()}"
        )


@pytest.fixture
async def elastic(server: LabServer) -> Any:
    steps, path = 4000, server.work / "progress.txt"
    cluster = server.create(
        framework="horovod-elastic",
        script=str(server.work / "own_elastic.py"),
        arguments=[str(steps), str(path)],
        kernelspec="training",
        min_size=1,
        max_size=4,
    )
    terminal, text = await launch(server, cluster)
    script = cluster["hostfile"]["discovery_script"]
    assert text == (
        f"horovodrun -np 2 --min-np 1 --max-np 4 --host-discovery-script {script} "
        f"python own_elastic.py {steps} {path}"
    )
    await terminal.type("\r")
    running = Elastic(server, cluster, terminal, Progress(path))
    await running.progress.size(2, seconds=120)
    yield running
    await terminal.close()


def shorten(elastic: Elastic) -> None:
    """End the run in the ordinary way, without waiting for all of its steps."""
    elastic.server.request("DELETE", f"clusters/{elastic.id}/runs/{elastic.run()['id']}")


async def test_grows_and_shrinks_while_it_trains(elastic: Elastic) -> None:
    driver, started = elastic.driver().pid, elastic.progress.last()
    assert started is not None
    elastic.server.put(f"clusters/{elastic.id}/target", {"size": 4})
    grown = await elastic.progress.size(4)
    assert grown.pid == started.pid, "the surviving rank 0 goes on"
    elastic.server.put(f"clusters/{elastic.id}/target", {"size": 2})
    shrunk = await elastic.progress.size(2)
    assert shrunk.pid == started.pid
    elastic.server.wait_ready(elastic.id, 2, seconds=40)
    assert elastic.driver().pid == driver, "one horovodrun from start to end"
    elastic.progress.assert_never_falls()
    assert elastic.run()["state"] == "running"


async def test_a_killed_rank_costs_its_place_only(elastic: Elastic) -> None:
    records = list((elastic.server.runtime / elastic.id / "ranks" / "127.0.0.2").glob("*.json"))
    assert len(records) == 1, records
    rank0 = elastic.progress.last()
    assert rank0 is not None
    ranks = [p for p in psutil.process_iter() if _is_rank(p) and p.pid != rank0.pid]
    assert len(ranks) == 1, ranks
    ranks[0].send_signal(signal.SIGKILL)
    alone = await elastic.progress.size(1, seconds=90)
    assert alone.size == 1
    await elastic.progress.further(steps=5)
    elastic.progress.assert_never_falls()


def _is_rank(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return len(words) > 1 and words[0].endswith("python") and words[1] == "own_elastic.py"


@pytest.mark.parametrize("how", ["kill", "stop", "tab"])
async def test_survives_the_server_and_the_tab(elastic: Elastic, how: str) -> None:
    server = elastic.server
    before = elastic.run()
    await elastic.terminal.close()
    if how == "kill":
        server.kill()
    elif how == "stop":
        server.stop()
    await elastic.progress.further(steps=20)
    name = f"elastic_{before['shell']}"
    if how != "tab":
        server.start()
        # A page that is loaded again asks at once for the terminal it had.
        server.post("../api/terminals", {"name": name})
    server.wait(
        lambda: len(server.get("clusters")["clusters"]) == 1, seconds=10, what="the same cluster"
    )
    server.wait(
        lambda: bool(server.cluster(elastic.id)["runs"]), seconds=10, what="the keeper's first word"
    )
    again = server.cluster(elastic.id)
    assert [r["id"] for r in again["runs"]] == [before["id"]]
    assert again["runs"][0]["state"] == "running"
    server.wait_ready(elastic.id, 2)

    opened = server.post(f"clusters/{elastic.id}/terminals", {"shell": before["shell"]})
    assert opened["name"] == name, "one tab for one shell"
    async with Terminal(server, name) as terminal:
        await terminal.expect(r"own_elastic\.py")  # what was shown before is shown again
        await terminal.type("\x03")
        await terminal.expect(r"\n.*[$#] $", seconds=60)
    server.wait(lambda: elastic.run()["state"] != "running", seconds=60, what="the run's end")
    assert elastic.run()["exit"] not in (None, 0), "Ctrl-C is recorded as such"
    elastic.progress.assert_never_falls()


async def test_exit_code_is_recorded_while_no_server_lives(server: LabServer) -> None:
    path = server.work / "progress.txt"
    cluster = server.create(
        framework="horovod-elastic",
        script=str(server.work / "own_elastic.py"),
        arguments=["120", str(path)],
        kernelspec="training",
        max_size=4,
    )
    terminal, _ = await launch(server, cluster)
    await terminal.type("\r")
    progress = Progress(path)
    await progress.size(2, seconds=120)
    await terminal.close()
    server.kill()
    last = await progress.further(steps=100, seconds=90)
    assert last.step <= 120
    record = next((server.runtime / cluster["id"] / "runs").glob("*.json"))
    server.start()
    server.wait(
        lambda: [r["exit"] for r in server.cluster(cluster["id"])["runs"]] == [0],
        seconds=60,
        what=f"the exit code of {record}",
    )
    assert not [p for p in psutil.process_iter() if _is_rank(p) and _below(p, server.folder)]


def _below(process: psutil.Process, folder: Path) -> bool:
    try:
        return os.path.commonpath([process.cwd(), str(folder)]) == str(folder)
    except (psutil.Error, OSError, ValueError):
        return False
