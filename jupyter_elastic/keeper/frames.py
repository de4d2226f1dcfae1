"""Frames of a shell's socket: one byte of type, four of length (big endian), payload."""

from __future__ import annotations

import struct
from typing import Iterator

DATA, RESIZE, EXIT = b"d", b"r", b"x"
#: Beside the terminal's own: watch the state, ask for the position in the stream, end the shell.
WATCH, POSITION, END = b"w", b"o", b"q"
LIMIT = 1024 * 1024
_HEAD = struct.Struct(">cI")


def encode(kind: bytes, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return _HEAD.pack(kind, len(payload)) + payload


class Decoder:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield (type, payload) of each frame that is complete now.

        Raises
        ------
        ValueError
            A frame is longer than the limit.
        """
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._buffer)
            if length > LIMIT:
                raise ValueError(f"A frame of {length} bytes, the limit is {LIMIT}.")
            if len(self._buffer) < _HEAD.size + length:
                return
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            yield kind, payload


def size(payload: bytes) -> tuple[int, int]:
    """Return (rows, columns) of a resize frame, within limits; 24 x 80 for anything else."""
    try:
        rows, columns = (int(word) for word in payload.split())
    except ValueError:
        return 24, 80
    return max(1, min(rows, 2000)), max(1, min(columns, 4000))
