"""Server or keeper killed before and after every engine call and file write, growing and shrinking.

Afterwards: the same cluster, the target reached, the host file right at every moment in between.
"""

from __future__ import annotations

import contextlib
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from ..harness.lab import HttpError
from .conftest import KillableServer, Reader

CALLS = ("engine.scale", "engine.commit_hosts", "channel.publish", "server.write.state")
KEEPER = tuple(f"keeper.write.{name}" for name in ("hostfile", "hosts.json", "hostfile.meta"))
SHRINK_ONLY = ("engine.remove",)
SIDES = ("before", "after")
SCALE_POINTS = [
    (change, f"{call}:{side}")
    for change in ("grow", "shrink")
    for call in (*CALLS, *KEEPER, *(SHRINK_ONLY if change == "shrink" else ()))
    for side in SIDES
]
CREATE_POINTS = [
    f"{call}:{side}"
    for call in (
        "engine.create",
        "server.write.state",
        "server.write.config.json",
        "engine.keeper",
        "keeper.write.discover_hosts.sh",
    )
    for side in SIDES
]
RELEASE_POINTS = [
    f"{call}:{side}" for call in ("engine.release", "server.write.state") for side in SIDES
]


def put_target(server: KillableServer, cluster_id: str, size: int) -> None:
    """Ask for a size; the server may die of it."""
    with contextlib.suppress(urllib.error.URLError, ConnectionError, HttpError):
        server.put(f"clusters/{cluster_id}/target", {"size": size})


def restart_when_fired(server: KillableServer, seconds: float = 15) -> None:
    """Wait until the armed point was reached, then start the server again where it was the one that died."""
    end = time.monotonic() + seconds
    while not server.fired:
        assert time.monotonic() < end, "the armed point was never reached\n" + server.log_text()
        time.sleep(0.05)
    assert server.process is not None
    for _ in range(20):
        if server.process.poll() is not None:
            server.start()
            return
        time.sleep(0.05)


@pytest.mark.parametrize(("change", "point"), SCALE_POINTS)
def test_scale(killable: KillableServer, change: str, point: str) -> None:
    start, goal = (2, 4) if change == "grow" else (4, 2)
    cluster = killable.create(size=start)
    uids = [c["uid"] for c in cluster["containers"]]
    reader = Reader(Path(cluster["hostfile"]["hostfile"]), killable.folder)
    killable.arm(point)
    put_target(killable, cluster["id"], goal)
    restart_when_fired(killable)
    if killable.cluster(cluster["id"])["target"] != goal:
        # Killed before the engine had it: the request was never accepted, so the person repeats it.
        assert point.endswith("before"), f"{point}: an accepted target was lost"
        put_target(killable, cluster["id"], goal)
    killable.wait_ready(cluster["id"], goal)
    after = killable.get("clusters")["clusters"]
    assert [c["id"] for c in after] == [cluster["id"]]
    survivors = [c["uid"] for c in after[0]["containers"]]
    assert survivors[: min(start, goal)] == uids[: min(start, goal)], (
        "the same containers in the same order"
    )
    seen = reader.finish()
    assert seen["errors"] == []
    assert seen["reads"] > 100


@pytest.mark.parametrize("point", CREATE_POINTS)
def test_create(killable: KillableServer, point: str) -> None:
    killable.arm(point)
    body: dict[str, Any] = {"name": "tthvd", "framework": "horovod", "size": 2, "operation": "once"}
    with contextlib.suppress(urllib.error.URLError, ConnectionError, HttpError):
        killable.post("clusters", body)
    restart_when_fired(killable)
    made = killable.post("clusters", body)  # the same operation again: nothing is made twice
    killable.wait_ready(made["id"], 2)
    assert len(killable.get("clusters")["clusters"]) == 1


@pytest.mark.parametrize("point", RELEASE_POINTS)
def test_release(killable: KillableServer, point: str) -> None:
    cluster = killable.create()
    killable.arm(point)
    with contextlib.suppress(urllib.error.URLError, ConnectionError, HttpError):
        killable.delete(f"clusters/{cluster['id']}")
    restart_when_fired(killable)
    if killable.get("clusters")["clusters"] and point.endswith("before"):
        # It may be on its way already: then the second wish is refused in words.
        with contextlib.suppress(HttpError):
            killable.delete(f"clusters/{cluster['id']}")
    killable.wait(
        lambda: not killable.get("clusters")["clusters"], seconds=20, what="an empty list"
    )
    assert not Path(cluster["hostfile"]["hostfile"]).exists()
    assert not (killable.runtime / cluster["id"]).exists()
