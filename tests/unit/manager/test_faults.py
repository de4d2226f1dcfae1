"""The manager when things break."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jupyter_elastic.errors import Conflict, Unreachable
from jupyter_elastic.manager import ElasticService
from jupyter_elastic.manager.changes import TargetRequest
from jupyter_elastic.models import Reason

from .driving import CONFIG, create, ready, until


async def test_engine_that_cannot_be_watched_is_watched_again(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.broken["watch"] = Unreachable("The world is gone.")
    engine._notify()
    for _ in range(100):
        health = service.manager.state().engines[0].health
        if health.state == "failed":
            break
        await asyncio.sleep(0.01)
    assert health.text == "The world is gone."
    assert service.manager.cluster(cid).state == "ready"  # the last known state
    engine.broken.clear()
    for _ in range(300):
        if service.manager.state().engines[0].health.state == "live":
            break
        await asyncio.sleep(0.01)
    assert service.manager.state().engines[0].health.state == "live"


async def test_commit_that_fails_is_tried_again_and_shown(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.broken["commit"] = Unreachable("The disk is full.")
    await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    view = await until(service, cid, lambda view: view.hostfile.frozen_since is not None)
    assert view.state == "degraded"
    assert view.reason.text == "The disk is full."
    assert view.np == 3
    del engine.broken["commit"]
    view = await until(service, cid, ready)
    assert (view.np, view.hostfile.frozen_since, view.reason) == (4, None, None)


async def test_publish_that_fails_is_tried_again(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.channels[cid].broken = Unreachable("The keeper went away.")
    await service.scaling.set_target(cid, TargetRequest(2, by="me"))
    await until(service, cid, lambda view: view.hostfile.frozen_since is not None)
    assert not [item for item in engine.record if item[0] == "remove"]
    engine.channels[cid].broken = None
    await until(service, cid, ready)


async def test_keeper_that_cannot_write_freezes_the_file(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.channels[cid].set(error=Reason("disk_full", "The disk is full."))
    view = await until(service, cid, lambda view: view.hostfile.reason is not None)
    assert (view.state, view.hostfile.reason.code) == ("degraded", "disk_full")
    since = view.hostfile.frozen_since
    await asyncio.sleep(0.05)
    assert service.manager.cluster(cid).hostfile.frozen_since == since
    engine.channels[cid].set(error=None)
    await until(service, cid, ready)


async def test_missing_keeper_is_asked_for_again(service, engine):
    engine.broken["keeper"] = Unreachable("It cannot be started.")
    cid = await create(service)
    view = await until(service, cid, lambda view: view.reason is not None)
    assert view.state == "degraded"
    assert view.hostfile.reason.text == "It cannot be started."
    del engine.broken["keeper"]
    await until(service, cid, ready)


async def test_dead_keeper_is_started_again(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    asked = []
    original = engine.keeper

    async def keeper(cluster_id):
        asked.append(cluster_id)
        return await original(cluster_id)

    engine.keeper = keeper
    engine.channels[cid].set(reachable=False, since=9.0)
    await asyncio.sleep(1.3)
    assert asked == [cid]


async def test_conflict_of_the_list_is_adopted(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    other = engine.clusters[cid].host_list
    # Another server agreed on the next list with the same containers, one generation ahead.
    engine.set(cid, host_list=replace(other, generation=other.generation + 1))
    view = await until(service, cid, lambda view: view.hostfile.generation == other.generation + 1)
    assert view.hostfile.in_sync


async def test_target_changed_by_another_server_is_followed(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    await engine.scale(cid, 5, expected=3, victims=(), grace_seconds=1, by="other")
    await until(service, cid, lambda view: view.target == 5 and view.np == 5)
    await until(service, cid, ready)
    await asyncio.sleep(0.2)
    await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    await until(service, cid, lambda view: view.target == 4)


async def test_ended_cluster_is_shown_and_can_only_be_released(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.set(cid, ended=Reason("boot", "The machine was restarted."))
    view = await until(service, cid, lambda view: view.state == "ended")
    assert view.reason.text == "The machine was restarted."
    with pytest.raises(Conflict) as caught:
        await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    assert caught.value.code == "ended"
    launch = await service.commands.launch(cid)
    assert not launch.ready
    await service.creating.release(cid, stop_runs=False, by="me")
    for _ in range(100):
        if not service.manager.loops:
            break
        await asyncio.sleep(0.01)
    assert service.manager.state().clusters == ()


async def test_release_that_fails_is_tried_again(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.broken["release"] = Unreachable("not now")
    await service.creating.release(cid, stop_runs=False, by="me")
    view = await until(service, cid, lambda view: view.reason is not None)
    assert view.state == "releasing"
    with pytest.raises(Conflict):
        await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    await service.creating.release(cid, stop_runs=False, by="me")
    del engine.broken["release"]
    for _ in range(300):
        if not service.manager.loops:
            break
        await asyncio.sleep(0.01)
    assert [item for item in engine.record if item[0] == "release"] == [("release", cid)]


async def test_release_found_half_done_is_finished(engine):
    first = ElasticService({"scripted": engine}, CONFIG)
    await first.start()
    cid = await create(first)
    await first.stop()
    engine.set(cid, releasing=True)
    second = ElasticService({"scripted": engine}, CONFIG)
    await second.start()
    for _ in range(200):
        if not engine.clusters:
            break
        await asyncio.sleep(0.01)
    await second.stop()
    assert engine.clusters == {}


async def test_an_engine_that_shows_changes_late_is_not_taken_for_another_server(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    notify, engine._notify = engine._notify, lambda: None
    await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    await asyncio.sleep(1.2)
    assert service.manager.cluster(cid).target == 3
    await service.scaling.set_target(cid, TargetRequest(5, by="me"))
    engine._notify = notify
    notify()
    await until(service, cid, lambda view: view.target == 5 and view.np == 5)


async def test_a_snapshot_from_before_our_commit_takes_nothing_back(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    loop = service.manager.loop(cid)
    old = loop.facts
    await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    await until(service, cid, ready)
    await until(service, cid, lambda view: view.np == 4)
    newest = loop.facts.host_list
    loop.update(old)
    assert loop.facts.host_list == newest
    loop.update(replace(old, releasing=True))
    assert loop.facts.host_list == old.host_list


async def test_not_ready_before_the_agreed_list_names_everybody(service, engine):
    cid = await create(service)
    await until(service, cid, ready)
    engine.broken["commit"] = Conflict("Another server commits.")
    await service.scaling.set_target(cid, TargetRequest(4, by="me"))
    view = await until(service, cid, lambda view: view.target == 4)
    assert (view.ready, view.np, view.hostfile.in_sync, view.state) == (4, 3, True, "scaling")
    engine.broken.clear()
    await until(service, cid, lambda view: ready(view) and view.np == 4)
