"""``attach``: shows a shell in this terminal. Ending it leaves the shell alone."""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import socket
import sys
import termios
import time
import tty
from typing import Any, Iterator

from . import client, frames

#: How long an attach is tried after a cut, and the pauses in between, in seconds.
RETRY_SECONDS = 120.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0
STEADY_SECONDS = 5.0  # a connection that is cut sooner counts as one more try
CUT = 1  # exit code
CLEAR = b"\x1b[0m\x1b[H\x1b[2J\x1b[3J"

_LEAVE = (b"\r", b"\n", b"\x03", b"\x04")


def run(path: str) -> int:
    """Show the shell behind a socket until it ends or this terminal goes.

    Returns
    -------
    int
        The shell's exit code; 1 when the connection was cut and cannot be had again.
    """
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _leave)
    with _raw():
        last, reached = _show_on(path)
        if last is not None and last.get("reason") == "exit":
            code = last.get("code")
            return code if isinstance(code, int) else 0
        if reached or last is not None:
            _say(str((last or {}).get("text") or _why_gone(path)))
            return _wait()
        _say("The connection to this shell cannot be had again; the shell itself may go on.")
        _wait()
        return CUT


def _show_on(path: str) -> tuple[dict[str, Any] | None, bool]:
    """Show the shell, again after a cut; its last frame, and whether we know that it has ended.

    Who is behind the socket may only carry our bytes elsewhere: as long as somebody listens there,
    the end of a connection is not the end of the shell.
    """
    until: float | None = None  # None: it was not cut yet
    told = False
    pause = FIRST_PAUSE
    while True:
        try:
            sock = client.connect(path)
        except OSError:
            return None, True
        began = time.monotonic()
        with sock:
            if until is not None and not told:
                told = True
                line = f"The connection was cut; trying again for {RETRY_SECONDS:g} s."
                _write(f"\r\n\x1b[0m[{line}]\r\n".encode())
            last, shown = _show(sock, again=until is not None)
        if last is not None:
            return last, True
        if until is None or (shown and time.monotonic() - began > STEADY_SECONDS):
            until, told, pause = time.monotonic() + RETRY_SECONDS, False, FIRST_PAUSE
        elif time.monotonic() > until:
            return None, False
        _rest(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _rest(seconds: float) -> None:
    """Wait, and drop what is typed meanwhile; end with the terminal."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not os.isatty(0):
            time.sleep(left)
        elif select.select([0], [], [], left)[0] and not os.read(0, 4096):
            raise SystemExit(0)


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


def _show(sock: socket.socket, *, again: bool) -> tuple[dict[str, Any] | None, bool]:
    """Pass on both ways; return the shell's last frame, or None when the connection was lost.

    The second value says whether it showed anything.

    Parameters
    ----------
    again
        The terminal shows this shell already: what comes begins with that once more.
    """
    wake, waker = os.pipe()
    for handle in (wake, waker):
        os.set_blocking(handle, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    shown = _Shown(again)
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
                    last = shown.take(data)
                    if last is not None or not data:
                        return last, shown.anything
    except (ConnectionError, ValueError):
        return None, shown.anything
    finally:
        signal.set_wakeup_fd(-1)
        selector.close()
        os.close(wake)
        os.close(waker)


class _Shown:
    """What one connection showed."""

    def __init__(self, again: bool) -> None:
        self.anything = False
        self._again = again
        self._decoder = frames.Decoder()

    def take(self, data: bytes) -> dict[str, Any] | None:
        """Show what came; return the shell's last frame when that is among it."""
        for kind, payload in self._decoder.feed(data):
            if kind == frames.DATA:
                if self._again and not self.anything:
                    _write(CLEAR)
                self.anything = True
                _write(payload)
            elif kind == frames.EXIT:
                last: dict[str, Any] = json.loads(payload)
                return last
        return None


def _write(data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        raise SystemExit(0) from None
    sys.stdout.flush()
