"""The story from a named server of a JupyterHub user, over HTTP through the hub's proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from testcluster.cluster import Cluster

from ..story.test_static_story import launch
from .hub import HubLab
from .test_training import run_to_the_end

SECRETS = re.compile(r"JUPYTERHUB_API_TOKEN|JPY_API_TOKEN|JUPYTERHUB_")


@pytest.fixture
def lab(cluster: Cluster, namespace: str) -> Iterator[HubLab]:
    server = HubLab(cluster, namespace)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.mark.timeout(600)
async def test_from_the_users_own_pod(lab: HubLab) -> None:
    before = lab.objects()
    cluster = lab.create(size=2, script=str(lab.work / "where.py"), kernelspec="training")
    assert cluster["launcher_mode"] == "here"
    assert cluster["containers"][0]["name"] == lab.pod_name
    terminal, _ = await launch(lab, cluster)
    shown = await run_to_the_end(lab, cluster, terminal, r"rank 1 of 2 is at[\s\S]*[$#] $")
    ranks = dict(re.findall(r"rank (\d) of 2 is at ([\d.]+), sum 1\b", shown))
    assert [ranks["0"], ranks["1"]] == lab.hosts(cluster)

    # The hub's tokens are in the server's own environment, and nowhere that we made.
    assert SECRETS.search(lab.inside("sh", "-c", "tr '\\0' '\\n' < /proc/1/environ"))
    mark = len(terminal.text)
    await terminal.type("env; echo all-of-$((1 + 1))\r")
    await terminal.expect("all-of-2", after=mark)
    assert not SECRETS.search(terminal.text[mark:])
    worker = lab.cluster(cluster["id"])["containers"][1]["name"]
    where = ("--namespace", lab.namespace)
    assert not SECRETS.search(lab.cluster_object.kubectl("exec", worker, *where, "--", "env"))
    assert not SECRETS.search(lab.cluster_object.kubectl("logs", worker, *where))
    await terminal.close()

    lab.put(f"clusters/{cluster['id']}/target", {"size": 4})
    lab.wait_ready(cluster["id"], 4)
    lab.delete(f"clusters/{cluster['id']}")
    lab.wait(lambda: lab.objects() == before, seconds=60, what=f"all given back: {lab.objects()}")


@pytest.mark.timeout(300)
def test_stopping_the_server_gives_everything_back(lab: HubLab) -> None:
    before = lab.objects()
    lab.create(size=2)
    lab.stop_server()
    before = {one for one in before if one != f"Pod/{lab.pod_name}"}
    lab.wait(lambda: lab.objects() == before, seconds=60, what=f"all gone: {lab.objects()}")
    lab.start_server()
    assert lab.get("clusters")["clusters"] == []
