"""The engine itself: what it shows of a cluster it can, or cannot, reach, and what it finishes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines.base import EngineSnapshot
from jupyter_elastic.engines.kubernetes import anchor as anchors
from jupyter_elastic.engines.kubernetes.changes import STUCK_SECONDS, Changes
from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.engine import KubernetesEngine
from jupyter_elastic.errors import BadInput, Conflict, LimitReached, NotFound, Unreachable
from jupyter_elastic.errors import Forbidden as NotAllowed
from jupyter_elastic.keeper.kube.access import Access
from jupyter_elastic.keeper.kube.calls import CONFIGMAPS, PODS, REPLICASETS, Api
from jupyter_elastic.models import ClusterSpec, HostList, Settings
from tests.fakes.kube import FakeKube

CONFIG = KubernetesConfig(default_image="train:1")
SPEC = ClusterSpec("tthvd", "horovod", 3, "kubernetes", launcher_mode="pod", owner="ann")
Seen = Callable[[EngineSnapshot], Any]


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        server.controllers.start()
        yield server


class Watched:
    """An engine and the snapshots it has shown."""

    def __init__(self, connect: Callable[[], Access], folder: Path) -> None:
        self.engine = KubernetesEngine(CONFIG, connect=connect, folder=folder)
        self.shown: list[EngineSnapshot] = []
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> Watched:
        await self.engine.start()
        self._task = asyncio.get_running_loop().create_task(self._follow())
        return self

    async def _follow(self) -> None:
        async for snapshot in self.engine.watch():
            self.shown.append(snapshot)

    async def until(self, true: Seen, seconds: float = 10.0) -> EngineSnapshot:
        deadline = time.monotonic() + seconds
        while not (self.shown and true(self.shown[-1])):
            assert time.monotonic() < deadline, f"not in time; shown: {self.shown[-1:]}"
            await asyncio.sleep(0.02)
        return self.shown[-1]

    async def state(self, state: str, seconds: float = 10.0) -> EngineSnapshot:
        return await self.until(lambda seen: seen.health.state == state, seconds)

    async def made(self, spec: ClusterSpec = SPEC) -> str:
        cluster = await self.engine.create(spec, operation="op-1")
        await self.until(
            lambda seen: (
                [f.id for f in seen.clusters] == [cluster]
                and len(seen.clusters[0].containers) == spec.size
            )
        )
        return cluster

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.engine.stop()


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    begun: list[Watched] = []

    async def begin(connect: Callable[[], Access]) -> Watched:
        begun.append(Watched(connect, tmp_path / str(len(begun))))
        return await begun[-1].begin()

    yield begin
    for watched in begun:
        await watched.end()


async def test_a_cluster_is_shown_and_given_back(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    assert (await watched.state("live")).clusters == ()
    cluster = await watched.made()
    with pytest.raises(Conflict) as caught:
        await watched.engine.create(SPEC, operation="op-2")
    assert caught.value.code == "name_taken"
    await watched.engine.release(cluster)
    await watched.until(lambda seen: not seen.clusters)
    assert not [thing for kind in (PODS, REPLICASETS, CONFIGMAPS) for thing in kube.all(kind)]


async def test_nothing_is_shown_twice(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    await watched.made()
    await asyncio.sleep(2.5)  # events of scheduling and start come in
    count = len(watched.shown)
    # Bookmarks, a forced look and ends of watches are no news.
    kube.end_watches()
    await watched.engine.refresh()
    await asyncio.sleep(1.0)
    assert [seen.health.state for seen in watched.shown[count:]] == []


@pytest.mark.parametrize("resource", ["pods", "replicasets", "configmaps", "jobs"])
async def test_a_right_that_is_missing_is_named(kube: FakeKube, make: Any, resource: str) -> None:
    kube.forbid("list", resource)
    watched = await make(kube.access)
    health = (await watched.state("forbidden")).health
    assert "list" in health.text
    assert resource in health.text
    kube.allow("list", resource)
    await watched.engine.refresh()
    assert (await watched.state("live")).health.text == ""


async def test_a_server_that_has_not_read_its_roles_yet(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    kube.forbid("watch", "pods")
    kube.end_watches()
    await watched.state("forbidden")
    kube.allow("watch", "pods")
    await watched.state("live", seconds=10)  # by itself, and not after a minute


async def test_without_events_only_the_reasons_are_poorer(kube: FakeKube, make: Any) -> None:
    kube.forbid("*", "events")
    watched = await make(kube.access)
    await watched.state("live")
    await watched.made()


async def test_a_token_that_is_not_known(kube: FakeKube, make: Any) -> None:
    kube.tokens = {"new"}
    access = kube.access("old")
    watched = await make(lambda: access)
    await watched.state("unauthenticated")
    with pytest.raises(Unreachable) as caught:
        await watched.engine.create(SPEC, operation="op-1")
    assert caught.value.code == "unauthenticated"
    access.next_token = "new"
    await watched.engine.refresh()
    await watched.state("live")
    assert access.reloads


async def test_no_kubeconfig_is_said_with_what_to_do(kube: FakeKube, make: Any) -> None:
    there: list[Access] = []

    def connect() -> Access:
        if not there:
            raise BadInput("There is no kubeconfig.", hint="Log in with kubectl first.")
        return there[0]

    watched = await make(connect)
    seen = await watched.state("failed")
    assert seen.health.text == "There is no kubeconfig. Log in with kubectl first."
    assert seen.health.since == pytest.approx(time.time(), abs=30)
    with pytest.raises(BadInput, match="no kubeconfig"):
        await watched.engine.options()
    await watched.engine.refresh()
    await asyncio.sleep(0.3)
    assert len(watched.shown) == 1, "the same trouble is no news"
    there.append(kube.access())
    await watched.engine.refresh()
    await watched.state("live", seconds=3)


async def test_a_server_that_is_gone_leaves_what_was_seen(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    cluster = await watched.made()
    kube.down()
    began = time.monotonic()
    seen = await watched.state("stale", seconds=5)
    assert time.monotonic() - began < 5
    assert [facts.id for facts in seen.clusters] == [cluster]
    assert seen.health.text
    with pytest.raises(Unreachable):
        await watched.engine.configure(cluster, Settings(script="/a.py"))
    kube.up()
    await watched.state("live", seconds=15)
    assert not kube.asked("delete")


async def test_a_change_that_a_server_left_is_finished(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    cluster = await watched.made()
    with Api(kube.access()) as api:
        old = Changes(api, api.server_now).anchor(cluster)
        left = anchors.Pending(5, 3, (), 0.0, "bob", api.server_now() - STUCK_SECONDS - 1)
        new = old.__class__(
            **{**vars(old), "intent": old.intent.__class__(**{**vars(old.intent), "pending": left})}
        )
        api.merge_patch(CONFIGMAPS, cluster, {"data": anchors.changed_data(old, new)})
    seen = await watched.until(lambda s: s.clusters[0].target == 5, seconds=15)
    assert seen.clusters[0].id == cluster
    await asyncio.sleep(0.5)
    with Api(kube.access()) as api:
        assert Changes(api).anchor(cluster).intent.pending is None


async def test_the_namespace_is_deleted_and_nothing_is_made_again(
    kube: FakeKube, make: Any
) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    cluster = await watched.made()
    kube.delete_namespace()
    kube.cut()
    await watched.state("gone", seconds=15)
    mark = len(kube.asked())
    await asyncio.sleep(3.0)
    later = kube.asked()[mark:]
    assert not [one for one in later if one.verb in ("create", "patch", "delete")]
    assert len(later) <= 2 * 3 + 5
    with pytest.raises((NotFound, Unreachable)):
        await watched.engine.commit_hosts(cluster, HostList(1, ()))


async def test_refusals_come_in_words(kube: FakeKube, make: Any) -> None:
    watched = await make(kube.access)
    await watched.state("live")
    quota = "exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4"
    kube.admission.append(lambda _verb, plural, _body: quota if plural == "pods" else None)
    with pytest.raises(LimitReached, match="limited: pods=4") as limit:
        await watched.engine.create(SPEC, operation="op-1")
    assert limit.value.code == "quota"
    kube.admission.clear()
    kube.forbid("create", "replicasets")
    with pytest.raises(NotAllowed, match='"create replicasets"') as caught:
        await watched.engine.create(SPEC, operation="op-1")
    assert caught.value.code == "rights"
    assert not kube.all(CONFIGMAPS)
