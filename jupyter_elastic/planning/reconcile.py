"""The next steps of one cluster, from what is seen now, so a restarted server goes on.

Nothing here remembers an earlier call. The order of the returned steps is the order in which they
must happen: agree on a list, hand it to the keeper, and delete a leaver only after the keeper
confirmed a list without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engines.base import ClusterFacts, KeeperStatus
from ..models import Container, HostEntry, HostList, Offer

DRAIN_CHOICES = ("wait", "delete", "keep")


@dataclass(frozen=True)
class Commit:
    """Make `hosts` the agreed list, by compare-and-swap."""

    hosts: HostList


@dataclass(frozen=True)
class Publish:
    """Hand the agreed list to the keeper."""

    hosts: HostList


@dataclass(frozen=True)
class Remove:
    """Delete a drained container."""

    uid: str
    name: str
    note: str = ""


Action = Commit | Publish | Remove


@dataclass(frozen=True)
class Steps:
    """What to do now, what to ask the person, and when to look again (an instant) at the latest."""

    actions: tuple[Action, ...] = ()
    offers: tuple[Offer, ...] = ()
    wake_at: float | None = None


def next_steps(
    facts: ClusterFacts,
    keeper: KeeperStatus | None,
    members: Sequence[HostEntry],
    now: float,
    *,
    answer_seconds: float = 60.0,
) -> Steps:
    """Compute the next steps.

    Parameters
    ----------
    facts
        The cluster as the engine sees it.
    keeper
        What its keeper said last, None before the first word.
    members
        The list that should be agreed on now, launcher first. Empty: not known, the old one stays.
    now
        The instant, seconds since 1970.
    answer_seconds
        How long a drain offer waits for the person before the container is deleted.
    """
    if facts.ended is not None or facts.releasing:
        return Steps()
    actions: list[Action] = []
    agreed = facts.host_list
    if members and tuple(members) != agreed.hosts:
        agreed = HostList(agreed.generation + 1, tuple(members))
        actions.append(Commit(agreed))
    reachable = keeper is not None and keeper.reachable
    if reachable and agreed.hosts and keeper is not None and keeper.generation < agreed.generation:
        actions.append(Publish(agreed))
    offers: list[Offer] = []
    wakes: list[float] = []
    live = keeper is not None and any(run.live for run in keeper.runs)
    for container in facts.containers:
        until = container.drain_until
        if container.state != "draining" or until is None:
            continue  # without an end to its grace it is going already
        if not _left(container, agreed, facts, keeper):
            continue
        if not _busy(container, keeper):
            actions.append(Remove(container.uid, container.name))
            continue
        due = until + (answer_seconds if live else 0.0)
        if now >= due:
            note = "its rank was still running when the grace was spent"
            actions.append(Remove(container.uid, container.name, note))
            continue
        wakes.append(until if now < until else due)
        if now >= until:
            offers.append(_offer(container, due))
    return Steps(tuple(actions), tuple(offers), min(wakes, default=None))


def _left(
    container: Container, agreed: HostList, facts: ClusterFacts, keeper: KeeperStatus | None
) -> bool:
    """Whether the file is known to be without this container."""
    if container.host is None:
        return True  # it never had an address, so no list ever held it
    if any(entry.uid == container.uid for entry in agreed.hosts):
        return False
    if not agreed.hosts and agreed.generation == 0:
        return True
    if keeper is None or not keeper.reachable:
        return False
    # The stored list, not the one about to be committed: it may still lose the compare-and-swap.
    stored = facts.host_list
    if any(entry.uid == container.uid for entry in stored.hosts):
        return False
    return keeper.generation >= stored.generation


def _busy(container: Container, keeper: KeeperStatus | None) -> bool:
    if keeper is None or container.host is None:
        return False
    return container.host in keeper.busy_hosts


def _offer(container: Container, due: float) -> Offer:
    """Return the question about a leaver whose rank goes on after its grace."""
    return Offer(
        kind="drain",
        text=f"The rank on {container.name} has not ended. Wait, delete it now, or keep it?",
        choices=DRAIN_CHOICES,
        due=due,
        container=container.name,
    )
