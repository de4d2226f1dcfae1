"""The story with pods: real kubelet, sshd and horovodrun, in a namespace that enforces `restricted`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from testcluster.cluster import Cluster

from ..harness.lab import HttpError
from ..harness.terminal import Terminal
from ..harness.training import sizes_seen
from ..story.progress import Progress
from ..story.test_static_story import launch
from .lab import ClusterLab


@pytest.fixture
def lab(cluster: Cluster, namespace: str) -> Iterator[ClusterLab]:
    server = ClusterLab(cluster, namespace)
    try:
        yield server.start()  # type: ignore[misc]
    finally:
        server.close()


async def run_to_the_end(server: ClusterLab, cluster: Any, terminal: Terminal, pattern: str) -> str:
    """Press Enter, wait for the pattern and for exit 0, and return what was shown."""
    mark, runs = len(terminal.text), len(server.cluster(cluster["id"])["runs"])
    await terminal.type("\r")
    await terminal.expect(pattern, seconds=180, after=mark)
    server.wait(
        lambda: [r["exit"] for r in server.cluster(cluster["id"])["runs"]] == [0] * (runs + 1),
        seconds=60,
        what=f"exit 0: {server.cluster(cluster['id'])['runs']}",
    )
    return terminal.text[mark:]


@pytest.mark.timeout(600)
async def test_two_pods_then_four(lab: ClusterLab) -> None:
    before = lab.objects()
    cluster = lab.create(
        script=str(lab.work / "where.py"), kernelspec="training", gpus_per_container=1
    )
    terminal, text = await launch(lab, cluster)
    assert text == "horovodrun -np 2 --hostfile /etc/mpi/hostfile python where.py"
    assert lab.cluster(cluster["id"])["runs"] == [], "typed text must not run"
    shown = await run_to_the_end(lab, cluster, terminal, r"rank 1 of 2 is at[\s\S]*[$#] $")
    ranks = dict(re.findall(r"rank (\d) of 2 is at ([\d.]+), sum 1\b", shown))
    assert [ranks["0"], ranks["1"]] == lab.hosts(cluster)

    lab.put(f"clusters/{cluster['id']}/target", {"size": 4})
    lab.wait_ready(cluster["id"], 4)
    lab.patch(f"clusters/{cluster['id']}", {"script": str(lab.work / "tensorflow2_mnist.py")})
    text = lab.get(f"clusters/{cluster['id']}/launch")["text"]
    await terminal.type(text)
    shown = await run_to_the_end(lab, cluster, terminal, r"of 4[\s\S]*accuracy")
    assert sorted(sizes_seen(shown)) == [(2500, rank, 4) for rank in range(4)]
    await terminal.close()
    lab.delete(f"clusters/{cluster['id']}")
    lab.wait(lambda: lab.objects() == before, seconds=60, what=f"all given back: {lab.objects()}")


@pytest.fixture
async def elastic(lab: ClusterLab) -> Any:
    steps, path = 100_000, lab.work / "progress.txt"
    cluster = lab.create(
        framework="horovod-elastic",
        script=str(lab.work / "own_elastic.py"),
        arguments=[str(steps), str(path)],
        kernelspec="training",
        min_size=1,
        max_size=4,
    )
    terminal, _ = await launch(lab, cluster)
    await terminal.type("\r")
    progress = Progress(path)
    await progress.size(2, seconds=120)
    yield cluster, terminal, progress
    await terminal.close()


@pytest.mark.timeout(600)
async def test_grows_and_shrinks_while_it_trains(lab: ClusterLab, elastic: Any) -> None:
    cluster, _, progress = elastic
    started = progress.last()
    lab.put(f"clusters/{cluster['id']}/target", {"size": 4})
    grown = await progress.size(4, seconds=120)
    lab.put(f"clusters/{cluster['id']}/target", {"size": 2})
    shrunk = await progress.size(2, seconds=120)
    assert grown.pid == shrunk.pid == started.pid, "the surviving rank 0 goes on"
    lab.wait_ready(cluster["id"], 2, seconds=90)
    progress.assert_never_falls()
    # Jupyter is killed, and the run goes on; the next server knows it and shows its terminal.
    lab.kill()
    await progress.further(steps=20)
    lab.start()
    lab.wait(
        lambda: [r["state"] for r in lab.cluster(cluster["id"])["runs"]] == ["running"],
        seconds=30,
        what="the run is known again",
    )
    shell = lab.cluster(cluster["id"])["shells"][0]["id"]
    opened = lab.post(f"clusters/{cluster['id']}/terminals", {"shell": shell})
    async with Terminal(lab, opened["name"]) as again:
        await again.expect("own_elastic.py", seconds=30)
    with pytest.raises(HttpError) as refused:
        lab.delete(f"clusters/{cluster['id']}")
    assert refused.value.body["code"] == "live_run"
    run = lab.cluster(cluster["id"])["runs"][0]["id"]
    lab.delete(f"clusters/{cluster['id']}/runs/{run}")
    lab.wait(
        lambda: lab.cluster(cluster["id"])["runs"][0]["state"] == "stopped",
        seconds=60,
        what="the run is stopped",
    )


@pytest.mark.timeout(600)
async def test_a_killed_worker_is_replaced_and_joins(lab: ClusterLab, elastic: Any) -> None:
    cluster, _, progress = elastic
    started = await progress.further(steps=20)
    worker = lab.cluster(cluster["id"])["containers"][1]["name"]
    where = ("--namespace", lab.namespace)
    lab.cluster_object.kubectl("delete", "pod", worker, *where, "--grace-period=0", "--force")
    lab.wait_ready(cluster["id"], 2, seconds=60)
    hosts = lab.hosts(lab.cluster(cluster["id"]))
    assert len(hosts) == 2
    seen = len(progress.steps())
    await progress.size(2, seconds=150)
    assert len(progress.steps()) > seen
    assert progress.last().pid == started.pid
    progress.assert_never_falls()
