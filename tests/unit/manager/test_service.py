"""The manager on the scripted engine: order, offers, limits."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from jupyter_elastic.errors import Conflict, LimitReached, NotFound
from jupyter_elastic.manager.changes import TargetRequest

from .driving import CONFIG, create, ready, until


async def test_a_busy_leaver_is_kept_until_its_rank_ends(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    channel = engine.channels[cid]
    channel.live()
    await until(service, cid, lambda view: view.runs)
    await service.scaling.set_target(cid, TargetRequest(2, by="me"))
    view = await until(service, cid, lambda view: view.np == 2 and view.hostfile.in_sync)
    assert view.state == "scaling"
    await asyncio.sleep(0.1)
    assert not [item for item in engine.record if item[0] == "remove"]
    leaver = next(item for item in view.containers if item.state == "draining")
    assert leaver.busy
    channel.set(busy_hosts=tuple(host for host in channel.status.busy_hosts if host != leaver.host))
    await until(service, cid, ready)
    assert engine.record[-1] == ("remove", leaver.uid, "")


async def drain_offer(service, engine):
    engine.record.clear()
    cid = await create(service)
    await until(service, cid, ready)
    engine.channels[cid].live()
    await until(service, cid, lambda view: view.runs)
    await service.scaling.set_target(cid, TargetRequest(2, by="me"))
    view = await until(service, cid, lambda view: view.offers)
    return cid, view.offers[0]


NO_GRACE = replace(CONFIG, drain_grace_with_run=0.05, drain_answer=30.0)


@pytest.mark.parametrize("config", [NO_GRACE])
async def test_offer_answered_with_wait(service, engine):
    cid, offer = await drain_offer(service, engine)
    service.manager.config = replace(NO_GRACE, drain_grace_with_run=50.0)
    await service.answer_offer(
        cid, {"kind": "drain", "choice": "wait", "container": offer.container}, "me"
    )
    await until(service, cid, lambda view: not view.offers)
    assert not [item for item in engine.record if item[0] == "remove"]


@pytest.mark.parametrize("config", [NO_GRACE])
async def test_offer_answered_with_keep(service, engine):
    cid, offer = await drain_offer(service, engine)
    await service.answer_offer(
        cid, {"kind": "drain", "choice": "keep", "container": offer.container}, "me"
    )
    view = await until(service, cid, ready)
    assert (view.target, view.np) == (3, 3)


@pytest.mark.parametrize("config", [NO_GRACE])
async def test_offer_answered_with_delete(service, engine):
    cid, offer = await drain_offer(service, engine)
    await service.answer_offer(
        cid, {"kind": "drain", "choice": "delete", "container": offer.container}, "me"
    )
    view = await until(service, cid, lambda view: len(view.containers) == 2)
    assert any("deleted before its rank ended" in line for line in view.history)
    with pytest.raises(Conflict):
        await service.answer_offer(
            cid, {"kind": "drain", "choice": "keep", "container": offer.container}, "me"
        )


@pytest.mark.parametrize("config", [replace(NO_GRACE, drain_answer=0.1)])
async def test_unattended_it_is_deleted_and_recorded(service, engine):
    cid, _ = await drain_offer(service, engine)
    await until(service, cid, lambda view: len(view.containers) == 2)
    removed = [item for item in engine.record if item[0] == "remove"]
    assert "grace was spent" in removed[0][2]


async def test_release_offer(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.channels[cid].offer()
    await until(service, cid, lambda view: view.offers)
    with pytest.raises(NotFound):
        await service.answer_offer(cid, {"kind": "release", "choice": "keep", "run": "other"}, "me")
    await service.answer_offer(cid, {"kind": "release", "choice": "keep", "run": "r1"}, "me")
    assert engine.record[-1] == ("answer", "r1", "keep")


async def test_below_the_minimum_only_when_forced(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.channels[cid].live(min_np=2)
    await until(service, cid, lambda view: view.runs)
    with pytest.raises(Conflict) as caught:
        await service.scaling.set_target(cid, TargetRequest(1, by="me"))
    assert caught.value.code == "below_run_minimum"
    await service.scaling.set_target(cid, TargetRequest(1, force=True, by="me"))
    await until(service, cid, lambda view: view.target == 1)


async def test_busy_worker_of_a_static_run_only_when_forced(service, engine):
    cid = await create(service, framework="horovod", size=4)
    view = await until(service, cid, ready)
    engine.channels[cid].live(elastic=False, np=None, min_np=None, max_np=None)
    await until(service, cid, lambda view: view.runs)
    name = view.containers[1].name
    with pytest.raises(Conflict) as caught:
        await service.scaling.remove(cid, name, replace=False, force=False, by="me")
    assert caught.value.code == "ends_run"
    plan = await service.scaling.remove(cid, name, replace=False, force=True, by="me")
    assert plan.confirm


LIMITED = replace(
    CONFIG,
    max_size=3,
    max_clusters_per_user=1,
    release_policy="release",
    idle_release=30.0,
    max_lifetime=100.0,
    allowed_frameworks=("horovod",),
)


@pytest.mark.parametrize("config", [LIMITED])
async def test_limits_of_the_administrator(service, engine):
    with pytest.raises(LimitReached, match="limit of 3"):
        await create(service, framework="horovod", size=4)
    cid = await create(service, framework="horovod")
    view = await until(service, cid, ready)
    assert view.limit.size == 3
    assert "max_size" in view.limit.text
    with pytest.raises(LimitReached):
        await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    with pytest.raises(LimitReached, match="the limit is 1"):
        await create(service, name="other", framework="horovod")
    options = await service.options.read()
    assert options.engines[0].max_size == 3
    assert [item.available for item in options.frameworks] == [True, False]
    rules = engine.channels[cid].rules
    assert rules is not None
    assert (rules.on_run_end, rules.idle_seconds) == ("release", 30.0)
    assert rules.deadline == pytest.approx(view.created + 100.0)
    await service.creating.configure(cid, {"release_policy": "keep"}, "me")
    for _ in range(100):
        if engine.channels[cid].rules.on_run_end == "keep":
            break
        await asyncio.sleep(0.01)
    assert engine.channels[cid].rules.on_run_end == "keep"


async def test_slow_start_is_scaling_not_ready(service, engine):
    engine.slow = True
    cid = await create(service)
    view = await until(service, cid, lambda view: view.np == 1)
    assert (view.state, view.ready) == ("scaling", 1)
    facts = engine.clusters[cid]
    engine.set(cid, containers=tuple(replace(item, state="ready") for item in facts.containers))
    await until(service, cid, ready)


async def test_revision_only_grows_when_something_differs(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    await asyncio.sleep(0.05)
    before = service.manager.revision
    for _ in range(10):
        engine._notify()
        await asyncio.sleep(0.005)
    await service.refresh()
    assert service.manager.revision == before
    service.manager.note(cid, "something")
    assert service.manager.revision.n == before.n + 1


async def test_stop_is_quick_and_leaves_the_cluster(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.scale_seconds = 60
    task = asyncio.create_task(service.scaling.set_target(cid, TargetRequest(4, by="me")))
    await asyncio.sleep(0.02)
    begin = time.monotonic()
    await service.stop()
    assert time.monotonic() - begin < 1.0
    assert cid in engine.clusters
    await asyncio.gather(task, return_exceptions=True)
    assert [item for item in asyncio.all_tasks() if item.get_name().startswith("elastic")] == []
