"""The Kubernetes engine: containers are pods of one namespace, and the API server is the truth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...errors import NotFound, Unreachable
from ...keeper.kube.access import Access
from ...keeper.kube.calls import Api
from ...models import (
    ClusterSpec,
    Container,
    EngineOptions,
    Health,
    HostList,
    Sample,
    Settings,
)
from ..base import ClusterFacts, Engine, EngineSnapshot, KeeperChannel
from ..local.layout import Layout
from .changes import Changes
from .config import KubernetesConfig
from .creating import Creator
from .creating_here import HereCreator
from .failures import translated
from .here import Here
from .launchers import Launchers
from .options import Choices
from .overview import Overview
from .ownpod import OwnPod
from .releasing import Releaser
from .site import GIVEN_BACK, Site
from .watching import Watcher
from .world import World

T = TypeVar("T")
THREADS = 8
STUCK_LOOK_SECONDS = 2.0
_log = logging.getLogger(__name__)


class KubernetesEngine(Engine):
    """Pods of one namespace.

    Parameters
    ----------
    config
        What the administrator decided.
    connect
        Returns the access; reads files and imports, so it is called in a thread. Raises an
        ElasticError that says why there is none.
    folder
        Private folder of this machine for the sockets of terminals.
    programs
        Launcher programs for which a keeper holds a starter.
    """

    name = "kubernetes"
    title = "Kubernetes"

    def __init__(
        self,
        config: KubernetesConfig,
        *,
        connect: Callable[[], Access],
        folder: Path,
        programs: tuple[str, ...] = ("horovodrun",),
    ) -> None:
        self._config = config
        self.idle_seconds = config.idle_seconds
        self._connect = connect
        self._folder = folder
        self._programs = programs
        self._server: Mapping[str, Any] | None = None
        self._threads = ThreadPoolExecutor(THREADS, "elastic-kubernetes")
        self._api: Api | None = None
        self._access: Access | None = None
        self._world: World | None = None
        self._changes: Changes | None = None
        self._launchers: Launchers | None = None
        self._here: Here | None = None
        self._overview = Overview(config)
        self._watcher = Watcher(self._snapshot)
        self._connecting = asyncio.Lock()
        self._releases: dict[str, asyncio.Task[None]] = {}
        self._finishing: dict[str, asyncio.Task[None]] = {}

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to connect; returns at once."""
        self._watcher.poke()

    async def _connected(self) -> Api:
        """Return the calls, after connecting where that has not been done.

        Raises
        ------
        ElasticError
            There is no way to the cluster; it says what is missing.
        """
        async with self._connecting:
            if self._api is None:
                access = await self._in_thread(self._connect)
                loop = asyncio.get_running_loop()
                api = Api(access)

                def changed() -> None:
                    # The loop may be closed by the time a thread notices that it is to end.
                    if not loop.is_closed():
                        loop.call_soon_threadsafe(self._watcher.poke)

                self._world = World(api, changed)
                self._changes = Changes(api, api.server_now)
                here = Here(OwnPod(api, self._config), Layout.of_this_user(), self._programs)
                self._launchers = Launchers(
                    access,
                    self._folder,
                    self._overview.launcher,
                    lambda: self._server,
                    here,
                    self._overview.is_here,
                    self._watcher.poke,
                )
                self._here = here
                self._access, self._api = access, api
                self._world.start()
        return self._api

    async def stop(self) -> None:
        """Let go of everything in this process; deletes nothing."""
        tasks = [*self._releases.values(), *self._finishing.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._watcher.stop()
        if self._launchers is not None:
            await self._launchers.close()
        if self._world is not None:
            await self._in_thread(self._world.stop)
        if self._api is not None:
            self._api.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def introduce(self, server: Mapping[str, Any]) -> None:
        """Tell every keeper who this server is."""
        self._server = dict(server)
        if self._launchers is not None:
            await self._launchers.introduce()

    async def refresh(self) -> None:
        """Try again now, also to connect."""
        if self._world is not None:
            self._world.poke()
        self._watcher.poke()

    async def options(self) -> EngineOptions:
        """What the create form may offer now."""
        api = await self._connected()
        choices = Choices(api, self._config, await self._in_thread(self._site))
        return await self._call(lambda: choices.options(self.name, self.title, self._health()))

    # -- watching -----------------------------------------------------------------------------

    def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield a snapshot now and after each change."""
        return self._watcher.watch()

    def _health(self) -> Health:
        world = self._world
        if world is None:
            return Health("starting", 0.0)
        return world.health()

    async def _snapshot(self) -> EngineSnapshot | None:
        """Return what is seen now; None while the first reading is not complete."""
        try:
            api = await self._connected()
        except Exception as error:
            return self._overview.not_connected(error)
        world = self._world
        if world is None or not (
            world.complete or self._health().state not in ("starting", "live")
        ):
            return None
        offset = api.server_time_offset
        snapshot = await self._in_thread(
            lambda: self._overview.snapshot(world.objects(), world.health(), offset, self._site())
        )
        await self._tidy(snapshot)
        if self._launchers is not None:
            await self._launchers.keep({facts.id for facts in snapshot.clusters})
        for cluster in self._overview.stuck(api.server_now()):
            self._finish_later(cluster)
        return snapshot

    def _site(self) -> Site:
        """Return what is known of the pod of this server."""
        return Site() if self._here is None else self._here.site()

    async def _tidy(self, snapshot: EngineSnapshot) -> None:
        """Give back what a keeper here, or another server, has given back by halves."""
        here = self._here
        if here is None or snapshot.health.state != "live":
            return
        try:
            await self._in_thread(lambda: here.forget(facts.id for facts in snapshot.clusters))
        except Exception as error:
            _log.warning("Files of a cluster that is gone cannot be removed: %s", error)
        for facts in snapshot.clusters:
            if facts.ended == GIVEN_BACK and facts.spec.launcher_mode == "here":
                if await self._in_thread(partial(here.keeper_runs, facts.id)):
                    # It is on its way out, or its state file was lost: nobody gave anything back.
                    loop = asyncio.get_running_loop()
                    loop.call_later(STUCK_LOOK_SECONDS, self._watcher.poke)
                else:
                    self._release_later(facts.id)

    def _release_later(self, cluster: str) -> None:
        """Release the objects of a cluster that its keeper gave back."""
        if cluster in self._releases:
            return
        task = asyncio.get_running_loop().create_task(self._release(cluster))
        self._releases[cluster] = task

        def done(task: asyncio.Task[None]) -> None:
            """Say what went wrong; the next look tries again."""
            self._releases.pop(cluster, None)
            if not task.cancelled() and task.exception() is not None:
                _log.warning("Cluster %s is not given back yet: %s", cluster, task.exception())

        task.add_done_callback(done)

    def _finish_later(self, cluster: str) -> None:
        """Finish a change of size that a server began and left."""
        if cluster in self._finishing:
            return
        task = asyncio.get_running_loop().create_task(self._finish(cluster))
        self._finishing[cluster] = task
        task.add_done_callback(lambda _: self._finishing.pop(cluster, None))

    async def _finish(self, cluster: str) -> None:
        await asyncio.sleep(STUCK_LOOK_SECONDS)
        try:
            await self._change(lambda changes: changes.finish(cluster))
        except Exception as error:
            _log.warning(
                "Cluster %s: a change that was left cannot be finished: %s", cluster, error
            )
        self._watcher.poke()

    # -- changes ------------------------------------------------------------------------------

    async def create(self, spec: ClusterSpec, *, operation: str = "") -> str:
        """Create a cluster; see :class:`Engine`."""
        creator = self._creator(spec, await self._connected())
        return await self._call(lambda: creator.create(spec, operation))

    def _creator(self, spec: ClusterSpec, api: Api) -> Creator:
        """Return who makes clusters of this launcher mode."""
        if spec.launcher_mode == "here" and self._here is not None:
            return HereCreator(api, self._config, self._here)
        return Creator(api, self._config, self._programs)

    async def configure(self, cluster_id: str, settings: Settings) -> None:
        """Store new settings."""
        await self._change(lambda changes: changes.configure(cluster_id, settings))

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
        """Make `target` the target and mark the victims."""
        await self._change(
            lambda changes: changes.scale(
                cluster_id, target, expected=expected, victims=victims, grace=grace_seconds, by=by
            )
        )

    async def commit_hosts(self, cluster_id: str, hosts: HostList) -> None:
        """Agree on the next list by compare-and-swap."""
        await self._change(lambda changes: changes.commit_hosts(cluster_id, hosts))

    async def extend_drain(self, cluster_id: str, uid: str, until: float | None) -> None:
        """Give a leaver more time, or take it back as a member."""
        await self._change(lambda changes: changes.extend_drain(cluster_id, uid, until))

    async def remove(self, cluster_id: str, uid: str, *, note: str = "") -> None:
        """Delete a leaver that is out of the agreed list."""
        await self._change(lambda changes: changes.remove(cluster_id, uid, note))

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
        releaser = Releaser(await self._connected())
        try:
            await self._change(lambda changes: changes.mark_releasing(cluster_id))
        except NotFound:
            # Its anchor is gone; what is left of it by label goes too.
            _log.info("Cluster %s has no anchor any more", cluster_id)
        here = self._here
        if here is not None:
            await self._in_thread(lambda: here.begin_release(cluster_id))
        if self._launchers is not None:
            await self._launchers.end(cluster_id)
        if here is not None:
            await self._in_thread(lambda: here.clean(cluster_id))
        await self._call(lambda: releaser.release(cluster_id))
        self._watcher.poke()

    # -- the keeper and containers ------------------------------------------------------------

    async def keeper(self, cluster_id: str) -> KeeperChannel:
        """Return the channel to the keeper in the launcher pod; the Job sees that it lives."""
        await self._connected()
        self._facts(cluster_id)
        if self._launchers is None:  # pragma: no cover - connected just now
            raise Unreachable("Kubernetes is not connected yet.")
        return self._launchers.channel(cluster_id)

    async def log(self, cluster_id: str, uid: str, max_bytes: int) -> str:
        """Return the end of a container's output."""
        container = self._container(cluster_id, uid)
        api = await self._connected()
        data = await self._call(lambda: api.log(container.name, tail_bytes=max_bytes))
        return data.decode("utf-8", "replace")

    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        """Measure nothing: use of a pod is not available without rights on metrics."""
        return tuple(Sample(one.name) for one in self._facts(cluster_id).containers)

    def _facts(self, cluster_id: str) -> ClusterFacts:
        for facts in self._watcher.clusters:
            if facts.id == cluster_id:
                return facts
        raise NotFound(
            f"There is no cluster {cluster_id[:80]!r}.", detail={"cluster": cluster_id[:80]}
        )

    def _container(self, cluster_id: str, uid: str) -> Container:
        for container in self._facts(cluster_id).containers:
            if container.uid == uid and container.state != "not created":
                return container
        raise NotFound("No such container.", detail={"container": uid})

    # -- calls --------------------------------------------------------------------------------

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _call(self, work: Callable[[], T]) -> T:
        """Do blocking work with the API server; its refusals come in words."""
        api = await self._connected()
        return await self._in_thread(lambda: translated(work, api.namespace))

    async def _change(self, work: Callable[[Changes], T]) -> T:
        await self._connected()
        changes = self._changes
        if changes is None:  # pragma: no cover - connected just now
            raise Unreachable("Kubernetes is not connected yet.")
        return await self._call(lambda: work(changes))
