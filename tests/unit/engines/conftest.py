"""Engines on folders of their own, and a small stand-in for what the manager does with them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jupyter_elastic.engines.base import ClusterFacts, Engine, EngineSnapshot
from jupyter_elastic.engines.fake import FakeEngine
from jupyter_elastic.engines.local import LocalEngine
from jupyter_elastic.engines.local.layout import Layout
from jupyter_elastic.hostfile.membership import next_members
from jupyter_elastic.models import ClusterSpec, HostList

from ...harness import processes

PATIENCE = 10.0


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder: the path of a Unix socket has a limit. Whatever still runs for it is ended."""
    made = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", str(made / "r"))
    monkeypatch.setenv("JUPYTER_ELASTIC_STATE_DIR", str(made / "s"))
    yield made
    processes.end_all(made / "r")
    shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def local_engine(folder: Path, **fields: object) -> AsyncIterator[LocalEngine]:
    """A local engine, stopped at the end."""
    layout = Layout(folder / "r", folder / "s")
    fields = {"shared_folder": None, "layout": layout, **fields}
    engine = LocalEngine(**fields)  # type: ignore[arg-type]
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


@pytest.fixture(params=["local", "fake"])
async def engine(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Engine]:
    """Each engine in turn, empty."""
    if request.param == "fake":
        yield FakeEngine({"max_size": 6}, base_folder=str(folder / "h"))
        return
    async with local_engine(folder, places=6) as made:
        yield made


@pytest.fixture
async def local(folder: Path) -> AsyncIterator[LocalEngine]:
    """A local engine, empty."""
    async with local_engine(folder, places=6) as made:
        yield made


def spec(name: str = "tthvd", size: int = 2, **fields: object) -> ClusterSpec:
    """What a person asks for."""
    return ClusterSpec(name, "horovod", size, "local", owner="ann", **fields)  # type: ignore[arg-type]


async def look(engine: Engine) -> EngineSnapshot:
    """Return the present snapshot."""
    updates = engine.watch()
    try:
        return await asyncio.wait_for(anext(updates), PATIENCE)
    finally:
        await updates.aclose()  # type: ignore[attr-defined]


async def facts(engine: Engine, cluster: str) -> ClusterFacts:
    """Return one cluster as it is now."""
    return next(item for item in (await look(engine)).clusters if item.id == cluster)


async def agree(engine: Engine, cluster: str) -> HostList:
    """Agree on the list that should be now and hand it to the keeper; what the manager does."""
    seen = await facts(engine, cluster)
    members = next_members(seen, seen.host_list, time.time())
    hosts = seen.host_list
    if members != hosts.hosts:
        hosts = HostList(hosts.generation + 1, members)
        await engine.commit_hosts(cluster, hosts)
    channel = await engine.keeper(cluster)
    await channel.publish(hosts)
    return hosts


async def scale(engine: Engine, cluster: str, size: int, *names: str, grace: float = 5.0) -> None:
    """Set the target; the victims are given by name."""
    seen = await facts(engine, cluster)
    uids = tuple(item.uid for item in seen.containers if item.name in names)
    await engine.scale(
        cluster, size, expected=seen.target, victims=uids, grace_seconds=grace, by="ann"
    )


async def until(check: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not await check():
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        await asyncio.sleep(0.05)


def kill(pid: int) -> None:
    """End one process without any handler."""
    os.kill(pid, signal.SIGKILL)
