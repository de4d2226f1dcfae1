"""The local engine: places of this machine, their truth on disk."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ...errors import NotFound, Unreachable
from ...models import ClusterSpec, EngineOptions, HostList, Sample, Settings
from ..base import Engine, EngineSnapshot, KeeperChannel
from ..output import log_of
from . import changes, creating, machine, releasing
from .allocation import Machine, address
from .channel import LocalChannel
from .gpu import GpuProbe
from .layout import Layout
from .metrics import Meter
from .options import options_of
from .overview import Overview
from .processes import end, ranks_of
from .records import Record
from .starting import KeeperStarter
from .store import Records, Signature, Store
from .watching import Watcher

T = TypeVar("T")
DEFAULT_COMMAND = (sys.executable, "-I")
RANK_GRACE_SECONDS = 3.0
_log = logging.getLogger(__name__)


class LocalEngine(Engine):
    """Places of this machine: loopback addresses with a share of it each.

    Parameters
    ----------
    shared_folder
        Folder of the host file of the first cluster that can take it; None: every cluster has its
        own.
    base_folder
        Parent of the clusters' own folders; None: the runtime folder.
    keeper_command
        Words before ``keeper.pyz serve FOLDER``.
    places
        CPU places of a cluster; None: at least 4, else the cores.
    programs
        Launcher programs for which the keeper holds a starter.
    loopback
        Whether there are loopback addresses above .1; None: find out.
    clock
        Seconds since 1970.
    """

    name = "local"
    title = "This machine"

    def __init__(
        self,
        *,
        shared_folder: str | None = "/etc/mpi",
        base_folder: str | None = None,
        keeper_command: tuple[str, ...] = (),
        places: int | None = None,
        programs: tuple[str, ...] = ("horovodrun",),
        loopback: bool | None = None,
        gpus: GpuProbe | None = None,
        layout: Layout | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.layout = layout or Layout.of_this_user()
        self.store = Store(self.layout.clusters, self.layout.lock)
        self.gpus = gpus or GpuProbe()
        self._shared = Path(shared_folder) if shared_folder else None
        self._base = Path(base_folder) if base_folder else self.layout.runtime
        self._places = places
        self._loopback = loopback
        self._clock = clock
        self._starter = KeeperStarter(
            self.layout, self.store, tuple(keeper_command) or DEFAULT_COMMAND, programs
        )
        self._boot = self.layout.boot()
        self._cores = 1
        self._server: Mapping[str, Any] | None = None
        self._threads = ThreadPoolExecutor(4, "elastic-local")
        self._watcher = Watcher(self._signature, self._snapshot, self._unreadable)
        self._overview = Overview(self.store, self.machine, self._shared, clock)
        self._channels: dict[str, LocalChannel] = {}
        self._releases: dict[str, asyncio.Task[None]] = {}
        self._meter = Meter()

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Prepare; returns at once."""
        await self._in_thread(self._prepare)

    def _prepare(self) -> None:
        try:
            self.layout.prepare()
            self.store.prepare()
        except OSError as error:
            raise Unreachable(
                f"The folders for clusters cannot be used: {error}",
                hint="Make them, for this user only, or name others in JUPYTER_ELASTIC_RUNTIME_DIR "
                "and JUPYTER_ELASTIC_STATE_DIR.",
                code="folders",
            ) from error
        self._cores = machine.cores()
        if self._loopback is None:
            self._loopback = machine.loopback_places()

    async def stop(self) -> None:
        """Let go of everything in this process; deletes nothing."""
        for task in self._releases.values():
            task.cancel()
        await asyncio.gather(*self._releases.values(), return_exceptions=True)
        channels = [channel.close() for channel in self._channels.values()]
        await asyncio.gather(*channels, return_exceptions=True)
        self._channels.clear()
        await self._watcher.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def introduce(self, server: Mapping[str, Any]) -> None:
        """Tell every keeper who this server is: pid, start, socket, url."""
        self._server = dict(server)
        for channel in list(self._channels.values()):
            await channel.introduce()

    def machine(self) -> Machine:
        """Return this machine as it is known now."""
        reading = self.gpus.last
        return Machine(
            boot=self._boot,
            max_places=machine.places(self._cores, self._places),
            addressing="slots" if self._loopback is False else "places",
            gpus=tuple(use.gpu for use in reading.gpus),
            cores=self._cores,
            gpu_problem=reading.problem,
        )

    async def options(self) -> EngineOptions:
        """What the create form may offer now."""
        await self.gpus.now()
        loaded = await self._in_thread(self._overview.load)
        health = self._overview.health(loaded)
        records = loaded.records.values()
        return options_of(self.machine(), records, self.name, self.title, health)

    async def refresh(self) -> None:
        """Read the world again."""
        await self.gpus.now()
        await self._in_thread(self._prepare)
        self._watcher.poke(force=True)

    # -- watching -----------------------------------------------------------------------------

    def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield a snapshot now and after each change."""
        return self._watcher.watch()

    async def _signature(self) -> Signature:
        return await self._in_thread(self.store.signature)

    async def _snapshot(self) -> EngineSnapshot:
        await self.gpus.now()
        snapshot = await self._in_thread(self._overview.snapshot)
        living = {facts.id for facts in snapshot.clusters}
        for cluster in self._channels.keys() - living:
            await self._channels.pop(cluster).close()
        return snapshot

    def _unreadable(self, error: Exception) -> EngineSnapshot:
        """Show the clusters as they were seen last."""
        health = self._overview.set_health("failed", str(error)[:300])
        return EngineSnapshot(health, self._watcher.clusters)

    # -- changes ------------------------------------------------------------------------------

    async def create(self, spec: ClusterSpec, *, operation: str = "") -> str:
        """Create a cluster and its keeper; see :class:`Engine`."""
        creating.check(spec)
        await self.start()
        if spec.gpus_per_container:
            await self.gpus.now()
        made, cluster = await self._change(
            lambda records: creating.create(
                records,
                spec,
                operation=operation,
                machine=self.machine(),
                shared=self._shared,
                base=self._base,
                state_file=lambda name: self.store.path(name),
                now=self._clock(),
            )
        )
        if not made:
            return cluster
        try:
            channel = await self.keeper(cluster)
            await channel.publish((await self._record(cluster)).hosts)
        except Exception:
            # Nothing half made: what has no keeper can neither show a host file nor start a run.
            _log.warning("Cluster %s: its keeper does not start, so it is taken back", cluster)
            await self.release(cluster)
            raise
        return cluster

    async def configure(self, cluster_id: str, settings: Settings) -> None:
        """Store new settings."""
        await self._update(
            cluster_id, lambda old: changes.configured(old, settings, self.machine())
        )

    async def scale(
        self,
        cluster_id: str,
        target: int,
        *,
        expected: int,
        victims: tuple[str, ...],
        grace_seconds: float,
        by: str,
    ) -> None:
        """Make `target` the target and mark the victims in the same step."""
        await self._update(
            cluster_id,
            lambda old: changes.scaled(
                old,
                target,
                expected=expected,
                victims=victims,
                grace=grace_seconds,
                by=by,
                machine=self.machine(),
                now=self._clock(),
            ),
        )

    async def commit_hosts(self, cluster_id: str, hosts: HostList) -> None:
        """Agree on the next list by compare-and-swap."""
        await self._update(
            cluster_id,
            lambda old: changes.committed(old, hosts, self.machine()),
        )

    async def extend_drain(self, cluster_id: str, uid: str, until: float | None) -> None:
        """Give a leaver more time, or take it back as a member."""
        await self._update(
            cluster_id,
            lambda old: changes.extended(old, uid, until, self.machine(), self._clock()),
        )

    async def remove(self, cluster_id: str, uid: str, *, note: str = "") -> None:
        """Delete a leaver that is out of the agreed list."""
        record = await self._record(cluster_id)
        place = changes.check_removable(record, uid)
        if place is None:
            return
        if record.addressing == "places":
            folder = self.layout.cluster(cluster_id)
            await self._in_thread(_end_ranks, folder, address(place.number))
        await self._update(cluster_id, lambda old: changes.removed(old, uid, note))

    async def release(self, cluster_id: str) -> None:
        """Give everything back; may be repeated."""
        task = self._releases.get(cluster_id)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._release(cluster_id))
            self._releases[cluster_id] = task
            task.add_done_callback(lambda _: self._releases.pop(cluster_id, None))
        # Shielded: a caller that goes away does not leave half of it.
        await asyncio.shield(task)

    async def _release(self, cluster_id: str) -> None:
        def mark(records: Records) -> Record | None:
            record = records.get(cluster_id)
            if record is not None and not record.releasing:
                record = records[cluster_id] = changes.releasing(record)
            return record

        record = await self._change(mark)
        if record is None:
            return
        folder = self.layout.cluster(cluster_id)
        same_boot = record.boot == self._boot
        channel = self._channels.pop(cluster_id, None)
        if channel is not None:
            if same_boot:
                await releasing.ask_keeper(channel)
            await channel.close()
        await self._in_thread(
            functools.partial(releasing.clean, record, folder, same_boot=same_boot)
        )
        await self._change(lambda records: records.pop(cluster_id, None))

    # -- the keeper ---------------------------------------------------------------------------

    async def keeper(self, cluster_id: str) -> KeeperChannel:
        """Return the channel to this cluster's keeper."""
        record = await self._record(cluster_id)
        changes.check_alive(record, self.machine())
        await self._in_thread(self._starter.ensure, cluster_id, self._boot)
        channel = self._channels.get(cluster_id)
        if channel is None:
            channel = LocalChannel(
                self.layout.cluster(cluster_id),
                ensure=lambda: self._in_thread(self._starter.ensure, cluster_id, self._boot),
                server=lambda: self._server,
                clock=self._clock,
            )
            self._channels[cluster_id] = channel
            channel.open()
        return channel

    async def log(self, cluster_id: str, uid: str, max_bytes: int) -> str:
        """Return the end of a container's output."""
        record = await self._record(cluster_id)
        place = record.place(uid)
        if place is None:
            raise NotFound("No such container.", detail={"container": uid})
        return await log_of(await self.keeper(cluster_id), place.role, max_bytes)

    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        """Measure use now."""
        record = await self._record(cluster_id)
        reading = await self.gpus.now() if record.spec.gpus_per_container else self.gpus.last
        folder = self.layout.cluster(cluster_id)
        return await self._in_thread(self._meter.measure, record, folder, reading)

    # -- the store ----------------------------------------------------------------------------

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    async def _record(self, cluster_id: str) -> Record:
        loaded = await self._in_thread(self.store.load)
        return _found(loaded.records, cluster_id)

    async def _change(self, change: Callable[[Records], T]) -> T:
        """Change records under the lock, share out what became free, and let watchers look."""

        def step(records: Records) -> T:
            result = change(records)
            creating.settle(records, self.machine(), self._clock())
            return result

        try:
            return await self._in_thread(self.store.transact, step)
        finally:
            self._watcher.poke()

    async def _update(self, cluster_id: str, change: Callable[[Record], Record]) -> None:
        def step(records: Records) -> None:
            records[cluster_id] = change(_found(records, cluster_id))

        await self._change(step)


def _found(records: Records, cluster_id: str) -> Record:
    record = records.get(cluster_id)
    if record is None:
        raise NotFound(
            f"There is no cluster {cluster_id[:80]!r}.", detail={"cluster": cluster_id[:80]}
        )
    return record


def _end_ranks(folder: Path, host: str) -> None:
    if not end(ranks_of(folder, host), RANK_GRACE_SECONDS):
        raise Unreachable(f"A rank on {host} does not end; its place is kept until it has.")
