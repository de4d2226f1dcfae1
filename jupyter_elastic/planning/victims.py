"""Who leaves when a cluster shrinks."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BadInput, Conflict, NotFound
from ..models import Container

GONE_OR_LEAVING = ("draining",)


def members(containers: Sequence[Container]) -> list[Container]:
    """Return the containers that count towards the target: everybody who is not leaving."""
    return [item for item in containers if item.state not in GONE_OR_LEAVING]


def by_name(containers: Sequence[Container], names: Sequence[str]) -> list[Container]:
    """Return the named containers.

    Raises
    ------
    NotFound
        A name that this cluster does not have.
    Conflict
        The launcher, or a container that is leaving already.
    """
    known = {item.name: item for item in containers}
    chosen: list[Container] = []
    for name in names:
        container = known.get(name)
        if container is None:
            raise NotFound(
                f"This cluster has no container named {name[:80]!r}.",
                hint="Its containers are " + ", ".join(known) + ".",
                detail={"field": "victims", "containers": list(known)},
            )
        if container.role == "launcher":
            raise Conflict(
                "The launcher cannot be removed: it is the first line of the host file.",
                hint="Release the cluster to give everything back.",
                detail={"container": name},
                code="launcher",
            )
        if container.state == "draining":
            raise Conflict(
                f"{name} is leaving already.",
                hint="Wait until its rank ended, or answer its offer.",
                detail={"container": name},
                code="draining",
            )
        if container not in chosen:
            chosen.append(container)
    return chosen


def choose_victims(
    containers: Sequence[Container], target: int, named: Sequence[str] = ()
) -> tuple[Container, ...]:
    """Choose who leaves so that `target` containers stay.

    Named ones are honoured exactly; the rest is not ready first, then newest. Never the launcher.

    Raises
    ------
    BadInput
        When more containers are named than leave.
    """
    there = members(containers)
    leaving = by_name(containers, named)
    surplus = max(0, len(there) - target)
    if len(leaving) > surplus:
        raise BadInput(
            f"{len(leaving)} containers are named, but only {surplus} leave at size {target}.",
            hint="Name at most as many containers as leave, or lower the size.",
            detail={"field": "victims", "limit": surplus},
        )
    rest = [item for item in there if item.role != "launcher" and item not in leaving]
    order = sorted(
        enumerate(rest), key=lambda pair: (pair[1].state == "ready", -_born(pair[1]), -pair[0])
    )
    leaving.extend(item for _, item in order[: surplus - len(leaving)])
    return tuple(leaving)


def _born(container: Container) -> float:
    # One that was not even created is the newest of all.
    return container.created if container.created is not None else float("inf")
