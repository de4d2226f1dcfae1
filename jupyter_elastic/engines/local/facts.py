"""A record as the manager wants to see it."""

from __future__ import annotations

from collections.abc import Mapping

from ...models import Container, Gpu, HostEntry, Reason
from ..base import ClusterFacts
from .allocation import (
    ONE_LINE_HOST,
    Machine,
    address,
    ended,
    limit,
    place_name,
    place_uid,
    shortage,
)
from .records import Place, Record

ENDED = Reason("machine_restarted", "This machine was restarted; nothing of the cluster runs.")


def facts_of(record: Record, held: Mapping[int, str], machine: Machine) -> ClusterFacts:
    """Return the facts of one cluster.

    Parameters
    ----------
    held
        GPUs reserved by any cluster, see ``allocation.reserved``.
    """
    gone = ended(record, machine)
    gpus = {gpu.index: gpu for gpu in machine.gpus}
    containers = [_container(record, place, gpus, gone) for place in record.places]
    if not gone and not record.releasing:
        containers += _missing(record, held, machine)
    return ClusterFacts(
        id=record.id,
        spec=record.spec,
        settings=record.settings,
        created=record.created,
        target=record.target,
        containers=tuple(containers),
        host_list=record.hosts,
        host_folder=record.host_folder,
        limit=limit(record, machine),
        slots_by_uid=lines(record),
        last_change=record.last_change,
        ended=ENDED if gone else None,
        releasing=record.releasing,
        history=record.history,
    )


def lines(record: Record) -> dict[str, HostEntry]:
    """Return the line each container would have in the host file.

    With one-line addressing only the launcher has a line: it carries the slots of all members.
    """
    if record.addressing == "places":
        return {
            place.uid: HostEntry(
                place.uid, place.name, address(place.number), record.spec.slots, place.devices
            )
            for place in record.places
        }
    first = record.launcher
    slots = record.spec.slots * len(record.members)
    devices = tuple(device for place in record.members for device in place.devices)
    return {first.uid: HostEntry(first.uid, first.name, ONE_LINE_HOST, slots, devices)}


def _container(record: Record, place: Place, gpus: Mapping[int, Gpu], gone: bool) -> Container:
    host: str | None = address(place.number)
    if record.addressing == "slots":
        host = ONE_LINE_HOST if place.role == "launcher" else None
    return Container(
        uid=place.uid,
        name=place.name,
        role=place.role,
        state="failed" if gone else "draining" if place.draining else "ready",
        since=place.since,
        host=host,
        gpus=tuple(gpus.get(index, Gpu(index, "GPU")) for index in place.devices),
        reason=ENDED if gone else None,
        created=place.created,
        drain_until=place.drain_until,
    )


def _missing(record: Record, held: Mapping[int, str], machine: Machine) -> list[Container]:
    """Return a row for each container that could not be created, under the name it would get."""
    count = record.target - len(record.members)
    if count <= 0:
        return []
    reason = shortage(record, held, machine)
    since = record.last_change.at if record.last_change else record.created
    return [
        Container(
            uid=place_uid(record.id, number),
            name=place_name(record, number),
            role="worker",
            state="not created",
            since=since,
            reason=reason,
        )
        for number in range(record.next_number, record.next_number + count)
    ]
