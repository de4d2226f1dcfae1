"""What every engine must do; the same tests on each of them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path

import pytest

from jupyter_elastic.engines.base import Engine
from jupyter_elastic.errors import BadInput, Conflict, ElasticError, LimitReached, NotFound
from jupyter_elastic.hostfile.grammar import horovod_static
from jupyter_elastic.models import HostList, Settings

from .conftest import agree, facts, look, scale, spec, until


def read(folder: str) -> list[str]:
    return [host for host, _ in horovod_static((Path(folder) / "hostfile").read_text())]


async def test_empty(engine: Engine) -> None:
    snapshot = await look(engine)
    assert snapshot.clusters == ()
    assert snapshot.health.state == "live"


async def test_create(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    seen = await facts(engine, cluster)
    assert cluster.startswith("tthvd-")
    assert [item.role for item in seen.containers] == ["launcher", "worker", "worker"]
    assert [item.state for item in seen.containers] == ["ready"] * 3
    assert seen.containers[0].name == "tthvd-0"
    assert len({item.name for item in seen.containers}) == 3
    assert seen.target == 3
    assert seen.spec.owner == "ann"
    assert seen.host_list.generation == 1
    assert seen.host_list.hosts[0].uid == seen.containers[0].uid
    assert set(seen.slots_by_uid) == {item.uid for item in seen.containers}


async def test_host_file_from_the_first_second(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    seen = await facts(engine, cluster)
    assert read(seen.host_folder) == [entry.host for entry in seen.host_list.hosts]
    assert read(seen.host_folder)[0] == seen.containers[0].host


async def test_one_container_is_a_cluster(engine: Engine) -> None:
    cluster = await engine.create(spec(size=1))
    assert len((await facts(engine, cluster)).containers) == 1


async def test_same_operation_is_the_same_cluster(engine: Engine) -> None:
    first = await engine.create(spec(), operation="once")
    assert await engine.create(spec(), operation="once") == first
    assert len((await look(engine)).clusters) == 1


async def test_two_at_once_with_one_operation(engine: Engine) -> None:
    made = await asyncio.gather(*(engine.create(spec(), operation="once") for _ in range(3)))
    assert len(set(made)) == 1


async def test_same_name_is_refused(engine: Engine) -> None:
    first = await engine.create(spec())
    with pytest.raises(Conflict) as caught:
        await engine.create(spec())
    assert caught.value.code == "name_taken"
    assert caught.value.detail == {"field": "name", "cluster": first}


@pytest.mark.parametrize(
    ("size", "kind"), [(0, BadInput), (-1, BadInput), (7, LimitReached), (10**9, LimitReached)]
)
async def test_bad_sizes_make_nothing(engine: Engine, size: int, kind: type[ElasticError]) -> None:
    with pytest.raises(kind) as caught:
        await engine.create(spec(size=size))
    assert caught.value.detail["field"] == "size"
    assert (await look(engine)).clusters == ()


async def test_grow(engine: Engine) -> None:
    cluster = await engine.create(spec())
    before = [item.uid for item in (await facts(engine, cluster)).containers]
    await scale(engine, cluster, 4)
    seen = await facts(engine, cluster)
    assert seen.target == 4
    assert [item.uid for item in seen.containers][:2] == before
    assert len(seen.containers) == 4
    assert seen.last_change is not None
    assert (seen.last_change.previous, seen.last_change.target, seen.last_change.by) == (
        2,
        4,
        "ann",
    )
    hosts = await agree(engine, cluster)
    assert hosts.generation == 2
    assert read(seen.host_folder) == [item.host for item in seen.containers]


async def test_only_the_expected_target_is_replaced(engine: Engine) -> None:
    cluster = await engine.create(spec())

    async def attempt(size: int) -> bool:
        with contextlib.suppress(Conflict):
            await engine.scale(cluster, size, expected=2, victims=(), grace_seconds=1, by="ann")
            return True
        return False

    won = await asyncio.gather(*(attempt(size) for size in (3, 4, 5)))
    assert sum(won) == 1
    assert (await facts(engine, cluster)).target == (3, 4, 5)[won.index(True)]


@pytest.mark.parametrize("size", [0, -3, 7, 2.5, "3", True, None])
async def test_bad_targets_change_nothing(engine: Engine, size: object) -> None:
    cluster = await engine.create(spec())
    with pytest.raises((BadInput, LimitReached)) as caught:
        await engine.scale(cluster, size, expected=2, victims=(), grace_seconds=1, by="x")  # type: ignore[arg-type]
    assert caught.value.detail["field"] == "size"
    assert (await facts(engine, cluster)).target == 2


async def test_shrink_in_order(engine: Engine) -> None:
    cluster = await engine.create(spec(size=4))
    seen = await facts(engine, cluster)
    victim = seen.containers[1]
    await scale(engine, cluster, 3, victim.name, grace=7.0)
    seen = await facts(engine, cluster)
    gone = next(item for item in seen.containers if item.uid == victim.uid)
    assert gone.state == "draining"
    assert gone.drain_until == pytest.approx(gone.since + 7.0)
    assert len(seen.containers) == 4, "draining is not deleting"
    with pytest.raises(Conflict) as caught:
        await engine.remove(cluster, victim.uid)
    assert caught.value.code == "still_listed"
    hosts = await agree(engine, cluster)
    assert victim.uid not in {entry.uid for entry in hosts.hosts}
    assert victim.host not in read(seen.host_folder)
    await engine.remove(cluster, victim.uid)
    await engine.remove(cluster, victim.uid)
    seen = await facts(engine, cluster)
    assert [item.uid for item in seen.containers] == [entry.uid for entry in hosts.hosts]


async def test_without_names_the_newest_leave(engine: Engine) -> None:
    cluster = await engine.create(spec(size=4))
    before = [item.uid for item in (await facts(engine, cluster)).containers]
    await scale(engine, cluster, 2)
    seen = await facts(engine, cluster)
    assert [item.uid for item in seen.containers if item.state == "ready"] == before[:2]


async def test_a_member_is_not_removed(engine: Engine) -> None:
    cluster = await engine.create(spec())
    seen = await facts(engine, cluster)
    for container in seen.containers:
        with pytest.raises(Conflict):
            await engine.remove(cluster, container.uid)


async def test_the_launcher_is_never_a_victim(engine: Engine) -> None:
    cluster = await engine.create(spec())
    launcher = (await facts(engine, cluster)).containers[0]
    with pytest.raises(Conflict) as caught:
        await scale(engine, cluster, 1, launcher.name)
    assert caught.value.code == "launcher"
    assert (await facts(engine, cluster)).target == 2


async def test_replace_keeps_the_size_and_takes_a_new_identity(engine: Engine) -> None:
    cluster = await engine.create(spec())
    old = (await facts(engine, cluster)).containers[1]
    await scale(engine, cluster, 2, old.name)
    seen = await facts(engine, cluster)
    new = seen.containers[-1]
    assert [item.state for item in seen.containers] == ["ready", "draining", "ready"]
    assert new.uid != old.uid
    assert new.name != old.name
    assert new.host != old.host


async def test_hosts_are_never_used_twice(engine: Engine) -> None:
    cluster = await engine.create(spec())
    used: set[str] = set()
    for size in (4, 2, 4, 1, 3):
        await scale(engine, cluster, size)
        await agree(engine, cluster)
        for item in (await facts(engine, cluster)).containers:
            if item.state == "draining":
                await engine.remove(cluster, item.uid)
        now = {str(item.host) for item in (await facts(engine, cluster)).containers}
        kept = {entry.host for entry in (await facts(engine, cluster)).host_list.hosts}
        assert now == kept
        used |= now
    assert len(used) == 2 + 2 + 2 + 2


async def test_lists_are_agreed_on_one_after_the_other(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    agreed = (await facts(engine, cluster)).host_list
    await engine.commit_hosts(cluster, agreed)  # the same again is success
    fewer = agreed.hosts[:2]
    for generation in (0, 1, 3):
        with pytest.raises(Conflict) as caught:
            await engine.commit_hosts(cluster, HostList(generation, fewer))
        assert caught.value.code == "generation"
    with pytest.raises(BadInput):
        await engine.commit_hosts(cluster, HostList(2, agreed.hosts[1:]))
    with pytest.raises(BadInput):
        await engine.commit_hosts(cluster, HostList(2, ()))
    await engine.commit_hosts(cluster, HostList(2, fewer))
    assert (await facts(engine, cluster)).host_list == HostList(2, fewer)


async def test_nobody_who_leaves_is_agreed_on(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    seen = await facts(engine, cluster)
    await scale(engine, cluster, 2, seen.containers[1].name)
    reordered = (seen.host_list.hosts[0], seen.host_list.hosts[2], seen.host_list.hosts[1])
    with pytest.raises(Conflict) as caught:
        await engine.commit_hosts(cluster, HostList(2, reordered))
    assert caught.value.code == "container_changed"


async def test_a_host_that_is_not_the_containers_is_not_agreed_on(engine: Engine) -> None:
    cluster = await engine.create(spec())
    first, second = (await facts(engine, cluster)).host_list.hosts
    forged = dataclasses.replace(second, host="10.9.9.9")
    with pytest.raises(Conflict):
        await engine.commit_hosts(cluster, HostList(2, (first, forged)))


async def test_a_drain_may_take_longer_or_be_taken_back(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    victim = (await facts(engine, cluster)).containers[2]
    await scale(engine, cluster, 2, victim.name)
    await agree(engine, cluster)
    await engine.extend_drain(cluster, victim.uid, 5_000_000_000.0)
    seen = await facts(engine, cluster)
    assert seen.containers[2].drain_until == 5_000_000_000.0
    await engine.extend_drain(cluster, victim.uid, None)
    seen = await facts(engine, cluster)
    assert seen.containers[2].state == "ready"
    assert seen.containers[2].drain_until is None
    assert seen.target == 3
    assert len((await agree(engine, cluster)).hosts) == 3
    with pytest.raises(Conflict):
        await engine.extend_drain(cluster, victim.uid, 1.0)
    with pytest.raises(Conflict):
        await engine.extend_drain(cluster, "gone", None)


async def test_settings(engine: Engine) -> None:
    cluster = await engine.create(spec())
    wanted = Settings(
        script="/x y.py", arguments=("--a", "b c"), pass_env=("HF_TOKEN",), max_size=4
    )
    await engine.configure(cluster, wanted)
    assert (await facts(engine, cluster)).settings == wanted


async def test_release(engine: Engine) -> None:
    cluster = await engine.create(spec())
    other = await engine.create(spec("other"))
    folder = Path((await facts(engine, cluster)).host_folder)
    await engine.release(cluster)
    assert [item.id for item in (await look(engine)).clusters] == [other]
    assert not folder.exists()
    await engine.release(cluster)
    again = await engine.create(spec())
    assert again != cluster


async def test_released_many_times_at_once(engine: Engine) -> None:
    cluster = await engine.create(spec())
    await asyncio.gather(*(engine.release(cluster) for _ in range(4)))
    assert (await look(engine)).clusters == ()


async def test_unknown_cluster(engine: Engine) -> None:
    with pytest.raises(NotFound):
        await engine.scale("no", 2, expected=2, victims=(), grace_seconds=1, by="x")
    with pytest.raises(NotFound):
        await engine.configure("no", Settings())
    with pytest.raises(NotFound):
        await engine.keeper("no")
    with pytest.raises(NotFound):
        await engine.log("no", "x", 10)
    await engine.release("no")


async def test_watchers_see_each_change(engine: Engine) -> None:
    seen: list[int] = []

    async def follow() -> None:
        async for snapshot in engine.watch():
            seen.append(snapshot.clusters[0].target if snapshot.clusters else 0)

    tasks = [asyncio.create_task(follow()) for _ in range(2)]
    try:
        cluster = await engine.create(spec())
        await engine.scale(cluster, 3, expected=2, victims=(), grace_seconds=1, by="x")

        async def both() -> bool:
            return seen.count(3) >= 2

        await until(both, "two watchers to see the size")
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def test_keeper_takes_no_older_list(engine: Engine) -> None:
    cluster = await engine.create(spec(size=3))
    first = (await facts(engine, cluster)).host_list
    await scale(engine, cluster, 4)
    second = await agree(engine, cluster)
    channel = await engine.keeper(cluster)
    await channel.publish(first)
    folder = (await facts(engine, cluster)).host_folder
    assert read(folder) == [entry.host for entry in second.hosts]
    async for status in channel.watch():
        if status.generation == second.generation:
            assert status.reachable
            assert list(status.hosts) == read(folder)
            break


async def test_logs_and_use(engine: Engine) -> None:
    cluster = await engine.create(spec())
    seen = await facts(engine, cluster)
    for container in seen.containers:
        assert isinstance(await engine.log(cluster, container.uid, 1000), str)
    with pytest.raises(NotFound):
        await engine.log(cluster, "no", 1000)
    samples = await engine.metrics(cluster)
    assert [sample.container for sample in samples] == [item.name for item in seen.containers]


async def test_options(engine: Engine) -> None:
    options = await engine.options()
    assert options.name == engine.name
    assert options.max_size == 6
    assert options.launcher_modes == ("here",)
    assert options.summary
    await engine.refresh()
