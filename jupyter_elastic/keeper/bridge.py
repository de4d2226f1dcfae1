"""``bridge SOCKET``: standard input and output carried to a Unix socket, for a way in from outside.

Bytes only. A shell that has ended is answered for with its last frame, from its record.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time

from . import client, files, frames

WAIT_SECONDS = 10.0  # for a keeper that is just starting
POLL_SECONDS = 0.05
LAST_SECONDS = 10.0  # for what was read and is not taken
PIPE_BYTES = 4096  # what a pipe that can be written takes without blocking
READ_BYTES = 65536
FAILED = 1


def run(path: str) -> int:
    """Carry bytes until either side ends; 0 then, 1 with a line when nobody listens there."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        sock = _connect(path)
    except OSError as error:
        last = _last_frame(path)
        if last is not None:
            with contextlib.suppress(OSError):
                os.write(1, last)
            return 0
        print(f"bridge: {path}: {error.strerror or error}.", file=sys.stderr)
        return FAILED
    with sock:
        Bridge(sock).serve()
    return 0


def _connect(path: str) -> socket.socket:
    """Connect, as soon as somebody listens; OSError when it takes too long or has ended."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return client.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > until or _last_frame(path) is not None:
                raise
        time.sleep(POLL_SECONDS)


def _last_frame(path: str) -> bytes | None:
    """Return the frame that says how a shell ended, when its record does."""
    record = files.read_json(path[: -len(".sock")] + ".json") if path.endswith(".sock") else None
    if record is None or record.get("ended") is None:
        return None
    code = record.get("exit")
    text = record.get("text") or "This shell has ended."
    if isinstance(code, int):
        text = f"This shell has ended with exit code {code}."
    last = {"code": code, "reason": "gone", "text": text}
    return frames.encode(frames.EXIT, json.dumps(last).encode())


class Bridge:
    """One connection and this process's standard input and output."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._in = bytearray()  # read from standard input, for the socket
        self._out = bytearray()  # the other way
        self._input, self._open = True, True  # whether each side may still say something
        self._until: float | None = None

    def serve(self) -> None:
        """Carry until the socket is closed, and what it said is taken or nobody takes it."""
        self._sock.setblocking(False)
        try:
            while self._open or self._out:
                if not self._open and self._until is None:
                    self._until = time.monotonic() + LAST_SECONDS
                if self._until is not None and time.monotonic() > self._until:
                    return
                self._step()
        except OSError:
            return  # one side is gone

    def _step(self) -> None:
        """Wait until something can be carried; nothing more is read than can be passed on."""
        poll = select.poll()
        side = 0
        if self._open and not self._out:
            side |= select.POLLIN
        if self._open and self._in:
            side |= select.POLLOUT
        if side:  # else a closed one would wake us all the time
            poll.register(self._sock, side)
        if self._input and self._open and not self._in:
            poll.register(0, select.POLLIN)
        # Without a wish for it the poll still says that nobody reads our output any more.
        poll.register(1, select.POLLOUT if self._out else 0)
        for handle, mask in poll.poll(1000):
            if handle == 0:
                self._read_input()
            elif handle == 1:
                if mask & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                    raise BrokenPipeError
                if self._out:
                    del self._out[: os.write(1, self._out[:PIPE_BYTES])]
            else:
                self._side(mask)

    def _read_input(self) -> None:
        data = os.read(0, READ_BYTES)
        self._in += data
        if not data:
            self._input = False
            self._sock.shutdown(socket.SHUT_WR)

    def _side(self, mask: int) -> None:
        if mask & select.POLLOUT and self._in:
            try:
                del self._in[: self._sock.send(self._in)]
            except BlockingIOError:
                pass
            except OSError:  # it takes nothing any more; what it said is still read
                self._in.clear()
                self._input = False
        if mask & (select.POLLIN | select.POLLHUP | select.POLLERR) and not self._out:
            try:
                data = self._sock.recv(READ_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                data = b""
            self._out += data
            self._open = bool(data)
