"""The scripted cluster: a simulator with a clock of its own, not a list of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines.base import ClusterFacts, KeeperStatus, ReleaseRules, ShellRequest
from jupyter_elastic.engines.fake import FakeEngine, read_scenario
from jupyter_elastic.errors import BadInput, Conflict, ElasticError, LimitReached, Unreachable

from .conftest import agree, facts, look, scale, spec

P4 = "NVIDIA P4"
REQUEST = ShellRequest(cwd="/work")
ARGV = (
    "horovodrun",
    "-np",
    "2",
    "--min-np",
    "1",
    "--max-np",
    "4",
    "--host-discovery-script",
    "x",
    "python",
    "t.py",
)


class World:
    """An engine whose time a test moves."""

    def __init__(self, folder: Path, scenario: dict[str, Any]) -> None:
        self.now = 1_000_000.0
        self.engine = FakeEngine(scenario, base_folder=str(folder), clock=lambda: self.now)

    async def after(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        await self.engine.advance()

    async def facts(self, cluster: str) -> ClusterFacts:
        return await facts(self.engine, cluster)

    async def status(self, cluster: str) -> KeeperStatus:
        channel = self.engine._clusters[cluster].keeper
        async for status in channel.watch():
            return status
        raise AssertionError


def world(folder: Path, **scenario: Any) -> World:
    return World(folder, scenario)


async def test_phases_with_reason_and_age(tmp_path: Path) -> None:
    phases = [
        {"state": "pending", "seconds": 2, "code": "scheduling", "text": "waits for a node"},
        {"state": "starting", "seconds": 12, "code": "pulling", "text": "pulling image"},
    ]
    here = world(tmp_path, phases=phases)
    cluster = await here.engine.create(spec())
    start = here.now
    first = (await here.facts(cluster)).containers[1]
    assert (first.state, first.since) == ("pending", start)
    await here.after(5)
    pulling = (await here.facts(cluster)).containers[1]
    assert pulling.reason is not None
    assert (pulling.state, pulling.reason.text, pulling.since) == (
        "starting",
        "pulling image",
        start + 2,
    )
    await here.after(9)
    ready = (await here.facts(cluster)).containers[1]
    assert (ready.state, ready.reason, ready.since) == ("ready", None, start + 14)


async def test_only_the_launcher_is_listed_until_the_others_are_ready(tmp_path: Path) -> None:
    here = world(tmp_path, phases=[{"state": "starting", "seconds": 3}])
    cluster = await here.engine.create(spec(size=3))
    folder = Path((await here.facts(cluster)).host_folder)
    assert (folder / "hostfile").read_text() == "10.42.0.2 slots=1\n"
    await here.after(4)
    await agree(here.engine, cluster)
    assert (folder / "hostfile").read_text().count("\n") == 3


async def test_quota_rows(tmp_path: Path) -> None:
    here = world(tmp_path, quota={"containers": 3, "name": "team-a", "who": "Ben"})
    cluster = await here.engine.create(spec(size=5))
    rows = (await here.facts(cluster)).containers
    assert [row.state for row in rows] == ["ready"] * 3 + ["not created"] * 2
    reason = rows[3].reason
    assert reason is not None
    assert reason.text == "Quota team-a allows 3 containers and 3 are used; Ben can raise it."
    await scale(here.engine, cluster, 3)
    rows = (await here.facts(cluster)).containers
    assert [row.state for row in rows] == ["ready"] * 3, "what was not created needs no drain"


async def test_quota_is_shared_and_comes_back(tmp_path: Path) -> None:
    here = world(tmp_path, quota={"containers": 3})
    first = await here.engine.create(spec("a", 2))
    second = await here.engine.create(spec("b", 2))
    assert [c.state for c in (await here.facts(second)).containers] == ["ready", "not created"]
    with pytest.raises(LimitReached):
        await here.engine.create(spec("c", 1))
    await here.engine.release(first)
    assert [c.state for c in (await here.facts(second)).containers] == ["ready", "ready"]


NODES = [
    {"name": "n1", "gpus": 2},
    {"name": "n2", "gpus": 4, "taint": "gpu=a"},
    {"name": "n3", "gpus": 4, "taint": "gpu=a"},
    {"name": "n4", "gpus": 1, "gpu_kind": "NVIDIA A100"},
]


async def test_gpus_are_scheduled_and_never_shared(tmp_path: Path) -> None:
    here = world(tmp_path, nodes=NODES)
    cluster = await here.engine.create(spec(size=3, gpus_per_container=1, gpu_kind=P4))
    rows = (await here.facts(cluster)).containers
    assert [row.state for row in rows] == ["ready", "ready", "pending"]
    assert [gpu.index for row in rows for gpu in row.gpus] == [0, 1]
    reason = rows[2].reason
    assert reason is not None
    assert reason.text == "no node has 1 free P4; 2 nodes have taint gpu=a"
    kinds = {kind.name: (kind.total, kind.free) for kind in (await here.engine.options()).gpu_kinds}
    assert kinds == {P4: (10, 0), "NVIDIA A100": (1, 1)}
    await scale(here.engine, cluster, 2)
    await agree(here.engine, cluster)
    assert [c.state for c in (await here.facts(cluster)).containers].count("ready") == 2


async def test_a_leaver_keeps_its_gpu_until_it_is_gone(tmp_path: Path) -> None:
    here = world(tmp_path, nodes=[{"name": "n1", "gpus": 2}])
    cluster = await here.engine.create(spec(size=2, gpus_per_container=1))
    old = (await here.facts(cluster)).containers[1]
    await scale(here.engine, cluster, 2, old.name)
    assert (await here.facts(cluster)).containers[2].state == "pending"
    await agree(here.engine, cluster)
    await here.engine.remove(cluster, old.uid)
    assert [c.state for c in (await here.facts(cluster)).containers] == ["ready", "ready"]


async def test_events(tmp_path: Path) -> None:
    events = [
        {"at": 30, "kind": "vanish", "container": 1},
        {"at": 10, "kind": "unready", "container": 2, "seconds": 5},
        {"at": 20, "kind": "fail", "container": 2, "text": "ran out of memory (exit 137)"},
    ]
    here = world(tmp_path, events=events)
    cluster = await here.engine.create(spec(size=3))
    before = (await here.facts(cluster)).containers
    await here.after(10)
    assert (await here.facts(cluster)).containers[2].state == "starting"
    await here.after(6)
    assert (await here.facts(cluster)).containers[2].state == "ready"
    await here.after(4)
    failed = (await here.facts(cluster)).containers[2]
    assert failed.reason is not None
    assert (failed.state, failed.reason.text) == ("failed", "ran out of memory (exit 137)")
    assert "137" in await here.engine.log(cluster, failed.uid, 1000)
    await here.after(10)
    after = (await here.facts(cluster)).containers
    assert before[1].uid not in {item.uid for item in after}
    assert len(after) == 3, "another one takes its place"


async def test_unreachable_shows_the_last_known(tmp_path: Path) -> None:
    here = world(tmp_path, events=[{"at": 5, "kind": "unreachable", "seconds": 60}])
    cluster = await here.engine.create(spec())
    updates = here.engine.watch()
    known = await anext(updates)
    here.now += 6
    stale = await anext(updates)
    assert stale.health.state == "stale"
    assert stale.health.since == here.now
    assert stale.clusters == known.clusters
    with pytest.raises(Unreachable):
        await scale(here.engine, cluster, 3)
    here.now += 61
    assert (await anext(updates)).health.state == "live"
    await updates.aclose()  # type: ignore[attr-defined]


async def test_forbidden(tmp_path: Path) -> None:
    here = world(tmp_path, health="forbidden", health_text='missing "create replicasets.apps"')
    assert (await look(here.engine)).health.text == 'missing "create replicasets.apps"'
    with pytest.raises(ElasticError):
        await here.engine.create(spec())


async def test_frozen_keeper(tmp_path: Path) -> None:
    here = world(tmp_path, events=[{"at": 5, "kind": "frozen", "seconds": 10}])
    cluster = await here.engine.create(spec())
    await here.after(6)
    assert not (await here.status(cluster)).reachable
    with pytest.raises(Unreachable):
        await agree(here.engine, cluster)
    await here.after(11)
    assert (await here.status(cluster)).reachable


async def test_elastic_run_follows_the_list(tmp_path: Path) -> None:
    here = world(tmp_path, run={"seconds": 60}, drain_seconds=2)
    cluster = await here.engine.create(spec(size=3))
    channel = await here.engine.keeper(cluster)
    run = await channel.start_run(ARGV, REQUEST)
    assert (run.np, run.min_np, run.max_np, run.elastic) == (2, 1, 4, True)
    with pytest.raises(Conflict):
        await channel.start_run(ARGV, REQUEST)
    leaver = (await here.facts(cluster)).containers[2]
    await scale(here.engine, cluster, 2, leaver.name)
    await agree(here.engine, cluster)
    assert leaver.host in (await here.status(cluster)).busy_hosts
    await here.after(2.5)
    assert leaver.host not in (await here.status(cluster)).busy_hosts
    await here.after(60)
    status = await here.status(cluster)
    assert (status.runs[0].state, status.runs[0].exit, status.busy_hosts) == ("ended", 0, ())
    assert status.runs[0].ended == run.started + 60


@pytest.mark.parametrize(("code", "state"), [(0, "ended"), (137, "failed")])
async def test_release_offer(tmp_path: Path, code: int, state: str) -> None:
    here = world(tmp_path, run={"seconds": 10, "exit": code, "text": "rank 3 ran out of memory"})
    cluster = await here.engine.create(spec())
    channel = await here.engine.keeper(cluster)
    await channel.set_rules(ReleaseRules(on_run_end="release", after_seconds=60))
    run = await channel.start_run(ARGV, REQUEST)
    await here.after(11)
    status = await here.status(cluster)
    assert status.runs[0].state == state
    (offer,) = status.offers
    assert (offer.kind, offer.due, offer.run) == ("release", run.started + 70, run.id)
    await here.after(60)
    assert (await look(here.engine)).clusters == (), "given back by its own rules"


async def test_offer_answered(tmp_path: Path) -> None:
    here = world(tmp_path, run={"seconds": 10})
    cluster = await here.engine.create(spec())
    channel = await here.engine.keeper(cluster)
    run = await channel.start_run(ARGV, REQUEST)
    await here.after(11)
    (offer,) = (await here.status(cluster)).offers
    assert offer.due is None
    await channel.answer_offer(run.id, "keep")
    assert (await here.status(cluster)).offers == ()
    with pytest.raises(BadInput):
        await channel.answer_offer(run.id, "perhaps")


async def test_run_that_begins_by_itself_and_is_stopped(tmp_path: Path) -> None:
    here = world(tmp_path, run={"start_at": 3})
    cluster = await here.engine.create(spec())
    await here.after(4)
    (run,) = (await here.status(cluster)).runs
    assert run.live
    channel = await here.engine.keeper(cluster)
    await channel.stop_run(run.id, 5)
    await here.after(100)
    (run,) = (await here.status(cluster)).runs
    assert run.state == "stopped"
    assert await channel.run_log(run.id, 6) == "ss 0.9\n"[-6:]


async def test_shells(tmp_path: Path) -> None:
    here = world(tmp_path)
    channel = await here.engine.keeper(await here.engine.create(spec()))
    with pytest.raises(Unreachable) as caught:
        await channel.open_shell(REQUEST)
    assert caught.value.hint
    there = world(tmp_path, shells=True)
    channel = await there.engine.keeper(await there.engine.create(spec("b")))
    shell = await channel.open_shell(REQUEST)
    assert channel.attach_argv(shell.id)
    await channel.close_shell(shell.id)
    with pytest.raises(ElasticError):
        channel.attach_argv(shell.id)


async def test_same_script_same_ids(tmp_path: Path) -> None:
    made = [await world(tmp_path / str(n)).engine.create(spec()) for n in range(2)]
    assert made[0] == made[1]


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    here = world(tmp_path)
    cluster = await here.engine.create(spec())
    folder = Path((await here.facts(cluster)).host_folder)
    (folder / "hostfile").unlink()
    (folder / "hostfile").mkdir()
    await scale(here.engine, cluster, 3)
    await agree(here.engine, cluster)
    error = (await here.status(cluster)).error
    assert error is not None
    assert "hostfile" in error.text or "directory" in error.text
    (folder / "hostfile").rmdir()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"nodez": []}, "fake_scenario.nodez"),
        ({"max_size": "8"}, "fake_scenario"),
        ({"events": [{"at": 1, "kind": "x"}]}, "fake_scenario"),
    ],
)
def test_bad_scenarios_name_what_is_wrong(value: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_scenario(value)
    assert caught.value.detail["field"] == field


async def test_scripted_failure_of_creation(tmp_path: Path) -> None:
    here = world(tmp_path, create_error="admission webhook denied the request")
    with pytest.raises(ElasticError, match="admission webhook"):
        await here.engine.create(spec())
    assert (await look(here.engine)).clusters == ()
