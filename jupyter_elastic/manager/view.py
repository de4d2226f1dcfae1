"""From what is seen to what everybody sees: builds the wire model of a cluster. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from ..engines.base import ClusterFacts, KeeperStatus
from ..frameworks import Framework
from ..models import (
    Cluster,
    ClusterState,
    Container,
    HostFile,
    LastChange,
    Limit,
    Offer,
    Reason,
    Run,
)
from ..planning.limits import combined
from ..planning.victims import members

RUNS_SHOWN = 20


@dataclass(frozen=True)
class Seen:
    """One cluster as the engine, its keeper and this server know it."""

    facts: ClusterFacts
    keeper: KeeperStatus | None
    framework: Framework
    offers: tuple[Offer, ...] = ()
    trouble: Reason | None = None
    trouble_since: float | None = None
    releasing: bool = False
    history: tuple[str, ...] = ()
    max_size: Limit | None = None

    @property
    def limit(self) -> Limit:
        """The smaller of the engine's limit and the administrator's."""
        return combined(self.facts.limit, self.max_size)


def cluster_view(seen: Seen) -> Cluster:
    """Build the wire model."""
    facts, framework = seen.facts, seen.framework
    spec = facts.spec
    containers = tuple(_container(item, seen.keeper) for item in facts.containers)
    keeper = seen.keeper
    limit = seen.limit
    host_file = _host_file(seen)
    state = _state(seen, containers, host_file)
    return Cluster(
        id=facts.id,
        name=spec.name,
        owner=spec.owner,
        engine=spec.engine,
        framework=framework.name,
        framework_title=framework.title,
        launcher_mode=spec.launcher_mode,
        state=state,
        created=facts.created,
        target=facts.target,
        ready=sum(item.state == "ready" for item in containers),
        np=sum(entry.slots for entry in facts.host_list.hosts),
        slots=spec.slots,
        gpus_per_container=spec.gpus_per_container,
        gpu_kind=spec.gpu_kind,
        containers=containers,
        hostfile=host_file,
        settings=facts.settings,
        limit=limit,
        growth=framework.growth,
        shrink=framework.shrink,
        valid_sizes=framework.valid_sizes(limit.size),
        runs=_runs(keeper),
        shells=keeper.shells if keeper is not None else (),
        offers=seen.offers + (keeper.offers if keeper is not None else ()),
        last_change=_last_change(seen, state),
        reason=_reason(seen, state, containers),
        history=seen.history,
    )


def _container(container: Container, keeper: KeeperStatus | None) -> Container:
    busy = keeper is not None and container.host is not None and container.host in keeper.busy_hosts
    return container if busy == container.busy else dataclasses.replace(container, busy=busy)


def _runs(keeper: KeeperStatus | None) -> tuple[Run, ...]:
    """Newest first, bounded, every live one."""
    if keeper is None:
        return ()
    runs = keeper.runs
    return runs[:RUNS_SHOWN] + tuple(run for run in runs[RUNS_SHOWN:] if run.live)


def _host_file(seen: Seen) -> HostFile:
    facts, keeper = seen.facts, seen.keeper
    folder = facts.host_folder
    written = keeper.generation if keeper is not None else 0
    frozen, reason = _frozen(seen)
    return HostFile(
        folder=folder,
        hostfile=f"{folder}/hostfile",
        discovery_script=f"{folder}/discover_hosts.sh",
        generation=written,
        wanted=facts.host_list.generation,
        in_sync=frozen is None
        and keeper is not None
        and keeper.reachable
        and written >= facts.host_list.generation,
        frozen_since=frozen,
        reason=reason,
    )


def _frozen(seen: Seen) -> tuple[float | None, Reason | None]:
    """Since when the file cannot follow, and why."""
    keeper = seen.keeper
    if seen.facts.ended is not None:
        return None, seen.facts.ended
    if keeper is not None and keeper.error is not None:
        return seen.trouble_since or keeper.since, keeper.error
    if keeper is not None and not keeper.reachable:
        if not seen.facts.host_list.hosts and seen.trouble is None:
            return None, None  # it has not begun: there is no file yet that could be behind
        return keeper.since, seen.trouble or Reason(
            "keeper_unreachable",
            "The keeper of this cluster does not answer; it is being restarted.",
        )
    if seen.trouble is not None and seen.trouble_since is not None:
        return seen.trouble_since, seen.trouble
    return None, None


def _state(seen: Seen, containers: Sequence[Container], host_file: HostFile) -> ClusterState:
    facts = seen.facts
    if facts.ended is not None:
        return "ended"
    if facts.releasing or seen.releasing:
        return "releasing"
    there = members(containers)
    ready = sum(item.state == "ready" for item in there)
    if not facts.host_list.hosts:
        failed = any(item.state == "failed" for item in there)
        return "degraded" if failed or host_file.frozen_since is not None else "creating"
    launcher_ready = any(item.role == "launcher" and item.state == "ready" for item in there)
    broken = any(item.state in ("failed", "not created", "unknown") for item in there)
    if host_file.frozen_since is not None or broken or not launcher_ready:
        return "degraded"
    leaving = len(there) != len(containers)
    # The agreed list may lag behind the containers for a moment: not ready before it names them.
    listed = sum(entry.slots for entry in facts.host_list.hosts) == facts.target * facts.spec.slots
    there_and_ready = ready == len(there) == facts.target and not leaving
    if not there_and_ready or not listed or not host_file.in_sync:
        return "scaling"
    return "ready"


def _reason(seen: Seen, state: ClusterState, containers: Sequence[Container]) -> Reason | None:
    """Choose the most useful sentence about a cluster that is not as asked."""
    if seen.facts.ended is not None:
        return seen.facts.ended
    if state == "ready":
        return seen.trouble
    _, frozen = _frozen(seen)
    if frozen is not None:
        return frozen
    if seen.trouble is not None:
        return seen.trouble
    for wanted in ("failed", "not created", "unknown", "pending", "starting"):
        for item in containers:
            if item.state == wanted and item.reason is not None:
                return item.reason
    return None


def _last_change(seen: Seen, state: ClusterState) -> LastChange | None:
    last = seen.facts.last_change
    if last is None:
        return None
    undo = (
        state not in ("ended", "releasing")
        and last.target == seen.facts.target
        and last.previous != last.target
        and 1 <= last.previous <= max(seen.limit.size, seen.facts.target)
    )
    return dataclasses.replace(last, undo=undo)
