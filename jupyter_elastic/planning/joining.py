"""When newcomers of a live elastic run join the list, and when one is announced again.

Each change of the list interrupts all ranks for seconds, so newcomers that are about to be ready
may be waited for. And Horovod 0.28.1 forgets a change that comes while its ranks start anew: a
host that is listed and gets no rank is taken out for a moment, which is a change that it sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engines.base import ClusterFacts, KeeperStatus
from ..models import HostEntry, Run

UNUSED_SECONDS = 20.0  # from ready to a rank it takes ssh and the imports of a framework
AWAY_SECONDS = 2.5  # Horovod looks once a second
ANNOUNCEMENTS = 3  # a host that gets no rank after these is one that the framework refuses


def batched(
    facts: ClusterFacts, members: Sequence[HostEntry], seconds: float, now: float
) -> tuple[tuple[HostEntry, ...], float | None]:
    """Hold newcomers back while more of them are about to be ready.

    Parameters
    ----------
    members
        The list that should be agreed on now.
    seconds
        How long the first newcomer waits for the others at most.

    Returns
    -------
    tuple
        The list without those that wait, and the instant at which they wait no more.
    """
    listed = {entry.uid for entry in facts.host_list.hosts}
    since = {item.uid: item.since for item in facts.containers}
    joins = [since[entry.uid] for entry in members if entry.uid not in listed]
    coming = any(item.role == "worker" and item.state == "starting" for item in facts.containers)
    if not joins or not coming or now >= min(joins) + seconds:
        return tuple(members), None
    return tuple(entry for entry in members if entry.uid in listed), min(joins) + seconds


@dataclass
class Announcer:
    """Remembers which hosts were announced again, and how often; of one cluster."""

    _away: dict[str, float] = field(default_factory=dict)  # uid -> instant it may come back
    _times: dict[str, tuple[int, float]] = field(default_factory=dict)  # uid -> count, the last

    def apply(
        self,
        facts: ClusterFacts,
        keeper: KeeperStatus | None,
        members: Sequence[HostEntry],
        now: float,
    ) -> tuple[tuple[HostEntry, ...], float | None]:
        """Return the list without hosts that are away for a moment, and when to look again."""
        run = live_elastic(keeper)
        if run is None or keeper is None:
            self._away.clear()
            self._times.clear()
            return tuple(members), None
        looks = []
        if not self._away:
            looks += self._begin(facts, keeper, run, now)
        self._away = {uid: back for uid, back in self._away.items() if back > now}
        kept = tuple(entry for entry in members if entry.uid not in self._away)
        return kept, min([*looks, *self._away.values()], default=None)

    def _begin(
        self, facts: ClusterFacts, keeper: KeeperStatus, run: Run, now: float
    ) -> list[float]:
        """Send the unused hosts away; returns when others may have waited long enough."""
        used = len(keeper.busy_hosts) * facts.spec.slots
        if run.max_np is not None and used >= run.max_np:
            return []
        listed = {entry.uid for entry in facts.host_list.hosts[1:]}
        looks = []
        for item in facts.containers:
            if item.uid not in listed or item.state != "ready" or item.host in keeper.busy_hosts:
                continue
            count, last = self._times.get(item.uid, (0, 0.0))
            due = max(item.since, run.started, last) + UNUSED_SECONDS
            if count >= ANNOUNCEMENTS:
                continue
            if now < due:
                looks.append(due)
                continue
            self._away[item.uid] = now + AWAY_SECONDS
            self._times[item.uid] = (count + 1, now)
        return looks


def live_elastic(keeper: KeeperStatus | None) -> Run | None:
    """Return the elastic run that lives now."""
    runs = keeper.runs if keeper is not None else ()
    return next((run for run in runs if run.live and run.elastic), None)
