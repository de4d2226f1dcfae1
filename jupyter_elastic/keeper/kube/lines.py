"""Events out of the bytes of a watch: one JSON object a line, nothing before its newline."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from .errors import BrokenStream

LONGEST_LINE = 4 * 1024 * 1024


class Event(NamedTuple):
    """One event of a watch."""

    kind: str
    object: dict[str, Any]


class Lines:
    """Whole lines out of a stream that may be cut anywhere, inside a character too.

    Parameters
    ----------
    longest
        Bytes that one line may have.
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._held = 0

    @property
    def unfinished(self) -> bool:
        """Whether the stream stands inside a line."""
        return self._held > 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes and return the lines they finish, without their ends; empty ones are left out.

        Raises
        ------
        BrokenStream
            A line is too long.
        """
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join(self._parts) + whole[0]
            self._parts, self._held = [], 0
        if rest:
            self._parts.append(rest)
            self._held += len(rest)
        if self._held > self._longest or any(len(line) > self._longest for line in whole):
            raise BrokenStream(f"A line of the stream has more than {self._longest} bytes.")
        return [line for line in whole if line.strip()]


def parse(line: bytes) -> Event:
    """Return the event of one line.

    Raises
    ------
    BrokenStream
        It is not one.
    """
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BrokenStream("The stream holds a line that is not JSON.") from None
    kind = value.get("type") if isinstance(value, dict) else None
    content = value.get("object") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not isinstance(content, dict):
        raise BrokenStream("The stream holds a line that is not an event.")
    return Event(kind, content)
