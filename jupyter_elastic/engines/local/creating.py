"""Making a cluster's record: checks, folder, first places, first host list.

One step under the store's lock.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from ...errors import BadInput, Conflict, LimitReached
from ...models import ClusterSpec, HostList
from ...naming import check_name, cluster_id, nonce
from ..checks import check_size, check_whole
from . import changes, folders
from .allocation import Machine, capacity, ended, fill, reserved, shortage
from .facts import lines
from .records import Record
from .store import Records


def check(spec: ClusterSpec) -> None:
    """Refuse what a machine's places cannot have.

    Raises
    ------
    BadInput
        With the field in ``detail``.
    """
    check_name(spec.name)
    if spec.launcher_mode != "here":
        raise BadInput(
            "On this machine the launcher is where Jupyter runs.",
            hint="Use launcher_mode here.",
            detail={"field": "launcher_mode"},
        )
    for field, value in (
        ("image", spec.image),
        ("shared_memory", spec.shared_memory),
        ("storage", spec.storage),
    ):
        if value:
            raise BadInput(
                f"Places of this machine have no {field.replace('_', ' ')} of their own.",
                hint="Leave it out: they see what this machine has.",
                detail={"field": field},
            )
    check_whole(spec.size, "size", 1)
    check_whole(spec.gpus_per_container, "gpus_per_container", 0)


def create(
    records: Records,
    spec: ClusterSpec,
    *,
    operation: str,
    machine: Machine,
    shared: Path | None,
    base: Path,
    state_file: Callable[[str], Path],
    now: float,
) -> tuple[bool, str]:
    """Add a cluster to the records.

    Returns
    -------
    tuple of bool and str
        Whether it was made now, and its id; not made when `operation` made it before.
    """
    for record in records.values():
        if operation and record.operation == operation and record.spec.owner == spec.owner:
            return False, record.id
        if record.spec.name == spec.name and record.spec.owner == spec.owner:
            raise Conflict(
                f"There is a cluster named {spec.name!r} already.",
                hint="Choose another name, or release that one.",
                detail={"field": "name", "cluster": record.id},
                code="name_taken",
            )
    if spec.gpus_per_container and machine.gpu_problem:
        raise LimitReached(
            "The GPUs of this machine are not available.",
            hint=machine.gpu_problem,
            detail={"field": "gpus_per_container"},
            code="gpu_unavailable",
        )
    check_size(spec.size, capacity(spec.gpus_per_container, spec.gpu_kind, machine))
    cluster = cluster_id(spec.name, nonce())
    record = changes.new_record(
        spec, cluster, machine=machine, host_folder="", operation=operation, now=now
    )
    held = reserved(records.values(), machine)
    record = fill(record, held, machine, now)
    if not record.places:
        reason = shortage(record, held, machine)
        raise LimitReached(
            f"Not even the launcher can be placed. {reason.text}",
            hint="Release a cluster, or take fewer GPUs.",
            detail={"field": "gpus_per_container"},
            code=reason.code,
        )
    record = _with_first_list(_with_folder(record, machine, shared, base, state_file, now))
    records[cluster] = record
    return True, cluster


def _with_folder(
    record: Record,
    machine: Machine,
    shared: Path | None,
    base: Path,
    state_file: Callable[[str], Path],
    now: float,
) -> Record:
    if shared is not None:
        claim = folders.Claim(
            cluster=record.id,
            uid=os.geteuid(),
            boot=machine.boot,
            state_file=str(state_file(record.id)),
            at=now,
        )
        if folders.claim_shared(shared, claim):
            return dataclasses.replace(record, host_folder=str(shared), shared=True)
    own = folders.make_own(base, record.id)
    return dataclasses.replace(record, host_folder=str(own))


def _with_first_list(record: Record) -> Record:
    """Agree on the first list in the same step: the host file is right from the first second."""
    by_uid = lines(record)
    hosts = tuple(by_uid[place.uid] for place in record.places if place.uid in by_uid)
    return dataclasses.replace(record, hosts=HostList(1, hosts))


def settle(records: Records, machine: Machine, now: float) -> bool:
    """Give what is free to the clusters that wait for it, oldest first; True when any got some."""
    given = False
    for cluster, record in records.items():
        if len(record.members) >= record.target or ended(record, machine):
            continue
        filled = fill(record, reserved(records.values(), machine), machine, now)
        if filled != record:
            records[cluster] = filled
            given = True
    return given
