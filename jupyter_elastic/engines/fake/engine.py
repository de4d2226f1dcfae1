"""The fake engine: moves a scripted world through time and shows it as a real engine would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import Conflict, ElasticError, LimitReached, NotFound, Unreachable
from ...models import (
    ClusterSpec,
    EngineOptions,
    GpuKind,
    Health,
    HostList,
    Limit,
    Sample,
    Settings,
)
from ...naming import ALPHABET, NONCE_LENGTH, check_name, cluster_id
from ..base import Engine, EngineSnapshot, KeeperChannel
from ..checks import check_size, check_whole
from ..local.layout import Layout
from ..output import log_of
from ..tasks import wait_or_timeout
from .clusters import FakeCluster
from .keeper import FakeKeeper
from .pods import Pod, next_change, stepped
from .scenario import Scenario, read_scenario

STEP_SECONDS = 0.05  # the longest pause between two looks at the clock while somebody watches


class FakeEngine(Engine):
    """A cluster that exists in memory only; its host files are real.

    Parameters
    ----------
    scenario
        See :class:`Scenario`; plain values are read with ``read_scenario``.
    base_folder
        Parent of the clusters' host folders; None: the runtime folder.
    clock
        Seconds since 1970; a test hands in its own.
    """

    name = "fake"

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | None = None,
        *,
        base_folder: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.scenario = (
            scenario if isinstance(scenario, Scenario) else read_scenario(scenario or {})
        )
        self.title = self.scenario.title
        self._base = Path(base_folder) if base_folder else Layout.of_this_user().runtime
        self._clock = clock
        self._clusters: dict[str, FakeCluster] = {}
        self._made = 0
        self._changed = asyncio.Event()
        self._health = Health(self.scenario.health, clock(), self.scenario.health_text)
        self._unreachable_until = 0.0

    async def start(self) -> None:
        """Nothing to connect to."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    async def refresh(self) -> None:
        """Read the world again."""
        await self._call()
        self._changed.set()

    # -- time ---------------------------------------------------------------------------------

    async def advance(self) -> None:
        """Move the world to the clock's instant."""
        now = self._clock()
        for cluster in list(self._clusters.values()):
            while cluster.due and now >= cluster.created + cluster.due[0].at:
                event = cluster.due.pop(0)
                if event.kind == "unreachable":
                    self._unreachable_until = now + event.seconds
                cluster.happen(event, now)
            await self._begin_run(cluster, now)
            if not cluster.releasing:
                cluster.top_up(now)
                self._step(cluster, now)
            await cluster.keeper.advance(now)
            if cluster.keeper.due(now):
                await self._give_back(cluster)
        self._look_at_health(now)

    def _step(self, cluster: FakeCluster, now: float) -> None:
        for pod in list(cluster.pods):
            others = [other for other in self._pods() if other.uid != pod.uid]
            cluster.put(stepped(pod, cluster.need, others, self.scenario, now))

    def _pods(self) -> list[Pod]:
        return [pod for cluster in self._clusters.values() for pod in cluster.pods]

    async def _begin_run(self, cluster: FakeCluster, now: float) -> None:
        at = self.scenario.run.start_at
        if at is None or now < cluster.created + at or not cluster.hosts.hosts:
            return
        await cluster.keeper.play_once(cluster.hosts)

    def _look_at_health(self, now: float) -> None:
        if now < self._unreachable_until:
            wanted = Health("stale", now, "The cluster does not answer.")
        else:
            wanted = Health(self.scenario.health, now, self.scenario.health_text)
        if (wanted.state, wanted.text) != (self._health.state, self._health.text):
            self._health = wanted

    async def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield a snapshot now and after each change."""
        seen: EngineSnapshot | None = None
        while True:
            await self.advance()
            snapshot = self._snapshot(seen)
            if snapshot != seen:
                seen = snapshot
                yield snapshot
            self._changed.clear()
            await wait_or_timeout(self._changed, self._pause())

    def _pause(self) -> float:
        now = self._clock()
        ends = [next_change(pod, self.scenario, now) for pod in self._pods()]
        return min([STEP_SECONDS, *(max(0.001, end - now) for end in ends if end is not None)])

    def _snapshot(self, before: EngineSnapshot | None) -> EngineSnapshot:
        if self._health.state == "stale" and before is not None:
            return EngineSnapshot(self._health, before.clusters)  # the last known state
        clusters = tuple(
            cluster.facts(self._limit(cluster.spec)) for cluster in self._clusters.values()
        )
        return EngineSnapshot(self._health, clusters)

    # -- what there is ------------------------------------------------------------------------

    async def options(self) -> EngineOptions:
        """What the create form may offer now."""
        await self._call(reachable=False)
        scenario = self.scenario
        used = {(pod.node, gpu.index) for pod in self._pods() for gpu in pod.gpus}
        kinds: dict[str, tuple[int, int]] = {}
        for node in scenario.nodes:
            free = sum((node.name, index) not in used for index in range(node.gpus))
            total, before = kinds.get(node.gpu_kind, (0, 0))
            kinds[node.gpu_kind] = (total + node.gpus, before + (0 if node.taint else free))
        gpus = f"{scenario.gpu_total} GPUs" if scenario.gpu_total else "no GPU"
        return EngineOptions(
            name=self.name,
            title=self.title,
            summary=f"a scripted cluster, {len(scenario.nodes) or 1} nodes, {gpus}",
            health=self._health,
            max_size=scenario.max_size,
            capacity=Limit(scenario.max_size, "The scenario sets max_size."),
            launcher_modes=("here",),
            gpu_kinds=tuple(GpuKind(name, *counts) for name, counts in kinds.items() if counts[0]),
            images=scenario.images,
            storage=scenario.storage,
            shared_memory=scenario.shared_memory,
            pod_fields=scenario.pod_fields,
        )

    def _limit(self, spec: ClusterSpec) -> Limit:
        return Limit(self.scenario.max_size, "The scenario sets max_size.")

    async def _call(self, *, reachable: bool = True) -> float:
        """Take the time a call takes; fail while the cluster does not answer."""
        if self.scenario.call_seconds:
            await asyncio.sleep(self.scenario.call_seconds)
        await self.advance()
        if reachable and self._health.state != "live":
            raise Unreachable(self._health.text or f"The cluster is {self._health.state}.")
        return self._clock()

    async def _cluster(self, cluster: str) -> FakeCluster:
        await self._call()
        found = self._clusters.get(cluster)
        if found is None:
            raise NotFound(
                f"There is no cluster {cluster[:80]!r}.", detail={"cluster": cluster[:80]}
            )
        return found

    # -- changes ------------------------------------------------------------------------------

    async def create(self, spec: ClusterSpec, *, operation: str = "") -> str:
        """Create a cluster and its keeper; see :class:`Engine`."""
        now = await self._call()
        check_name(spec.name)
        for cluster in self._clusters.values():
            if cluster.spec.owner != spec.owner:
                continue
            if operation and cluster.operation == operation:
                return cluster.id
            if cluster.spec.name == spec.name:
                raise Conflict(
                    f"There is a cluster named {spec.name!r} already.",
                    detail={"field": "name", "cluster": cluster.id},
                    code="name_taken",
                )
        self._check(spec)
        made = self._make(spec, operation, now)
        self._clusters[made.id] = made
        made.top_up(now)
        self._step(made, now)
        launcher = made.pods[0]
        if launcher.created is None or launcher.node is None:
            del self._clusters[made.id]
            text = launcher.reason.text if launcher.reason else ""
            raise LimitReached(f"Not even the launcher can be placed: {text}", hint="Ask for less.")
        lines = made.lines()
        made.hosts = HostList(1, tuple(lines[p.uid] for p in made.pods if p.state == "ready"))
        if launcher.uid not in {entry.uid for entry in made.hosts.hosts}:
            made.hosts = HostList(1, (lines[launcher.uid], *made.hosts.hosts))
        await made.keeper.publish(made.hosts)
        self._changed.set()
        return made.id

    def _check(self, spec: ClusterSpec) -> None:
        scenario = self.scenario
        if scenario.create_error:
            raise ElasticError(scenario.create_error, code="scripted")
        check_size(spec.size, self._limit(spec))
        check_whole(spec.gpus_per_container, "gpus_per_container", 0)
        kinds = {node.gpu_kind for node in scenario.nodes if node.gpus}
        if spec.gpus_per_container and (not kinds or spec.gpu_kind not in (None, *kinds)):
            raise LimitReached(
                "There is no GPU of this kind.",
                detail={"field": "gpu_kind", "kinds": sorted(kinds)},
            )

    def _make(self, spec: ClusterSpec, operation: str, now: float) -> FakeCluster:
        self._made += 1
        name = cluster_id(spec.name, _nonce(self._made))
        folder = self._base / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FakeCluster(
            id=name,
            spec=spec,
            settings=spec.settings,
            created=now,
            target=spec.size,
            folder=str(folder),
            keeper=FakeKeeper(name, folder, self.scenario, self._clock),
            operation=operation,
            history=[f"created with {spec.size}"],
            due=sorted(self.scenario.events, key=lambda event: event.at),
        )

    async def configure(self, cluster_id: str, settings: Settings) -> None:
        """Store new settings."""
        cluster = await self._cluster(cluster_id)
        cluster.check_alive()
        cluster.settings = settings
        self._changed.set()

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
        cluster = await self._cluster(cluster_id)
        limit = self._limit(cluster.spec)
        cluster.scale(target, expected, victims, grace_seconds, by, limit, self._clock())
        await self._moved()

    async def commit_hosts(self, cluster_id: str, hosts: HostList) -> None:
        """Agree on the next list by compare-and-swap."""
        (await self._cluster(cluster_id)).commit(hosts)
        await self._moved()

    async def extend_drain(self, cluster_id: str, uid: str, until: float | None) -> None:
        """Give a leaver more time, or take it back as a member."""
        (await self._cluster(cluster_id)).extend(uid, until, self._clock())
        await self._moved()

    async def remove(self, cluster_id: str, uid: str, *, note: str = "") -> None:
        """Delete a leaver that is out of the agreed list."""
        (await self._cluster(cluster_id)).remove(uid, note)
        await self._moved()

    async def _moved(self) -> None:
        await self.advance()
        self._changed.set()

    async def release(self, cluster_id: str) -> None:
        """Give everything back; may be repeated."""
        await self._call()
        cluster = self._clusters.get(cluster_id)
        if cluster is not None:
            await self._give_back(cluster)

    async def _give_back(self, cluster: FakeCluster) -> None:
        cluster.releasing = True
        cluster.keeper.end()
        self._clusters.pop(cluster.id, None)
        self._changed.set()

    # -- looking ------------------------------------------------------------------------------

    async def keeper(self, cluster_id: str) -> KeeperChannel:
        """Return the channel to this cluster's keeper."""
        return (await self._cluster(cluster_id)).keeper

    async def log(self, cluster_id: str, uid: str, max_bytes: int) -> str:
        """Return the end of a container's output."""
        cluster = await self._cluster(cluster_id)
        pod = cluster.pod(uid)
        if pod is None:
            raise NotFound("No such container.", detail={"container": uid})
        if pod.failure:
            return f"{pod.failure}\n"[-max_bytes:]
        return await log_of(cluster.keeper, pod.role, max_bytes)

    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        """Measure use now."""
        cluster = await self._cluster(cluster_id)
        busy = set(cluster.keeper.busy_hosts)
        return tuple(self._sample(pod, pod.host in busy) for pod in cluster.pods)

    @staticmethod
    def _sample(pod: Pod, busy: bool) -> Sample:
        # A figure that differs from container to container and never from call to call: pictures
        # stay the same.
        percent = float(85 + pod.number % 12) if busy else 0.0
        share = 0.8 if busy else 0.02
        return Sample(
            container=pod.name,
            cpu_percent=percent,
            memory_bytes=2 * 1024**3 if busy else 64 * 1024**2,
            gpu_percent=tuple(percent for _ in pod.gpus),
            gpu_memory_bytes=tuple(int((gpu.memory_bytes or 0) * share) for gpu in pod.gpus),
        )


def _nonce(number: int) -> str:
    """Return the nonce of the n-th creation: the same in each run of a script."""
    letters = []
    for _ in range(NONCE_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(reversed(letters))
