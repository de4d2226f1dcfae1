"""Copies a child's output to where it would have gone and to a bounded file."""

from __future__ import annotations

import os
import selectors
import time

from .ring import Ring

READ_BYTES = 65536
AFTER_SECONDS = 1.0  # for what is still in the pipes when the child has ended


class Tee:
    """Two pipes, one for each of the child's output streams."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pipes = {1: os.pipe(), 2: os.pipe()}

    def redirect(self) -> None:
        """In the child: write to the pipes."""
        for target, (_, end) in self._pipes.items():
            os.dup2(end, target)

    def copy(self, child: int) -> int:
        """Copy until the child has ended and its output is read; returns its wait status."""
        ring = Ring(self._path)
        selector = selectors.DefaultSelector()
        for target, (source, end) in self._pipes.items():
            os.close(end)
            selector.register(source, selectors.EVENT_READ, target)
        status: int | None = None
        until = 0.0
        while selector.get_map() and (status is None or time.monotonic() < until):
            for key, _ in selector.select(0.2):
                data = os.read(key.fd, READ_BYTES)
                if not data:
                    selector.unregister(key.fd)
                    continue
                ring.append(data)
                _pass_on(key.data, data)
            if status is None:
                pid, found = os.waitpid(child, os.WNOHANG)
                if pid:
                    status, until = found, time.monotonic() + AFTER_SECONDS
        ring.close()
        return os.waitpid(child, 0)[1] if status is None else status


def _pass_on(target: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(target, view) :]
    except OSError:
        return  # nobody listens any more; the training goes on
