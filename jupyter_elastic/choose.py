"""Which cluster is meant: the only one, else the one created or named last, else a clear error."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Conflict, NotFound
from .models import Cluster

_SHOWN = 20  # of a long list


def choose(clusters: Sequence[Cluster], wanted: str | None, last: str | None) -> Cluster:
    """Pick a cluster.

    Parameters
    ----------
    wanted
        Id or display name; None: decide from the rest.
    last
        Id of the cluster that was created or named last.

    Raises
    ------
    NotFound
        None there, or none of that name.
    Conflict
        Several fit; the message lists them.
    """
    if wanted is not None:
        return _named(clusters, wanted)
    # One that is on its way out is only meant when it is named or nothing else is there.
    living = [item for item in clusters if item.state not in ("releasing", "ended")]
    candidates = living or list(clusters)
    if not candidates:
        raise NotFound(
            "There is no cluster.", hint="Create one in the panel or with %elastic_create NAME."
        )
    if len(candidates) == 1:
        return candidates[0]
    for item in candidates:
        if item.id == last:
            return item
    raise Conflict(
        f"There are {len(candidates)} clusters: {_list(candidates)}.",
        hint="Say which with --cluster NAME.",
        code="ambiguous",
    )


def _named(clusters: Sequence[Cluster], wanted: str) -> Cluster:
    for item in clusters:
        if item.id == wanted:
            return item
    same = [item for item in clusters if item.name == wanted]
    living = [item for item in same if item.state not in ("releasing", "ended")]
    same = living or same
    if len(same) == 1:
        return same[0]
    if same:
        raise Conflict(
            f"{len(same)} clusters are named {wanted!r}: {_list(same)}.",
            hint="Give the id.",
            code="ambiguous",
        )
    there = f"There are: {_list(clusters)}." if clusters else "There is none."
    raise NotFound(f"No cluster {wanted[:80]!r}.", hint=there)


def _list(clusters: Sequence[Cluster]) -> str:
    words = ", ".join(f"{item.name} ({item.id})" for item in clusters[:_SHOWN])
    more = len(clusters) - _SHOWN
    return f"{words} and {more} more" if more > 0 else words
