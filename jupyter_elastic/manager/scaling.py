"""Changes of size, and answers to drain offers."""

from __future__ import annotations

from ..errors import BadInput, Conflict, ElasticError
from ..models import Container, Plan, Reason
from ..planning.limits import check_run, run_bounds
from ..planning.plan import Situation, make_plan
from ..planning.victims import by_name
from ..telemetry import audit
from .changes import TargetChanges, TargetRequest
from .core import Manager

RUNS_SECONDS = 3.0  # for the first word of a keeper
SETTLE_SECONDS = 1.0
ANSWER_SECONDS = 0.03


class Scaling:
    """Sets targets: one change in flight per cluster, one waiting, the newest one wins."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._changes: dict[str, TargetChanges] = {}
        #: A target that we set and that no snapshot has shown yet: the next change starts from it.
        self._assumed: dict[str, int] = {}

    async def stop(self) -> None:
        """Forget what waits."""
        for changes in self._changes.values():
            await changes.stop()

    def plan(
        self, cluster_id: str, size: object, victims: tuple[str, ...] = (), *, replace: bool = False
    ) -> Plan:
        """Compute what a change would do."""
        return make_plan(self._situation(cluster_id), size, victims, replace=replace)

    async def set_target(self, cluster_id: str, request: TargetRequest, revision: str = "") -> Plan:
        """Make `request.size` the target and return the plan.

        Parameters
        ----------
        revision
            The revision the person saw; any other one is refused. Empty: no check.

        Raises
        ------
        Conflict
            A live run is in the way, or somebody else changed the target meanwhile.
        """
        self._not_over(cluster_id)
        # A server that has just started could take a live run for none, and end it.
        await self._manager.loop(cluster_id).runs_known(RUNS_SECONDS)
        if revision and revision != str(self._manager.revision):
            raise Conflict(
                "The cluster changed meanwhile.",
                hint="Look at the new state and try again.",
                detail={"revision": str(self._manager.revision)},
                code="changed_meanwhile",
            )
        plan = self.plan(cluster_id, request.size, request.victims, replace=request.replace)
        self._check_run(cluster_id, plan, request)
        made = await self._queue(cluster_id).submit(request)
        loop = self._manager.loops.get(cluster_id)
        if made and loop is not None:
            # Let the answer be followed by a state that shows it, where the engine is quick.
            await loop.wait_until(lambda: loop.facts.target == request.size, ANSWER_SECONDS)
        return plan

    async def undo(self, cluster_id: str, by: str) -> Plan:
        """Set the target back to what it was before the last change."""
        last = self._manager.cluster(cluster_id).last_change
        if last is None or not last.undo:
            raise Conflict(
                "There is no change that can be undone now.",
                hint="Set the size you want instead.",
                code="nothing_to_undo",
            )
        return await self.set_target(cluster_id, TargetRequest(last.previous, by=by))

    async def remove(
        self, cluster_id: str, name: str, *, replace: bool, force: bool, by: str
    ) -> Plan:
        """Remove one container: the target sinks by one, or a new one takes its place."""
        loop = self._manager.loop(cluster_id)
        by_name(loop.facts.containers, [name])
        size = loop.facts.target if replace else loop.facts.target - 1
        request = TargetRequest(size, (name,), force=force, replace=replace, by=by)
        return await self.set_target(cluster_id, request)

    async def answer_drain(self, cluster_id: str, name: str, choice: str, by: str) -> None:
        """Answer a drain offer: wait, delete or keep."""
        loop = self._manager.loop(cluster_id)
        container = next((item for item in loop.facts.containers if item.name == name), None)
        if container is None or container.state != "draining":
            raise Conflict(
                f"{name[:80]} is not leaving any more.",
                hint="Look at the new state.",
                code="no_offer",
            )
        engine = loop.engine
        if choice == "wait":
            grace = self._grace(cluster_id)
            await engine.extend_drain(cluster_id, container.uid, self._manager.now() + grace)
            words = f"{name} may take {round(grace)} s more to leave"
        elif choice == "keep":
            await engine.extend_drain(cluster_id, container.uid, None)
            words = f"{name} stays"
        elif choice == "delete":
            self._left_the_file(cluster_id, container)
            await engine.remove(cluster_id, container.uid, note=f"deleted by {by}")
            words = f"{name} was deleted before its rank ended"
        else:
            raise BadInput(
                f"{choice[:40]!r} is no answer to a drain offer.",
                hint="Answer wait, delete or keep.",
                detail={"field": "choice"},
            )
        self._manager.note(cluster_id, f"{words} ({by}).")
        audit("drain-" + choice, cluster_id, by, container=name)
        loop.poke()

    # Inside --------------------------------------------------------------------------------------

    def _left_the_file(self, cluster_id: str, container: Container) -> None:
        loop = self._manager.loop(cluster_id)
        listed = any(entry.uid == container.uid for entry in loop.facts.host_list.hosts)
        stale = loop.keeper is None or loop.keeper.generation < loop.facts.host_list.generation
        if listed or stale:
            raise Conflict(
                f"{container.name} is still in the host file.",
                hint="Try again in a second: it leaves the file first.",
                code="still_listed",
            )

    def _situation(self, cluster_id: str) -> Situation:
        seen = self._manager.seen(cluster_id)
        view = self._manager.cluster(cluster_id)
        return Situation(
            cluster=cluster_id,
            containers=view.containers,
            target=seen.facts.target,
            limit=view.limit,
            slots=view.slots,
            gpus_per_container=view.gpus_per_container,
            growth=view.growth,
            shrink=view.shrink,
            runs=view.runs,
            valid_sizes=view.valid_sizes,
        )

    def _check_run(self, cluster_id: str, plan: Plan, request: TargetRequest) -> None:
        view = self._manager.cluster(cluster_id)
        if plan.remove and not request.replace:
            check_run(plan.target, run_bounds(view.runs, view.slots), force=request.force)
        if plan.confirm and not request.force:
            raise Conflict(
                f"This ends the live run: {', '.join(plan.remove)} is in use.",
                hint="Stop the run first, or force it.",
                detail={"containers": list(plan.remove)},
                code="ends_run",
            )

    def _not_over(self, cluster_id: str) -> None:
        view = self._manager.cluster(cluster_id)
        if view.state in ("ended", "releasing"):
            raise Conflict(
                f"{view.name} is {view.state}.",
                hint="Create a new cluster.",
                detail={"state": view.state},
                code=view.state,
            )

    def _grace(self, cluster_id: str) -> float:
        live = any(run.live for run in self._manager.cluster(cluster_id).runs)
        config = self._manager.config
        return config.drain_grace_with_run if live else config.drain_grace

    def _queue(self, cluster_id: str) -> TargetChanges:
        for gone in self._changes.keys() - self._manager.loops.keys():
            del self._changes[gone]
        if cluster_id not in self._changes:

            async def apply(request: TargetRequest) -> None:
                await self._apply(cluster_id, request)

            async def settle(request: TargetRequest) -> None:
                await self._settle(cluster_id, request)

            def failed(request: TargetRequest, error: Exception) -> None:
                words = error.message if isinstance(error, ElasticError) else str(error)
                text = f"Size {request.size} was not set: {words}"
                self._manager.problem(cluster_id, Reason("change_failed", text))
                self._manager.note(cluster_id, text)

            self._changes[cluster_id] = TargetChanges(apply, settle, failed)
        return self._changes[cluster_id]

    async def _apply(self, cluster_id: str, request: TargetRequest) -> None:
        """Tell the engine, from the newest snapshot."""
        loop = self._manager.loop(cluster_id)
        plan = self.plan(cluster_id, request.size, request.victims, replace=request.replace)
        self._check_run(cluster_id, plan, request)
        before = self._assumed.get(cluster_id, loop.facts.target)
        # Only what a snapshot has shown is a reason to do nothing: others may have changed it back.
        if plan.target == before == loop.facts.target and not plan.remove:
            return
        uids = tuple(item.uid for item in loop.facts.containers if item.name in plan.remove)
        try:
            await loop.engine.scale(
                cluster_id,
                plan.target,
                expected=before,
                victims=uids,
                grace_seconds=self._grace(cluster_id),
                by=request.by,
            )
        except Conflict:
            self._assumed.pop(cluster_id, None)
            audit("scale", cluster_id, request.by, outcome="conflict", size=plan.target)
            raise
        self._assumed[cluster_id] = plan.target
        self._manager.problem(cluster_id, None)
        audit("scale", cluster_id, request.by, size_before=before, size=plan.target)

    async def _settle(self, cluster_id: str, request: TargetRequest) -> None:
        loop = self._manager.loops.get(cluster_id)
        if loop is None:
            return
        seen = await loop.wait_until(lambda: loop.facts.target == request.size, SETTLE_SECONDS)
        if seen:
            self._assumed.pop(cluster_id, None)
