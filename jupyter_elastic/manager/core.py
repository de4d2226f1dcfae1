"""The one manager of a server: engines, clusters, revisions. Owns order; an engine owns retries."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timezone

from ..engines.base import ClusterFacts, Engine, EngineSnapshot
from ..engines.tasks import wait_or_timeout, within
from ..errors import ElasticError, NotFound
from ..frameworks import Framework, known_frameworks
from ..models import Cluster, EngineStatus, Health, Limit, Reason, Revision, State
from .cluster import ClusterLoop
from .config import ManagerConfig
from .history import History
from .publishing import Publisher
from .view import Seen, cluster_view

FIRST_RETRY = 0.2
LAST_RETRY = 10.0
STOP_SECONDS = 4.5
KEEP_ALIVE_SECONDS = 30.0
_log = logging.getLogger(__name__)


class Manager:
    """Knows every cluster of every engine of this server.

    Parameters
    ----------
    engines
        Engines by name, not started.
    emit
        Called with (cluster id, revision) when something changed; the id is empty for the engines'
        own health.
    alive
        Called now and then with the present instant while a run lives.
    now
        The clock, seconds since 1970.
    """

    def __init__(
        self,
        engines: Mapping[str, Engine],
        config: ManagerConfig,
        *,
        emit: Callable[[str, str], None] = lambda cluster, revision: None,
        alive: Callable[[datetime], None] = lambda instant: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.engines = dict(engines)
        self.loops: dict[str, ClusterLoop] = {}
        self.releasing: set[str] = set()
        self.now = now
        started = now()
        self._health = {name: Health("starting", started) for name in self.engines}
        self._snapshots: dict[str, EngineSnapshot] = {}
        self._first: dict[str, asyncio.Event] = {}
        self._history: dict[str, History] = {}
        self._problems: dict[str, Reason] = {}
        self._views: dict[str, Cluster] = {}
        self._revision = Revision(secrets.token_hex(4), 1)
        self._publisher = Publisher(
            lambda cluster: emit(cluster, str(self._revision)), config.events_per_second
        )
        self._alive = alive
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def start(self) -> None:
        """Start the engines and watch them; returns at once."""
        for name, engine in self.engines.items():
            self._first[name] = asyncio.Event()
            self.spawn(self._watch(name, engine), f"elastic watch {name}")
        if self.config.keep_alive_while_training:
            self.spawn(self._keep_alive(), "elastic keep-alive")

    async def stop(self) -> None:
        """Cancel everything within 5 s. Deletes nothing, never raises."""
        self._stopped = True
        self._publisher.stop()
        try:
            await within(self._stop_all(), STOP_SECONDS)
        except Exception:
            _log.warning("The elastic manager did not stop in time", exc_info=True)

    async def _stop_all(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(loop.stop() for loop in self.loops.values()), return_exceptions=True)
        await asyncio.gather(
            *(engine.stop() for engine in self.engines.values()), return_exceptions=True
        )

    def spawn(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        """Run `work` until it ends or the manager stops."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("%s ended by a bug", task.get_name(), exc_info=task.exception())

    # What is known -------------------------------------------------------------------------------

    @property
    def revision(self) -> Revision:
        """The revision of :meth:`state`."""
        return self._revision

    def state(self) -> State:
        """Everything everybody sees."""
        engines = tuple(
            EngineStatus(name, engine.title, self._health[name])
            for name, engine in self.engines.items()
        )
        clusters = sorted(self._views.values(), key=lambda item: (item.created, item.id))
        return State(self._revision, self.config.version, engines, tuple(clusters))

    async def first_look(self, seconds: float = 2.0) -> None:
        """Wait until every engine was read once, at most `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        for event in self._first.values():
            left = deadline - asyncio.get_running_loop().time()
            await wait_or_timeout(event, max(0.0, left))

    @property
    def looked(self) -> bool:
        """Whether every engine was read at least once."""
        return all(event.is_set() for event in self._first.values())

    def health(self, engine: str) -> Health:
        """How well an engine sees its world."""
        return self._health[engine]

    def cluster(self, cluster_id: str) -> Cluster:
        """Return one cluster.

        Raises
        ------
        NotFound
            With the known ids in ``detail``.
        """
        self.loop(cluster_id)
        return self._views[cluster_id]

    def loop(self, cluster_id: str) -> ClusterLoop:
        """Return the loop of one cluster, or raise NotFound."""
        found = self.loops.get(cluster_id)
        if found is None:
            raise NotFound(
                f"There is no cluster {cluster_id[:80]!r}.",
                hint="It may have been released. See the list of clusters.",
                detail={"clusters": {key: view.name for key, view in self._views.items()}},
            )
        return found

    def framework(self, facts: ClusterFacts) -> Framework:
        """Return the framework a cluster uses now; it may have been switched."""
        known = known_frameworks()
        return (
            known.get(facts.settings.framework)
            or known.get(facts.spec.framework)
            or known["horovod"]
        )

    def seen(self, cluster_id: str) -> Seen:
        """Everything known about one cluster, for the view and for plans."""
        loop = self.loop(cluster_id)
        maximum = self.config.max_size
        return Seen(
            facts=loop.facts,
            keeper=loop.keeper,
            framework=self.framework(loop.facts),
            offers=loop.offers,
            trouble=self._problems.get(cluster_id) or loop.trouble,
            trouble_since=loop.trouble_since,
            releasing=cluster_id in self.releasing,
            history=self._history[cluster_id].lines,
            max_size=None
            if maximum is None
            else Limit(
                maximum, f"The administrator allows {maximum} (ElasticExtensionApp.max_size)."
            ),
        )

    def note(self, cluster_id: str, line: str) -> None:
        """Add a line to the history of a cluster, newest first."""
        if cluster_id in self._history:
            self._history[cluster_id].add(line)
            self.changed(cluster_id)

    def problem(self, cluster_id: str, reason: Reason | None) -> None:
        """Show, or take back, why the last wish could not be met."""
        if self._problems.get(cluster_id) == reason:
            return
        if reason is None:
            self._problems.pop(cluster_id, None)
        else:
            self._problems[cluster_id] = reason
        self.changed(cluster_id)

    def changed(self, cluster_id: str) -> None:
        """Look at one cluster again; a new revision only when its wire form differs."""
        if self._stopped or cluster_id not in self.loops:
            return
        view = cluster_view(self.seen(cluster_id))
        if self._views.get(cluster_id) != view:
            self._views[cluster_id] = view
            self._next_revision(cluster_id)
            self._count_as_activity(view)

    def _next_revision(self, cluster_id: str) -> None:
        self._revision = Revision(self._revision.epoch, self._revision.n + 1)
        self._publisher.changed(cluster_id)

    # What is watched -----------------------------------------------------------------------------

    async def _watch(self, name: str, engine: Engine) -> None:
        delay = FIRST_RETRY
        while True:
            try:
                await engine.start()
                async for snapshot in engine.watch():
                    delay = FIRST_RETRY
                    await self._take(name, engine, snapshot)
                    self._first[name].set()
            except Exception as error:
                if str(error) != self._health[name].text:  # once, and not at each try
                    known = isinstance(error, ElasticError)
                    _log.warning("Engine %s cannot be watched: %s", name, error, exc_info=not known)
                self._set_health(name, Health("failed", self.now(), str(error)))
                self._first[name].set()
            await asyncio.sleep(delay)
            delay = min(LAST_RETRY, delay * 2)

    def _set_health(self, name: str, health: Health) -> None:
        if self._health[name] != health:
            self._health[name] = health
            self._next_revision("")

    async def _take(self, name: str, engine: Engine, snapshot: EngineSnapshot) -> None:
        self._snapshots[name] = snapshot
        self._set_health(name, snapshot.health)
        for facts in snapshot.clusters:
            self._take_cluster(engine, facts)
        there = {facts.id for facts in snapshot.clusters}
        for cluster_id, loop in list(self.loops.items()):
            if loop.engine is engine and cluster_id not in there:
                await self._forget(cluster_id)

    def _take_cluster(self, engine: Engine, facts: ClusterFacts) -> None:
        loop = self.loops.get(facts.id)
        if loop is None:
            loop = ClusterLoop(engine, facts, self.config, self.changed, self.now)
            self.loops[facts.id] = loop
            self._history[facts.id] = History(facts.history)
            loop.start()
        else:
            loop.update(facts)
            self._history[facts.id].follow(facts.history)
        self.changed(facts.id)
        if facts.releasing and facts.id not in self.releasing:
            # A release that an earlier server began is finished by whoever finds it.
            self.finish_release(facts.id)

    async def _forget(self, cluster_id: str) -> None:
        loop = self.loops.pop(cluster_id)
        self._views.pop(cluster_id, None)
        self._history.pop(cluster_id, None)
        self._problems.pop(cluster_id, None)
        self.releasing.discard(cluster_id)
        self._next_revision(cluster_id)
        self._publisher.forget(cluster_id)
        await loop.stop()

    def finish_release(self, cluster_id: str) -> None:
        """Give a cluster back in the background, trying again until it is gone."""
        if cluster_id in self.releasing:
            return
        self.releasing.add(cluster_id)
        self.changed(cluster_id)
        self.spawn(self._release(cluster_id), f"elastic release {cluster_id}")

    async def _release(self, cluster_id: str) -> None:
        delay = FIRST_RETRY
        while cluster_id in self.loops:
            try:
                await self.loops[cluster_id].engine.release(cluster_id)
            except NotFound:
                return
            except Exception as error:
                _log.warning("Cluster %s cannot be released yet: %s", cluster_id, error)
                self.problem(
                    cluster_id, Reason("release_failed", f"Release is tried again: {error}")
                )
            else:
                return
            await asyncio.sleep(delay)
            delay = min(LAST_RETRY, delay * 2)

    async def _keep_alive(self) -> None:
        while True:
            for view in self._views.values():
                self._count_as_activity(view)
            await asyncio.sleep(KEEP_ALIVE_SECONDS)

    def _count_as_activity(self, view: Cluster) -> None:
        if self.config.keep_alive_while_training and any(run.live for run in view.runs):
            self._alive(datetime.now(timezone.utc))
