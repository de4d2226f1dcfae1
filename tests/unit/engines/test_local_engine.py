"""The local engine with real keepers: restarts, two servers, deaths, host folders, and giving everything back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from jupyter_elastic.engines.base import Engine, KeeperChannel, KeeperStatus, ReleaseRules
from jupyter_elastic.engines.local import LocalEngine
from jupyter_elastic.errors import BadInput, Conflict, ElasticError, Unreachable
from jupyter_elastic.keeper import identity

from ...harness import processes
from .conftest import agree, facts, kill, local_engine, look, scale, spec, until


def keeper_record(folder: Path, cluster: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "r" / cluster / "keeper.json").read_bytes())
    return value


def lines(folder: str) -> list[str]:
    return (Path(folder) / "hostfile").read_text().splitlines()


async def status(channel: KeeperChannel) -> KeeperStatus:
    async for found in channel.watch():
        if found.reachable:
            return found
    raise AssertionError


async def reachable(engine: Engine, cluster: str, generation: int) -> None:
    """Wait until the keeper says that this list is in the file."""
    channel = await engine.keeper(cluster)

    async def there() -> bool:
        return (await status(channel)).generation == generation

    await until(there, f"generation {generation}")


def place_a_rank(folder: Path, cluster: str, host: str) -> subprocess.Popen[bytes]:
    """Start a process and record it as our ssh does."""
    rank = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
    )
    path = folder / "r" / cluster / "ranks" / host
    path.mkdir(parents=True, exist_ok=True)
    value = {
        "pid": rank.pid,
        "start": identity.start_time(rank.pid),
        "host": host,
        "boot": identity.boot_id(),
    }
    (path / f"{rank.pid}.json").write_text(json.dumps(value))
    return rank


async def test_a_new_server_finds_everything_as_it_was(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec(size=3))
    await scale(local, cluster, 4)
    await agree(local, cluster)
    before = await facts(local, cluster)
    keeper = keeper_record(folder, cluster)["pid"]
    await local.stop()
    async with local_engine(folder, places=6) as again:
        assert await facts(again, cluster) == before
        await reachable(again, cluster, 2)
        assert keeper_record(folder, cluster)["pid"] == keeper, "it outlived its server"


async def test_two_servers_see_each_others_writes(folder: Path, local: LocalEngine) -> None:
    async with local_engine(folder, places=6) as other:
        updates = other.watch()
        await anext(updates)
        cluster = await local.create(spec())
        started = time.monotonic()
        while not (snapshot := await asyncio.wait_for(anext(updates), 5)).clusters:
            continue
        assert time.monotonic() - started < 1.0
        assert snapshot.clusters[0].id == cluster
        await local.scale(cluster, 3, expected=2, victims=(), grace_seconds=1, by="ann")
        with pytest.raises(Conflict):
            await other.scale(cluster, 4, expected=2, victims=(), grace_seconds=1, by="ben")
        await other.scale(cluster, 4, expected=3, victims=(), grace_seconds=1, by="ben")
        assert (await facts(local, cluster)).target == 4
        agreed = await agree(other, cluster)
        with pytest.raises(Conflict):
            await local.commit_hosts(cluster, type(agreed)(2, agreed.hosts[:1]))
        await updates.aclose()  # type: ignore[attr-defined]


async def test_a_killed_keeper_is_back_with_the_same_list(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec(size=3))
    seen = await facts(local, cluster)
    channel = await local.keeper(cluster)
    await reachable(local, cluster, 1)
    dead = keeper_record(folder, cluster)["pid"]
    kill(dead)

    async def back() -> bool:
        return bool(
            keeper_record(folder, cluster)["pid"] != dead
            and (await status(channel)).generation == 1
        )

    await until(back, "the keeper to be back")
    assert len(lines(seen.host_folder)) == 3
    await scale(local, cluster, 4)
    await agree(local, cluster)
    await reachable(local, cluster, 2)
    assert len(lines(seen.host_folder)) == 4


async def test_runtime_folder_wiped_while_it_lives(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec())
    await reachable(local, cluster, 1)
    kill(keeper_record(folder, cluster)["pid"])
    for path in sorted((folder / "r" / cluster).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    await agree(local, cluster)
    assert len(lines((await facts(local, cluster)).host_folder)) == 2


async def test_release_leaves_nothing(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec(size=3))
    seen = await facts(local, cluster)
    rank = place_a_rank(folder, cluster, str(seen.containers[1].host))
    keeper = keeper_record(folder, cluster)["pid"]
    await local.release(cluster)
    assert rank.wait(timeout=1) != 0
    assert not psutil.pid_exists(keeper) or psutil.Process(keeper).status() == psutil.STATUS_ZOMBIE
    assert processes.wait_until_none(folder / "r", seconds=5) == []
    assert not Path(seen.host_folder).exists()
    assert [path.name for path in (folder / "r").iterdir()] == ["lock"]
    assert list((folder / "s" / "clusters").iterdir()) == []


async def test_release_when_the_keeper_is_dead(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec())
    seen = await facts(local, cluster)
    rank = place_a_rank(folder, cluster, str(seen.containers[1].host))
    await local.stop()
    kill(keeper_record(folder, cluster)["pid"])
    async with local_engine(folder) as again:
        await again.release(cluster)
        assert rank.wait(timeout=1) != 0
        assert not (folder / "r" / cluster).exists()
        assert (await look(again)).clusters == ()


async def test_a_release_that_was_begun_is_shown_and_finished(
    folder: Path, local: LocalEngine
) -> None:
    cluster = await local.create(spec())

    def mark(records: dict[str, Any]) -> None:
        from jupyter_elastic.engines.local import changes

        records[cluster] = changes.releasing(records[cluster])

    local.store.transact(mark)
    assert (await facts(local, cluster)).releasing
    for call in (
        local.keeper(cluster),
        local.scale(cluster, 3, expected=2, victims=(), grace_seconds=1, by="x"),
    ):
        with pytest.raises(Conflict) as caught:
            await call
        assert caught.value.code == "releasing"
    await local.stop()
    async with local_engine(folder) as again:
        await again.release(cluster)
        assert (await look(again)).clusters == ()


@pytest.mark.parametrize("watched", [True, False])
async def test_a_keeper_that_gives_back_by_its_own_rules(folder: Path, watched: bool) -> None:
    shared = folder / "mpi"
    async with local_engine(folder, shared_folder=str(shared)) as engine:
        cluster = await engine.create(spec("a"))
        channel = await engine.keeper(cluster)
        updates = engine.watch()
        if watched:
            await anext(updates)
        await channel.set_rules(ReleaseRules(idle_seconds=0.0))

        async def gone() -> bool:
            return (await look(engine)).clusters == ()

        await until(gone, "the keeper to give the cluster back")
        assert not (folder / "s" / "clusters" / f"{cluster}.json").exists()
        assert not shared.exists()
        assert processes.wait_until_none(folder / "r", seconds=5) == []
        assert not (folder / "r" / cluster).exists()
        await updates.aclose()  # type: ignore[attr-defined]


async def test_deleting_a_leaver_ends_its_rank_only(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec(size=3))
    seen = await facts(local, cluster)
    stays = place_a_rank(folder, cluster, str(seen.containers[1].host))
    goes = place_a_rank(folder, cluster, str(seen.containers[2].host))
    try:
        await scale(local, cluster, 2, seen.containers[2].name)
        await agree(local, cluster)
        await local.remove(cluster, seen.containers[2].uid, note="its rank still ran")
        assert goes.wait(timeout=1) != 0
        assert stays.poll() is None
        assert "its rank still ran" in (await facts(local, cluster)).history[0]
    finally:
        for rank in (stays, goes):
            rank.kill()
            rank.wait()


async def test_a_keeper_that_cannot_start_leaves_nothing(folder: Path) -> None:
    bad = (sys.executable, "-c", "import sys; sys.exit('no such luck')")
    async with local_engine(
        folder, keeper_command=bad, shared_folder=str(folder / "mpi")
    ) as engine:
        with pytest.raises(Unreachable) as caught:
            await engine.create(spec())
        assert caught.value.code == "keeper_not_started"
        assert "no such luck" in caught.value.hint
        assert (await look(engine)).clusters == ()
        assert not (folder / "mpi").exists()
        assert [path.name for path in (folder / "r").iterdir()] == ["lock"]


async def test_a_keeper_program_that_is_not_there(folder: Path) -> None:
    async with local_engine(folder, keeper_command=("/no/python",)) as engine:
        with pytest.raises(Unreachable, match="/no/python"):
            await engine.create(spec())
        assert (await look(engine)).clusters == ()


async def test_the_first_cluster_has_the_shared_folder(folder: Path) -> None:
    shared = folder / "mpi"
    async with local_engine(folder, shared_folder=str(shared)) as engine:
        first = await engine.create(spec("a"))
        second = await engine.create(spec("b"))
        assert (await facts(engine, first)).host_folder == str(shared)
        own = Path((await facts(engine, second)).host_folder)
        assert own == folder / "r" / second
        assert len(lines(str(shared))) == 2
        await engine.release(first)
        assert not shared.exists()
        third = await engine.create(spec("c"))
        assert (await facts(engine, third)).host_folder == str(shared)
        await engine.release(second)
        await engine.release(third)


async def test_a_foreign_host_file_stays(folder: Path) -> None:
    shared = folder / "mpi"
    shared.mkdir()
    (shared / "hostfile").write_text("other slots=8\n")
    async with local_engine(folder, shared_folder=str(shared)) as engine:
        cluster = await engine.create(spec())
        assert (await facts(engine, cluster)).host_folder != str(shared)
        await engine.release(cluster)
    assert (shared / "hostfile").read_text() == "other slots=8\n"


async def test_base_folder(folder: Path) -> None:
    async with local_engine(folder, base_folder=str(folder / "base")) as engine:
        cluster = await engine.create(spec())
        made = folder / "base" / cluster
        assert (await facts(engine, cluster)).host_folder == str(made)
        assert (made / "discover_hosts.sh").exists()
        await engine.release(cluster)
        assert not made.exists()


async def test_base_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "base").touch()
    async with local_engine(folder, base_folder=str(folder / "base")) as engine:
        with pytest.raises(BadInput, match=str(folder / "base")):
            await engine.create(spec())
        assert (await look(engine)).clusters == ()


async def test_after_a_restart_of_the_machine(folder: Path, local: LocalEngine) -> None:
    shared = folder / "mpi"
    async with local_engine(folder, shared_folder=str(shared)) as engine:
        cluster = await engine.create(spec())
        kill(keeper_record(folder, cluster)["pid"])
    state = folder / "s" / "clusters" / f"{cluster}.json"
    record = json.loads(state.read_bytes())
    state.write_text(json.dumps({**record, "boot": "an earlier one"}))
    async with local_engine(folder, shared_folder=str(shared)) as engine:
        seen = await facts(engine, cluster)
        assert seen.ended is not None
        assert "restarted" in seen.ended.text
        for call in (
            engine.keeper(cluster),
            engine.scale(cluster, 3, expected=2, victims=(), grace_seconds=1, by="x"),
        ):
            with pytest.raises(Conflict) as caught:
                await call
            assert caught.value.code == "ended"
        await engine.release(cluster)
        assert (await look(engine)).clusters == ()
        assert not shared.exists()


async def test_one_line_addressing_writes_one_line(folder: Path) -> None:
    async with local_engine(folder, loopback=False) as engine:
        cluster = await engine.create(spec(size=3))
        seen = await facts(engine, cluster)
        assert lines(seen.host_folder) == ["localhost slots=3"]
        assert "only the newest" in (await engine.options()).summary
        await scale(engine, cluster, 2)
        await agree(engine, cluster)
        assert lines(seen.host_folder) == ["localhost slots=2"]


async def test_gpus_are_exclusive_and_seen_by_their_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    rows = "".join(f"{n}, NVIDIA P4, 7611, {n}, [N/A]\\n" for n in range(3))
    tool.write_text(f"#!/bin/sh\nprintf '{rows}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    async with local_engine(folder) as engine:
        first = await engine.create(spec("a", 2, gpus_per_container=1))
        second = await engine.create(spec("b", 2, gpus_per_container=1))
        mine, other = await facts(engine, first), await facts(engine, second)
        assert [entry.devices for entry in mine.host_list.hosts] == [(0,), (1,)]
        assert [item.state for item in other.containers] == ["ready", "not created"]
        assert other.containers[0].gpus[0].index == 2
        samples = await engine.metrics(second)
        assert (samples[0].gpu_percent, samples[0].gpu_memory_bytes) == (
            (None,),
            (2 * 1024 * 1024,),
        )
        (kind,) = (await engine.options()).gpu_kinds
        assert (kind.total, kind.free) == (3, 0)
        await engine.release(first)
        assert [item.state for item in (await facts(engine, second)).containers] == [
            "ready",
            "ready",
        ]
        await engine.release(second)


async def test_metrics_of_a_rank(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec())
    host = str((await facts(local, cluster)).containers[1].host)
    rank = place_a_rank(folder, cluster, host)
    try:
        _, worker = await local.metrics(cluster)
        assert worker.cpu_percent is None, "one look is no measurement"
        launcher, worker = await local.metrics(cluster)
        assert worker.cpu_percent is not None
        for _ in range(100):  # a process that has only just begun has no memory yet
            if (worker.memory_bytes or 0) > 1024 * 1024:
                break
            await asyncio.sleep(0.1)
            launcher, worker = await local.metrics(cluster)
        assert (worker.memory_bytes or 0) > 1024 * 1024
        assert (launcher.cpu_percent, launcher.memory_bytes) == (0.0, 0)
    finally:
        rank.kill()
        rank.wait()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"image": "x"}, "image"),
        ({"storage": ("x",)}, "storage"),
        ({"shared_memory": 1}, "shared_memory"),
        ({"launcher_mode": "pod"}, "launcher_mode"),
        ({"gpus_per_container": -1}, "gpus_per_container"),
    ],
)
async def test_what_places_cannot_have(
    local: LocalEngine, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        await local.create(spec(**fields))
    assert caught.value.detail["field"] == field


async def test_no_gpu_here(local: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ElasticError) as caught:
        await local.create(spec(size=1, gpus_per_container=1))
    assert (caught.value.status, caught.value.detail["limit"]) == (422, 0)


async def test_state_that_cannot_be_read_is_said(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec())
    (folder / "s" / "clusters" / "other.json").write_text("{")
    snapshot = await look(local)
    assert [item.id for item in snapshot.clusters] == [cluster]
    assert "other.json" in snapshot.health.text


async def test_secrets_do_not_reach_the_keeper(
    folder: Path, local: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "JUPYTERHUB_API_TOKEN",
        "JPY_API_TOKEN",
        "HF_TOKEN",
        "MY_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
    ):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    cluster = await local.create(spec())
    environment = psutil.Process(keeper_record(folder, cluster)["pid"]).environ()
    assert "canary" not in environment.values()
    assert environment["TOKENIZERS_PARALLELISM"] == "false"


async def test_an_unsafe_runtime_folder_is_refused(folder: Path) -> None:
    (folder / "r").mkdir(mode=0o755)
    (folder / "r").chmod(0o755)
    with pytest.raises(ElasticError) as caught:
        async with local_engine(folder):
            pass
    assert "open to other users" in caught.value.message


async def test_idle_keepers_and_watchers_cost_little(folder: Path, local: LocalEngine) -> None:
    cluster = await local.create(spec())
    me = psutil.Process()
    updates = local.watch()
    await anext(updates)
    await reachable(local, cluster, 1)
    before = sum(me.cpu_times()[:2])
    waiting = asyncio.ensure_future(anext(updates))
    await asyncio.sleep(2.0)
    used = sum(me.cpu_times()[:2]) - before
    assert not waiting.done(), "nothing changed, so nothing is told"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await updates.aclose()  # type: ignore[attr-defined]
    assert used < 0.2, f"{used:.3f} s of CPU in 2 s of waiting"
