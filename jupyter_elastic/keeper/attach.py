"""``attach``: shows a shell in this terminal. Ending it leaves the shell alone."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import termios
import tty
from typing import Any, Iterator

from . import client, frames

_LEAVE = (b"\r", b"\n", b"\x03", b"\x04")


def run(path: str) -> int:
    """Show the shell behind a socket until it ends or this terminal goes."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        sock = client.connect(path)
    except OSError:
        with _raw():
            _say(_why_gone(path))
            return _wait()
    with sock, _raw():
        last = _show(sock)
        if last is not None and last.get("reason") == "exit":
            code = last.get("code")
            return code if isinstance(code, int) else 0
        _say(str((last or {}).get("text") or _why_gone(path)))
        return _wait()


def _leave(*_: object) -> None:
    raise SystemExit(0)


def _why_gone(path: str) -> str:
    record: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError), open(path[: -len(".sock")] + ".json") as handle:
        record = json.load(handle)
    code = record.get("exit")
    return (
        "This shell has ended." if code is None else f"This shell has ended with exit code {code}."
    )


def _say(text: str) -> None:
    _write(f"\r\n\x1b[0m[{text} Press Enter to close.]\r\n".encode())


def _wait() -> int:
    while True:
        data = os.read(0, 256)
        if not data or any(mark in data for mark in _LEAVE):
            return 0


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Pass every key on as it is, and put the terminal back afterwards."""
    if not os.isatty(0):
        yield
        return
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def _size() -> bytes:
    try:
        found = os.get_terminal_size(0)
    except OSError:
        return frames.encode(frames.RESIZE, b"24 80")
    return frames.encode(frames.RESIZE, f"{found.lines} {found.columns}".encode())


def _show(sock: socket.socket) -> dict[str, Any] | None:
    """Pass on both ways; return the shell's last frame, or None when the connection was lost."""
    wake, waker = os.pipe()
    for handle in (wake, waker):
        os.set_blocking(handle, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    decoder = frames.Decoder()
    selector = selectors.DefaultSelector()
    for source in (sock.fileno(), wake):
        selector.register(source, selectors.EVENT_READ)
    with contextlib.suppress(PermissionError):  # a file as standard input cannot be waited for
        selector.register(0, selectors.EVENT_READ)
    try:
        sock.sendall(_size())
        while True:
            for key, _ in selector.select():
                if key.fd == wake:
                    os.read(wake, 512)
                    sock.sendall(_size())
                elif key.fd == 0:
                    typed = os.read(0, 65536)
                    if not typed:
                        raise SystemExit(0)
                    sock.sendall(frames.encode(frames.DATA, typed))
                else:
                    data = sock.recv(65536)
                    if not data:
                        return None
                    for kind, payload in decoder.feed(data):
                        if kind == frames.DATA:
                            _write(payload)
                        elif kind == frames.EXIT:
                            last: dict[str, Any] = json.loads(payload)
                            return last
    except (ConnectionError, ValueError):
        return None


def _write(data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        raise SystemExit(0) from None
    sys.stdout.flush()
