"""Bounded output on disk that keeps the newest bytes: a ring whose head says how many there were.

Positions count bytes of the whole stream from 0, also those that are gone. The data is written
before the head, so a writer that is killed loses its last bytes at most.
"""

from __future__ import annotations

import os
import struct

_HEAD = struct.Struct(">8sQQ")  # mark, limit, total
_MARK = b"elastic1"
LIMIT = 4 * 1024 * 1024


class Ring:
    """The writer.

    Parameters
    ----------
    limit
        Bytes that are kept.
    """

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        self.limit = limit
        self.total = 0
        self.failed = False  # the disk did not take some of it
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError:
            self._file, self.failed = -1, True
        self._write_head()

    def append(self, data: bytes) -> None:
        """Add to the stream; a full disk loses the bytes and never stops the stream."""
        view = memoryview(data)
        position = self.total
        if len(view) > self.limit:
            position += len(view) - self.limit
            view = view[-self.limit :]
        while view:
            at = position % self.limit
            part = view[: self.limit - at]
            self._pwrite(part, _HEAD.size + at)
            position += len(part)
            view = view[len(part) :]
        self.total += len(data)
        self._write_head()

    def _write_head(self) -> None:
        self._pwrite(_HEAD.pack(_MARK, self.limit, self.total), 0)

    def _pwrite(self, data: bytes | memoryview, at: int) -> None:
        if self._file < 0:
            return
        try:
            view = memoryview(data)
            while view:
                done = os.pwrite(self._file, view, at)
                view, at = view[done:], at + done
        except OSError:
            self.failed = True

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read(path: str, start: int = 0, end: int | None = None, max_bytes: int = LIMIT) -> bytes:
    """Return the newest `max_bytes` of what is kept of ``[start, end)``; no file is empty."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        for _ in range(3):
            data, before, limit = _read(handle, start, end, max_bytes)
            after = _head(handle)[1]
            # What the writer has overtaken meanwhile is not what was asked for: look again.
            if after - before < limit // 2:
                break
        return data
    finally:
        os.close(handle)


def _head(handle: int) -> tuple[int, int]:
    raw = os.pread(handle, _HEAD.size, 0)
    if len(raw) < _HEAD.size:
        return 1, 0
    mark, limit, total = _HEAD.unpack(raw)
    return (int(limit), int(total)) if mark == _MARK and limit else (1, 0)


def _read(handle: int, start: int, end: int | None, max_bytes: int) -> tuple[bytes, int, int]:
    limit, total = _head(handle)
    last = total if end is None else max(0, min(end, total))
    first = max(start, total - limit, last - max_bytes, 0)
    parts = []
    while first < last:
        at = first % limit
        part = os.pread(handle, min(limit - at, last - first), _HEAD.size + at)
        if not part:
            break
        parts.append(part)
        first += len(part)
    return b"".join(parts), total, limit
