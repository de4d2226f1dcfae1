"""The output of one shell: its newest part in memory for terminals, more of it on disk for logs."""

from __future__ import annotations

import re

from .ring import Ring

MEMORY = 256 * 1024

# Questions to the terminal (its position, kind, colours): asked again from a replay they would be
# answered as input.
_QUESTIONS = re.compile(
    rb"\x1b\[[?>=]?[0-9;]*[cn]|\x1b\](?:1[0-9]|4;[0-9]+);\?(?:\x07|\x1b\\)|\x1bP[$+]q[^\x1b]*\x1b\\|\x1b\[[0-9;]*[$]p|\x1bZ"
)


class Stream:
    """Bytes with positions from 0.

    Parameters
    ----------
    path
        The ring file.
    """

    def __init__(self, path: str) -> None:
        self._ring = Ring(path)
        self._tail = bytearray()

    @property
    def total(self) -> int:
        """How many bytes there ever were."""
        return self._ring.total

    @property
    def start(self) -> int:
        """Position of the oldest byte in memory."""
        return self._ring.total - len(self._tail)

    def append(self, data: bytes) -> None:
        """Add to the end."""
        self._ring.append(data)
        self._tail += data
        if len(self._tail) > 2 * MEMORY:
            del self._tail[:-MEMORY]

    def read(self, position: int, most: int) -> tuple[bytes, int]:
        """Return bytes from `position` on and the position after them; what is gone is skipped."""
        at = max(0, position - self.start)
        data = bytes(self._tail[at : at + most])
        return data, self.start + at + len(data)

    def replay(self) -> bytes:
        """Return the newest part for a terminal that attaches; what is cut off ends with a line."""
        data = bytes(self._tail[-MEMORY:])
        if len(data) < self.total:
            data = data[data.find(b"\n") + 1 :]
        return _QUESTIONS.sub(b"", data)

    def close(self) -> None:
        """Close the file."""
        self._ring.close()
