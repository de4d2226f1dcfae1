"""The story of a cluster in words: what its engine keeps, and what only this server saw."""

from __future__ import annotations

HISTORY_LINES = 50


class History:
    """Lines, newest first. The engine's outlive this server; ours stand where they happened."""

    def __init__(self, kept: tuple[str, ...] = ()) -> None:
        self._kept = kept
        self._lines = list(kept)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is shown."""
        return tuple(self._lines[:HISTORY_LINES])

    def add(self, line: str) -> None:
        """Add a line of this server's own."""
        self._lines.insert(0, line)
        del self._lines[HISTORY_LINES:]

    def follow(self, kept: tuple[str, ...]) -> None:
        """Take over the lines that the engine added since the last look."""
        fresh = _added(self._kept, kept)
        self._kept = kept
        self._lines[:0] = kept[:fresh]
        del self._lines[HISTORY_LINES:]


def _added(before: tuple[str, ...], now: tuple[str, ...]) -> int:
    """Count the lines at the front of `now` that `before` does not have; it may lose old ones."""
    for count in range(len(now) + 1):
        rest = now[count:]
        if rest == before[: len(rest)]:
            return count
    return len(now)
