"""Who is in the host file, and in which order: a pure function of what is seen and was agreed.

The launcher is line 1 always and needs no readiness. A worker enters when it is ready. It leaves at
once when it is gone, draining or failed; one that only stopped being ready stays for the debounce,
so that a probe that flaps does not end a rank. Survivors keep their order, newcomers are appended.
"""

from __future__ import annotations

import re

from ..engines.base import ClusterFacts
from ..models import Container, HostEntry, HostList

DEBOUNCE_SECONDS = 10.0

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_HOST_LIMIT = 253
_FLAPPING = ("starting", "unknown")  # had a place and may come back; every other state is a fact


def valid_host(host: str | None) -> bool:
    """Whether `host` is a name or an IPv4 address, and nothing a shell could read as more."""
    return host is not None and len(host) <= _HOST_LIMIT and _HOST.fullmatch(host) is not None


def next_members(
    facts: ClusterFacts, previous: HostList, now: float, debounce: float = DEBOUNCE_SECONDS
) -> tuple[HostEntry, ...]:
    """Return the list that should be agreed on now, launcher first.

    Parameters
    ----------
    facts
        The cluster as the engine sees it.
    previous
        The list agreed before; gives the order.
    now
        The instant, seconds since 1970.
    debounce
        Seconds that a listed worker may be un-ready before it leaves.

    Returns
    -------
    tuple of HostEntry
        Empty when it is not known who the launcher is: the old list then stays.
    """
    if facts.ended is not None or facts.releasing:
        return previous.hosts
    launcher = _launcher(facts, previous)
    if launcher is None:
        return ()
    containers = {item.uid: item for item in facts.containers}
    stays: list[HostEntry] = []
    for entry in previous.hosts:
        container = containers.get(entry.uid)
        if container is None or container.role == "launcher":
            continue
        if _stays(container, now, debounce):
            stays.append(_entry(facts, entry.uid) or entry)
    listed = {entry.uid for entry in stays}
    joins = [
        line
        for item in facts.containers
        if item.role == "worker" and item.state == "ready" and item.uid not in listed
        if (line := _entry(facts, item.uid)) is not None
    ]
    return (launcher, *_without_twins(launcher, stays, joins, containers))


def next_look(
    facts: ClusterFacts, previous: HostList, now: float, debounce: float = DEBOUNCE_SECONDS
) -> float | None:
    """Return the instant at which :func:`next_members` changes by time alone, or None."""
    listed = {entry.uid for entry in previous.hosts}
    ends = [
        item.since + debounce
        for item in facts.containers
        if item.uid in listed and item.role == "worker" and item.state in _FLAPPING
    ]
    return min((end for end in ends if end > now), default=None)


def _launcher(facts: ClusterFacts, previous: HostList) -> HostEntry | None:
    for item in facts.containers:
        if item.role == "launcher" and item.state != "draining":
            known = _entry(facts, item.uid)
            if known is not None:
                return known
            # Its address cannot be read now: the one that was agreed on still holds for the same
            # container.
            return next((entry for entry in previous.hosts if entry.uid == item.uid), None)
    return None


def _stays(container: Container, now: float, debounce: float) -> bool:
    if container.state == "ready":
        return True
    return container.state in _FLAPPING and now < container.since + debounce


def _entry(facts: ClusterFacts, uid: str) -> HostEntry | None:
    entry = facts.slots_by_uid.get(uid)
    return entry if entry is not None and valid_host(entry.host) and entry.slots >= 1 else None


def _without_twins(
    launcher: HostEntry,
    stays: list[HostEntry],
    joins: list[HostEntry],
    containers: dict[str, Container],
) -> list[HostEntry]:
    """Let each host in once: what a ready newcomer has is no longer the un-ready old one's."""
    fresh = {entry.host for entry in joins}
    taken = {launcher.host}
    kept: list[HostEntry] = []
    for entry in [*stays, *joins]:
        ready = containers[entry.uid].state == "ready"
        if entry.host in taken or (not ready and entry.host in fresh):
            continue
        taken.add(entry.host)
        kept.append(entry)
    return kept
