"""Places and GPUs given to clusters, purely: what is reserved, free, missing, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...models import Gpu, Limit, Reason
from ...naming import launcher_name, worker_name
from .records import Addressing, Place, Record

PLACES_SETTING = "ElasticExtensionApp.local_places"
LAUNCHER_HOST = "127.0.0.1"
ONE_LINE_HOST = "localhost"
_PER_NET = 254


@dataclass(frozen=True)
class Machine:
    """What the rules know of this machine. ``gpus`` are those that this server may use."""

    boot: str
    max_places: int
    addressing: Addressing = "places"
    gpus: tuple[Gpu, ...] = ()
    cores: int = 1
    gpu_problem: str = ""  # GPUs are there but cannot be read: why


def address(number: int) -> str:
    """Return the loopback address of place `number`: 127.0.0.n up to 254, then 127.0.1.1 and on."""
    net, last = divmod(number - 1, _PER_NET)
    return f"127.{net // 256}.{net % 256}.{last + 1}"


def ended(record: Record, machine: Machine) -> bool:
    """Whether the machine was restarted since the cluster was made: nothing of it runs any more."""
    return record.boot != machine.boot


def reserved(records: Iterable[Record], machine: Machine) -> dict[int, str]:
    """Return which cluster holds each GPU, by display name.

    Draining places hold theirs until they are gone.
    """
    return {
        device: record.spec.name
        for record in records
        if not ended(record, machine)
        for place in record.places
        for device in place.devices
    }


def fitting(machine: Machine, kind: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs of a kind, or all of them."""
    return tuple(gpu for gpu in machine.gpus if kind is None or gpu.name == kind)


def limit(record: Record, machine: Machine) -> Limit:
    """Return the largest size of a cluster on this machine and who set it."""
    return capacity(record.spec.gpus_per_container, record.spec.gpu_kind, machine)


def capacity(per_container: int, kind: str | None, machine: Machine) -> Limit:
    """Return the largest size for containers with so many GPUs each."""
    if per_container:
        gpus = fitting(machine, kind)
        what = f"{kind} GPUs" if kind else "GPUs"
        return Limit(
            len(gpus) // per_container,
            f"This machine has {len(gpus)} {what}; each container takes {per_container}.",
        )
    return Limit(
        machine.max_places,
        f"This machine has {machine.cores} CPU core{'' if machine.cores == 1 else 's'} for "
        f"{machine.max_places} places; an administrator can change {PLACES_SETTING}.",
    )


def fill(record: Record, held: Mapping[int, str], machine: Machine, now: float) -> Record:
    """Add places until the target is reached or nothing is free.

    Parameters
    ----------
    held
        GPUs that are reserved by any cluster, this one included.
    now
        The instant, seconds since 1970.
    """
    if record.releasing or ended(record, machine):
        return record
    taken = set(held)
    while len(record.members) < record.target:
        devices = _free(record, machine, taken)
        if devices is None:
            break
        taken.update(devices)
        record = _with_new_place(record, devices, now)
    return record


def _free(record: Record, machine: Machine, taken: set[int]) -> tuple[int, ...] | None:
    wanted = record.spec.gpus_per_container
    if wanted == 0:
        return ()
    free = [gpu.index for gpu in fitting(machine, record.spec.gpu_kind) if gpu.index not in taken]
    return tuple(free[:wanted]) if len(free) >= wanted else None


def _with_new_place(record: Record, devices: tuple[int, ...], now: float) -> Record:
    number = record.next_number
    place = Place(
        number=number,
        uid=place_uid(record.id, number),
        name=place_name(record, number),
        role="launcher" if number == 1 else "worker",
        created=now,
        since=now,
        devices=devices,
    )
    return dataclasses.replace(record, places=(*record.places, place), next_number=number + 1)


def place_uid(cluster: str, number: int) -> str:
    """Return the uid of place `number`; unique for ever, as the cluster's id is."""
    return f"{cluster}.{number}"


def place_name(record: Record, number: int) -> str:
    """Return the container name of place `number`."""
    name = record.spec.name
    return launcher_name(name) if number == 1 else worker_name(name, record.id, number)


def shortage(record: Record, held: Mapping[int, str], machine: Machine) -> Reason:
    """Say why containers of this cluster could not be created."""
    wanted = record.spec.gpus_per_container
    kind = record.spec.gpu_kind
    if machine.gpu_problem:
        return Reason("gpu_unavailable", "The GPUs of this machine cannot be read now.",
                      machine.gpu_problem)  # fmt: skip
    gpus = fitting(machine, kind)
    what = f"{kind or 'GPU'}"
    free = sum(gpu.index not in held for gpu in gpus)
    holders: dict[str, int] = {}
    for gpu in gpus:
        if gpu.index in held:
            holders[held[gpu.index]] = holders.get(held[gpu.index], 0) + 1
    by = ", ".join(f"{count} by {name}" for name, count in holders.items())
    text = f"Needs {wanted} free {what}; {free} of {len(gpus)} are free"
    return Reason("no_free_gpu", f"{text}, reserved: {by}." if by else f"{text}.")
