"""The tutorial's story over HTTP and a real terminal: 5,000 samples each, then 2,500 each, then all is given back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..harness import processes
from ..harness.lab import HttpError, LabServer
from ..harness.terminal import Terminal
from ..harness.training import sizes_seen


async def launch(server: LabServer, cluster: Any) -> tuple[Terminal, str]:
    """Open the launch terminal and type its text, as the panel does."""
    opened = server.post(f"clusters/{cluster['id']}/terminals")
    terminal = Terminal(server, opened["name"])
    await terminal.__aenter__()
    await terminal.expect(r"[$#] $")
    await terminal.type(opened["launch"]["text"])
    return terminal, opened["launch"]["text"]


async def test_two_then_four_containers(server: LabServer, static: Any) -> None:
    folder = static["hostfile"]["folder"]
    assert Path(folder) == server.folder / "mpi"
    terminal, text = await launch(server, static)
    assert text == f"horovodrun -np 2 --hostfile {folder}/hostfile python tensorflow2_mnist.py"
    assert server.cluster(static["id"])["runs"] == [], "typed text must not run"
    await terminal.type("\r")
    await terminal.expect(r"of 2[\s\S]*accuracy", seconds=120)
    server.wait(
        lambda: [r["exit"] for r in server.cluster(static["id"])["runs"]] == [0],
        seconds=30,
        what="exit 0",
    )
    assert sorted(sizes_seen(terminal.text)) == [(5000, 0, 2), (5000, 1, 2)]

    server.put(f"clusters/{static['id']}/target", {"size": 4})
    server.wait_ready(static["id"], 4)
    text = server.get(f"clusters/{static['id']}/launch")["text"]
    assert text.startswith("horovodrun -np 4 ")
    mark = len(terminal.text)
    await terminal.type(text + "\r")
    await terminal.expect(r"of 4[\s\S]*accuracy", seconds=180, after=mark)
    assert sorted(sizes_seen(terminal.text[mark:])) == [(2500, rank, 4) for rank in range(4)]
    await terminal.close()

    server.wait(
        lambda: all(r["exit"] == 0 for r in server.cluster(static["id"])["runs"]),
        seconds=30,
        what="the end",
    )
    server.delete(f"clusters/{static['id']}")
    server.close_terminals()
    assert server.process is not None
    left = processes.wait_until_none(server.runtime, seconds=20, but=(server.process.pid,))
    assert not left, [p.cmdline() for p in left]
    assert not (server.folder / "mpi" / "hostfile").exists()
    # The folder goes last, after its processes.
    server.wait(
        lambda: not (server.runtime / static["id"]).exists(), seconds=10, what="no folder left"
    )


async def test_release_with_a_live_run_stops_it(server: LabServer, static: Any) -> None:
    server.patch(f"clusters/{static['id']}", {"arguments": ["--epochs", "500"]})
    terminal, _ = await launch(server, static)
    await terminal.type("\r")
    await terminal.expect(r"samples on rank", seconds=90)
    with pytest.raises(HttpError) as refused:
        server.delete(f"clusters/{static['id']}")
    assert (refused.value.status, refused.value.body["code"]) == (409, "live_run")
    server.delete(f"clusters/{static['id']}?stop_runs=true")
    # The terminal stays, with one line saying so.
    await terminal.expect(r"(?i)released", seconds=30)
    await terminal.close()
    server.close_terminals()
    assert server.process is not None
    left = processes.wait_until_none(server.runtime, seconds=30, but=(server.process.pid,))
    assert not left, [p.cmdline() for p in left]
