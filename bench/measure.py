"""What a measurement is, and the small arithmetic they share."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table. ``limit`` None: a figure without a promise."""

    what: str
    value: float
    unit: str
    limit: float | None
    spread: str = ""

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.limit is None or self.value <= self.limit


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that `percent` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, round(percent / 100 * len(ordered) + 0.5)) if percent < 100 else len(ordered)
    return ordered[min(rank, len(ordered)) - 1]


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Say median, lowest and highest."""
    return (
        f"median {statistics.median(values):.{digits}f}, "
        f"{min(values):.{digits}f} to {max(values):.{digits}f}, n={len(values)}"
    )


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | measured | limit | kept | spread |", "|---|---|---|---|---|"]
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:g} {row.unit}"
        kept = "" if row.limit is None else ("yes" if row.kept else "**no**")
        lines.append(
            f"| {row.what} | {row.value:.3g} {row.unit} | {limit} | {kept} | {row.spread} |"
        )
    return "\n".join(lines)
