"""What each engine call does to a record, purely: old record in, new record out, or a refusal."""

from __future__ import annotations

import dataclasses

from ...errors import BadInput, Conflict
from ...models import ClusterSpec, HostList, LastChange, Settings
from ..checks import check_size
from .allocation import Machine, ended, limit
from .facts import lines
from .records import Place, Record


def new_record(
    spec: ClusterSpec,
    cluster: str,
    *,
    machine: Machine,
    host_folder: str,
    operation: str,
    now: float,
) -> Record:
    """Return the record of a cluster without any place yet."""
    return Record(
        id=cluster,
        spec=spec,
        settings=spec.settings,
        created=now,
        target=spec.size,
        boot=machine.boot,
        next_number=1,
        host_folder=host_folder,
        places=(),
        hosts=HostList(0),
        addressing=machine.addressing,
        operation=operation,
        history=(f"created with {spec.size}",),
    )


def check_alive(record: Record, machine: Machine) -> None:
    """Refuse a change of a cluster that is ending or has ended.

    Raises
    ------
    Conflict
        With code ``ended`` or ``releasing``.
    """
    if ended(record, machine):
        raise Conflict(
            f"{record.spec.name} ended when this machine was restarted.",
            hint="Release it and create a new one.",
            code="ended",
        )
    if record.releasing:
        raise Conflict(f"{record.spec.name} is being released.", code="releasing")


def scaled(
    record: Record,
    target: int,
    *,
    expected: int,
    victims: tuple[str, ...],
    grace: float,
    by: str,
    machine: Machine,
    now: float,
) -> Record:
    """Set the target and mark the leavers in one step; new places are for ``allocation.fill``.

    Raises
    ------
    BadInput, LimitReached
        `target` is not in 1 to the limit.
    Conflict
        The target is not `expected`, the launcher is named, or in one-line addressing not the
        newest are named.
    """
    check_alive(record, machine)
    if record.target != expected:
        raise Conflict(
            f"The size was changed to {record.target} meanwhile.",
            hint="Look at the new size, then ask again.",
            detail={"target": record.target, "expected": expected},
            code="target_changed",
        )
    check_size(target, limit(record, machine), record.target)
    leavers = _leavers(record, target, victims)
    for place in leavers:
        record = record.with_place(
            dataclasses.replace(place, draining=True, since=now, drain_until=now + grace)
        )
    if target == expected:
        names = ", ".join(place.name for place in leavers)
        return record.noted(f"{names} replaced by {by}") if leavers else record
    record = record.noted(f"size {expected} to {target} by {by}")
    change = LastChange(previous=expected, target=target, at=now, by=by, undo=True)
    return dataclasses.replace(record, target=target, last_change=change)


def _leavers(record: Record, target: int, victims: tuple[str, ...]) -> tuple[Place, ...]:
    """Return the named members, and the newest others while there are more than the target."""
    if record.launcher.uid in victims:
        raise Conflict(
            "The launcher cannot be removed: it is the first line of the host file.",
            hint="Release the cluster to give everything back.",
            code="launcher",
        )
    workers = record.members[1:]
    named = [place for place in workers if place.uid in victims]
    rest = [place for place in workers if place.uid not in victims]
    surplus = 1 + len(rest) - target
    if surplus > 0:
        named.extend(reversed(rest[-surplus:]))
    if record.addressing == "slots" and named:
        newest = workers[-len(named) :]
        if {place.uid for place in named} != {place.uid for place in newest}:
            raise Conflict(
                "All places of this machine share one line of the host file, "
                "so only the newest can leave.",
                hint="Name " + ", ".join(place.name for place in newest) + ", or nobody.",
                code="newest_only",
            )
    return tuple(named)


def committed(record: Record, hosts: HostList, machine: Machine) -> Record:
    """Agree on the next list; the same list again is success.

    Raises
    ------
    Conflict
        Another list was agreed on first, or a container of this one is leaving or gone meanwhile.
    """
    check_alive(record, machine)
    if hosts == record.hosts:
        return record
    if hosts.generation != record.hosts.generation + 1:
        raise Conflict(
            f"Host list {hosts.generation} does not follow {record.hosts.generation}.",
            detail={"generation": record.hosts.generation},
            code="generation",
        )
    members = {place.uid for place in record.members}
    known = lines(record)
    uids = [entry.uid for entry in hosts.hosts]
    if not uids or uids[0] != record.launcher.uid or len(set(uids)) != len(uids):
        raise BadInput("A host list has the launcher first and each container once.")
    for entry in hosts.hosts:
        if entry.uid not in members or known.get(entry.uid) != entry:
            raise Conflict(
                f"{entry.name} changed or is leaving meanwhile.",
                detail={"container": entry.name},
                code="container_changed",
            )
    return dataclasses.replace(record, hosts=hosts)


def extended(record: Record, uid: str, until: float | None, machine: Machine, now: float) -> Record:
    """Give a leaver more time, or with None take it back as a member.

    Raises
    ------
    Conflict
        It is gone, or is not leaving.
    """
    check_alive(record, machine)
    place = record.place(uid)
    if place is None or not place.draining:
        raise Conflict(
            "This container is not leaving any more.",
            hint="Refresh to see the containers as they are.",
            code="not_draining",
        )
    if until is not None:
        return record.with_place(dataclasses.replace(place, drain_until=until))
    record = record.with_place(
        dataclasses.replace(place, draining=False, since=now, drain_until=None)
    )
    # A waiting row gives way; only where there is none the cluster becomes larger.
    size = max(record.target, len(record.members))
    if size == record.target:
        return record.noted(f"{place.name} kept")
    change = LastChange(previous=record.target, target=size, at=now, by="", undo=False)
    record = record.noted(f"{place.name} kept, size {record.target} to {size}")
    return dataclasses.replace(record, target=size, last_change=change)


def check_removable(record: Record, uid: str) -> Place | None:
    """Return the leaver that may be deleted now, or None when it is gone already.

    Raises
    ------
    Conflict
        It is not leaving, or the agreed list still holds it.
    """
    place = record.place(uid)
    if place is None:
        return None
    if not place.draining:
        raise Conflict(f"{place.name} is a member, it is not leaving.", code="not_draining")
    too_many = sum(entry.slots for entry in record.hosts.hosts) > (
        len(record.members) * record.spec.slots
    )
    listed = any(entry.uid == uid for entry in record.hosts.hosts)
    if listed or (record.addressing == "slots" and too_many):
        raise Conflict(f"{place.name} is still in the host file.", code="still_listed")
    return place


def removed(record: Record, uid: str, note: str) -> Record:
    """Delete a leaver."""
    place = check_removable(record, uid)
    if place is None:
        return record
    places = tuple(item for item in record.places if item.uid != uid)
    text = f"{place.name} removed" + (f": {note}" if note else "")
    return dataclasses.replace(record, places=places).noted(text)


def configured(record: Record, settings: Settings, machine: Machine) -> Record:
    """Store settings."""
    check_alive(record, machine)
    return dataclasses.replace(record, settings=settings)


def releasing(record: Record) -> Record:
    """Mark that everything goes; nothing can take this back."""
    return dataclasses.replace(record, releasing=True)
