"""Numbers that every engine checks again: the last one to look before something is made."""

from __future__ import annotations

from ..errors import BadInput, LimitReached
from ..models import Limit


def check_whole(value: object, field: str, least: int) -> int:
    """Return `value` when it is a whole number of at least `least`.

    Raises
    ------
    BadInput
        With ``field`` and ``limit`` in ``detail``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(
            f"{field} must be a whole number of at least {least}, not {value!r:.40}.",
            hint="The launcher counts as a container." if field == "size" else "",
            detail={"field": field, "limit": least},
        )
    return value


def check_size(value: object, limit: Limit, present: int = 0) -> int:
    """Return a size that is in 1 to the limit; a cluster that is above it may stay as it is.

    Raises
    ------
    BadInput
        Not a whole number, or below 1.
    LimitReached
        Above the limit; its text is the hint.
    """
    size = check_whole(value, "size", 1)
    if size > max(limit.size, present):
        raise LimitReached(
            f"{size} containers are more than the limit of {limit.size}.",
            hint=limit.text,
            detail={"field": "size", "limit": limit.size, "asked": size},
        )
    return size
