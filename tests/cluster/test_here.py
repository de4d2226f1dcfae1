"""The story with Jupyter's own pod as the launcher, in a namespace that enforces `restricted`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from testcluster.cluster import Cluster

from ..story.test_static_story import launch
from .notebook import POD, NotebookLab
from .test_training import run_to_the_end


@pytest.fixture
def lab(cluster: Cluster, namespace: str) -> Iterator[NotebookLab]:
    server = NotebookLab(cluster, namespace)
    try:
        yield server.start()
    finally:
        server.close()


def roles(cluster: Any) -> list[str]:
    return [one["role"] for one in cluster["containers"]]


@pytest.mark.timeout(600)
async def test_one_pod_then_two_then_three(lab: NotebookLab) -> None:
    before = lab.objects()
    options = lab.get("options")["engines"][0]
    assert options["launcher_modes"] == ["here", "pod"], options["launcher_note"]
    cluster = lab.create(size=2, script=str(lab.work / "where.py"), kernelspec="training")
    assert cluster["launcher_mode"] == "here"
    assert roles(cluster) == ["launcher", "worker"]
    launcher = cluster["containers"][0]
    assert (launcher["name"], launcher["host"]) == (POD, lab.host)
    assert not [one for one in lab.objects() if one.startswith("Job/")]

    lab.put(f"clusters/{cluster['id']}/target", {"size": 1})
    lab.wait_ready(cluster["id"], 1)
    lab.put(f"clusters/{cluster['id']}/target", {"size": 2})
    lab.wait_ready(cluster["id"], 2)
    terminal, text = await launch(lab, lab.cluster(cluster["id"]))
    path = lab.cluster(cluster["id"])["hostfile"]["hostfile"]
    assert text == f"horovodrun -np 2 --hostfile {path} python where.py"
    shown = await run_to_the_end(lab, cluster, terminal, r"rank 1 of 2 is at[\s\S]*[$#] $")
    ranks = dict(re.findall(r"rank (\d) of 2 is at ([\d.]+), sum 1\b", shown))
    assert [ranks["0"], ranks["1"]] == lab.hosts(cluster)
    assert ranks["0"] == lab.host

    lab.put(f"clusters/{cluster['id']}/target", {"size": 3})
    lab.wait_ready(cluster["id"], 3)
    lab.kill()
    lab.wait_ready(cluster["id"], 3)
    again = lab.cluster(cluster["id"])
    assert [run["exit"] for run in again["runs"]] == [0]
    assert lab.hosts(again)[0] == lab.host
    await terminal.close()
    lab.delete(f"clusters/{cluster['id']}")
    lab.wait(lambda: lab.objects() == before, seconds=60, what=f"all given back: {lab.objects()}")
    left = lab.inside("sh", "-c", "ls /tmp/jupyter-elastic-1000/here /tmp/jupyter-elastic-1000")
    assert cluster["id"] not in left


@pytest.mark.timeout(300)
def test_with_its_pod_everything_goes(lab: NotebookLab) -> None:
    before = lab.objects()
    lab.create(size=2)
    lab.end_pod()
    before.discard(f"Pod/{POD}")
    lab.wait(lambda: lab.objects() == before, seconds=60, what=f"all gone: {lab.objects()}")
