"""What a change of target would do, computed without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..models import Change, Container, Limit, Plan, Run
from .limits import RunBounds, check_size, run_bounds
from .victims import choose_victims, members
from .words import growth_text, run_growth_text, run_shrink_text, shrink_text


@dataclass(frozen=True)
class Situation:
    """Everything a plan depends on."""

    cluster: str
    containers: tuple[Container, ...]
    target: int
    limit: Limit
    slots: int
    gpus_per_container: int
    growth: Change
    shrink: Change
    runs: tuple[Run, ...] = ()
    valid_sizes: tuple[int, ...] | None = None
    busy_hosts: tuple[str, ...] = ()


def make_plan(
    situation: Situation,
    size: object,
    named: Sequence[str] = (),
    *,
    replace: bool = False,
) -> Plan:
    """Compute the plan for `size` containers.

    Parameters
    ----------
    size
        The target, launcher included.
    named
        Names of containers that must be among those that leave.
    replace
        The named ones leave and new ones take their place: the size stays.

    Raises
    ------
    BadInput, LimitReached, NotFound, Conflict
        See :func:`~.limits.check_size` and :func:`~.victims.by_name`.
    """
    limit = situation.limit
    # A cluster above a limit that sank meanwhile may stay or shrink, only not grow.
    if not isinstance(size, bool) and isinstance(size, int) and size <= situation.target:
        limit = Limit(max(limit.size, situation.target), limit.text)
    target = check_size(size, limit, valid_sizes=situation.valid_sizes)
    there = members(situation.containers)
    victims = choose_victims(situation.containers, target - len(named) * replace, named)
    add = target - (len(there) - len(victims))
    bounds = run_bounds(situation.runs, situation.slots)
    ends_run = _ends_run(situation, target, victims, bounds)
    gpus = situation.gpus_per_container
    return Plan(
        cluster=situation.cluster,
        current=len(there),
        target=target,
        add=max(0, add),
        remove=tuple(item.name for item in victims),
        starts_now=max(0, add),
        waits=0,
        gpus=(max(0, add) - len(victims)) * gpus,
        change=situation.shrink if victims else situation.growth,
        confirm=ends_run,
        text=_text(target, victims, add, gpus, bounds, ends_run),
        warnings=_warnings(situation, target, bounds),
        np=target * situation.slots,
    )


def _text(
    target: int,
    victims: Sequence[Container],
    add: int,
    gpus: int,
    bounds: RunBounds,
    ends_run: bool,
) -> str:
    parts: list[str] = []
    if victims:
        parts.append(shrink_text(victims, len(victims) * gpus))
        parts.append(run_shrink_text(target, bounds, ends_run))
    if add > 0:
        parts.append(growth_text(add, add * gpus, add, 0))
        parts.append(run_growth_text(bounds))
    return " ".join(part for part in parts if part) or "Nothing changes."


def _ends_run(
    situation: Situation, target: int, victims: Sequence[Container], bounds: RunBounds
) -> bool:
    """Whether a person must agree: a live run ends, restarts or waits, or a busy worker goes."""
    if not victims:
        return False
    if bounds.minimum is not None and target < bounds.minimum:
        return True
    busy = any(item.busy or item.host in situation.busy_hosts for item in victims)
    return busy and not bounds.elastic and situation.shrink != "live"


def _warnings(situation: Situation, target: int, bounds: RunBounds) -> tuple[str, ...]:
    warnings = []
    if bounds.maximum is not None and target > bounds.maximum:
        idle = target - bounds.maximum
        warnings.append(f"{idle} of them stay idle: above the maximum of the live run.")
    if bounds.minimum is not None and target < bounds.minimum:
        warnings.append(f"Below the minimum of the live run, {bounds.minimum}.")
    return tuple(warnings)
