"""Which sizes are allowed, and the sentence for each one that is not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import BadInput, Conflict, LimitReached
from ..models import Limit, Run


@dataclass(frozen=True)
class RunBounds:
    """What the live runs allow, in containers. ``maximum`` is a mark, never a lock."""

    run: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    elastic: bool = False


NO_RUN = RunBounds()


def whole_number(value: object, field: str = "size") -> int:
    """Return `value` when it is a whole number.

    Raises
    ------
    BadInput
        For text, booleans, fractions and nothing at all; ``detail.field`` is `field`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        shown = "nothing" if value is None else repr(value)[:40]
        raise BadInput(
            f"{field} must be a whole number, not {shown}.",
            hint="Give the number of containers, launcher included, e.g. 4.",
            detail={"field": field},
        )
    return value


def combined(*limits: Limit | None) -> Limit:
    """Return the smallest of several limits; its own words say who can change it."""
    known = [limit for limit in limits if limit is not None]
    return min(known, key=lambda limit: limit.size)


def check_size(
    value: object,
    limit: Limit,
    *,
    minimum: int = 1,
    valid_sizes: tuple[int, ...] | None = None,
    field: str = "size",
) -> int:
    """Check a size against the smallest form, the limit and what the framework can use.

    Parameters
    ----------
    value
        Number of containers, launcher included.
    limit
        The largest size now; its text is shown when `value` is above it.
    minimum
        1 for a target, 2 for the create form.
    valid_sizes
        The framework's own choice, or None when it can use every size.

    Raises
    ------
    BadInput
        Not a whole number, or below `minimum`.
    LimitReached
        Above the limit, or not one of `valid_sizes`.
    """
    size = whole_number(value, field)
    if size < minimum:
        raise BadInput(
            f"{field} must be at least {minimum}, not {size}.",
            hint="The launcher counts as a container and trains too.",
            detail={"field": field, "limit": minimum},
        )
    if size > limit.size:
        raise LimitReached(
            f"{size} containers are more than the limit of {limit.size}.",
            hint=limit.text,
            detail={"field": field, "limit": limit.size, "asked": size},
        )
    if valid_sizes is not None and size not in valid_sizes:
        raise LimitReached(
            f"This framework cannot use {size} containers.",
            hint="It can use " + ", ".join(str(item) for item in valid_sizes) + ".",
            detail={"field": field, "valid_sizes": list(valid_sizes), "asked": size},
            code="size_not_usable",
        )
    return size


def run_bounds(runs: Iterable[Run], slots: int) -> RunBounds:
    """Return the floor and the mark of the live runs, in containers.

    An elastic run has its own range in ranks; every other run needs all the ranks it started with.
    """
    bounds = NO_RUN
    for run in runs:
        ranks = run.min_np if run.elastic and run.min_np else run.np
        if not run.live or ranks is None:
            continue
        minimum = max(1, math.ceil(ranks / slots))
        if bounds.minimum is not None and bounds.minimum >= minimum:
            continue
        maximum = run.max_np // slots if run.elastic and run.max_np else None
        bounds = RunBounds(run.id, minimum, maximum, run.elastic)
    return bounds


def check_run(size: int, bounds: RunBounds, *, force: bool) -> None:
    """Refuse a size below what the live run needs, unless it is forced.

    Raises
    ------
    Conflict
        With code ``below_run_minimum`` and the minimum in ``detail``.
    """
    if bounds.minimum is None or size >= bounds.minimum or force:
        return
    what = "can shrink to" if bounds.elastic else "needs all of its"
    raise Conflict(
        f"The live run {what} {bounds.minimum} containers, not {size}.",
        hint="Stop the run first, or force it: the run then ends or waits.",
        detail={"field": "size", "minimum": bounds.minimum, "run": bounds.run},
        code="below_run_minimum",
    )
