"""Waiting from the caller's side: polls, so that an interrupt or a dead kernel leaves nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from .choose import choose
from .errors import Conflict, ElasticError, NotFound, Unreachable
from .models import Cluster

WAIT_SECONDS = 300.0  # of a --wait without a number
MAX_WAIT = 86_400.0
_PERIOD = 0.3  # seconds between two looks; an unchanged state is a 304 without body

Read = Callable[[], Sequence[Cluster]]


class WaitTimeout(ElasticError):
    """The time is over; the cluster goes on as it was told."""

    status = 504
    code = "wait_timeout"


def laggards(cluster: Cluster) -> list[str]:
    """Say who is not ready and why, one line each."""
    lines = []
    for item in cluster.containers:
        if item.state not in ("ready", "draining"):
            why = f": {item.reason.text}" if item.reason else ""
            lines.append(f"{item.name} is {item.state}{why}")
    counted = sum(item.state != "draining" for item in cluster.containers)
    if counted < cluster.target:
        why = f": {cluster.reason.text}" if cluster.reason else ""
        lines.append(f"{cluster.target - counted} not created yet{why}")
    if not lines and not cluster.hostfile.in_sync:
        why = f": {cluster.hostfile.reason.text}" if cluster.hostfile.reason else ""
        lines.append(f"{cluster.hostfile.hostfile} does not show the new list yet{why}")
    return lines


def summary(cluster: Cluster) -> str:
    """Return ``2 of 4 ready`` with the leavers."""
    leaving = sum(item.state == "draining" for item in cluster.containers)
    words = f"{cluster.ready} of {cluster.target} ready"
    return f"{words}, {leaving} leaving" if leaving else words


def wait_until_ready(
    read: Read,
    cluster_id: str,
    size: int,
    seconds: float,
    progress: Callable[[str], None] | None = None,
) -> Cluster:
    """Wait until ready, target and the host file all say `size`.

    Parameters
    ----------
    read
        Returns the clusters now.
    seconds
        How long to wait at most.
    progress
        Gets one line at each change.

    Raises
    ------
    WaitTimeout
        With who is not ready and why.
    Conflict
        When somebody else changed the target, or the cluster is being released.
    NotFound
        When the cluster is gone.
    """
    end = time.monotonic() + seconds
    said = ""
    trouble = ""
    taken = False  # a burst is coalesced: the target may show a moment later
    while True:
        try:
            cluster = choose(read(), cluster_id, None)
            trouble = ""
        except Unreachable as error:
            # A server that restarts comes back with the same clusters; that is worth waiting for.
            trouble = error.message
        else:
            taken = taken or cluster.target == size
            _still_wanted(cluster, size, taken)
            if cluster.ready == size and cluster.target == size and cluster.hostfile.in_sync:
                return cluster
            words = "; ".join([summary(cluster), *laggards(cluster)[:4]])
            if progress is not None and words != said:
                progress(words)
            said = words
        if time.monotonic() >= end:
            raise WaitTimeout(
                f"Not ready after {seconds:g} s: {trouble or said}.",
                hint="Only the waiting ended, the cluster goes on.",
            )
        time.sleep(min(_PERIOD, max(0.0, end - time.monotonic())))


def _still_wanted(cluster: Cluster, size: int, taken: bool) -> None:
    if cluster.state in ("releasing", "ended"):
        why = f": {cluster.reason.text}" if cluster.reason else ""
        raise Conflict(f"{cluster.name} is {cluster.state} now{why}.", code="released")
    if taken and cluster.target != size:
        who = f" by {cluster.last_change.by}" if cluster.last_change else ""
        raise Conflict(
            f"The target of {cluster.name} was changed to {cluster.target}{who} meanwhile.",
            hint="Not waiting any more; the last one wins.",
        )


def wait_until_gone(read: Read, cluster: Cluster, seconds: float) -> None:
    """Wait until a released cluster is gone.

    Raises
    ------
    WaitTimeout
        With the containers that are still there.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            found = choose(read(), cluster.id, None)
        except NotFound:
            return
        if time.monotonic() >= end:
            names = ", ".join(item.name for item in found.containers) or found.state
            raise WaitTimeout(
                f"{cluster.name} is not gone after {seconds:g} s: {names}.",
                hint="Only the waiting ended, the release goes on.",
            )
        time.sleep(min(_PERIOD, max(0.0, end - time.monotonic())))
