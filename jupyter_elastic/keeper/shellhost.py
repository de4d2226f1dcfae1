"""The process that holds one shell and its terminal; it outlives keeper, server and tab."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from typing import Any

from . import client, files, frames, identity, processes, pty_child
from .stream import Stream
from .viewer import Viewer

IDLE_SECONDS = 30.0  # a shell that nobody shows and where nothing runs ends after this
CHECK_SECONDS = 2.0
READ_BYTES = 65536
INPUT_LIMIT = 1024 * 1024
LINES = {
    "idle": "This shell ended: no terminal showed it and nothing ran in it.",
    "closed": "This shell was closed.",
    "stopped": "The launcher was stopped; this shell has ended with it.",
    "released": "The cluster was released; this shell has ended with it.",
}


class ShellHost:
    """One pty, its shell, and those who look at it.

    Parameters
    ----------
    folder
        The keeper's own folder.
    shell_id
        Names the files below ``shells``.
    spec
        ``argv``, ``env``, ``cwd``, ``rows``, ``columns``, ``command`` (whether it runs one command
        only), ``idle_seconds``.
    """

    def __init__(self, folder: str, shell_id: str, spec: dict[str, Any]) -> None:
        base = os.path.join(folder, "shells", shell_id)
        self._record_path, self._socket_path = base + ".json", base + ".sock"
        self._spec = spec
        self._selector = selectors.DefaultSelector()
        self._listener = client.listen(self._socket_path)
        self._listener.setblocking(False)
        try:
            self.pid, self.master = pty_child.start(
                spec["argv"], spec["env"], spec["cwd"], spec["rows"], spec["columns"]
            )
        except BaseException:
            files.remove(self._socket_path)
            raise
        self.stream = Stream(base + ".out")
        self.viewers: dict[int, Viewer] = {}
        self._input = bytearray()
        self._code: int | None = None
        self._over = False  # the shell and everything in its session have ended
        self._reason = "exit"
        self._kill_at: float | None = None
        self._alone_since = time.monotonic()
        self._next_check = time.monotonic() + CHECK_SECONDS
        self._record = {
            "id": shell_id,
            "pid": self.pid,
            "start": identity.start_time(self.pid) or 0,
            "host": identity.me(),
            "boot": identity.boot_id(),
            "cwd": spec["cwd"],
            "started": time.time(),
            "program": spec["argv"][0],
            "ended": None,
            "exit": None,
        }
        files.write_json(self._record_path, self._record, sync=False)

    # -- the loop -----------------------------------------------------------------------------

    def serve(self) -> None:
        """Run until the shell and everything in its session has ended."""
        wake, waker = os.pipe()
        for handle in (wake, waker):
            os.set_blocking(handle, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self.master, selectors.EVENT_READ)
        self._selector.register(wake, selectors.EVENT_READ)
        while not self._over:
            for key, mask in self._selector.select(
                0.2 if self._kill_at is not None else CHECK_SECONDS
            ):
                if key.fd == wake:
                    os.read(wake, 512)
                elif key.fd == self._listener.fileno():
                    self._accept()
                elif key.fd == self.master:
                    self._terminal(mask)
                else:
                    self._viewer(self.viewers[key.fd], mask)
            self._collect()
            self._check()
            self._update()
        self._finish()

    def _others(self) -> set[int]:
        """What lives in the shell's session beside the shell itself."""
        return processes.session(self.pid, processes.table()) - {self.pid}

    def _collect(self) -> None:
        if self._code is not None:
            return
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._code = pty_child.exit_code(status)
            self.drain(0.05)
            self._over = not self._others()
            if self._reason == "exit" and not self._over:
                self.stream.append(
                    b"\r\n[the shell has ended; what it started in the background goes on]\r\n"
                )

    def _terminal(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._feed()
        if mask & selectors.EVENT_READ:
            data = pty_child.read(self.master, READ_BYTES)
            if data:
                self.stream.append(data)
            elif data is not None:  # every process of the session has closed the terminal
                self._selector.unregister(self.master)
                self._input.clear()

    def _feed(self) -> None:
        try:
            del self._input[: os.write(self.master, self._input[:4096])]
        except BlockingIOError:
            return
        except OSError:
            self._input.clear()

    def drain(self, seconds: float) -> None:
        """Take what the terminal still holds; the kernel hands it over a moment late."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            data = pty_child.read(self.master, READ_BYTES)
            if data:
                self.stream.append(data)
                end = max(end, time.monotonic() + 0.005)
            elif data is None:
                time.sleep(0.002)
            else:
                return

    # -- those who look -----------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        self.viewers[sock.fileno()] = Viewer(sock)
        self._selector.register(sock, selectors.EVENT_READ)

    def _viewer(self, viewer: Viewer, mask: int) -> None:
        try:
            if mask & selectors.EVENT_READ:
                for kind, payload in viewer.receive():
                    self._frame(viewer, kind, payload)
            if mask & selectors.EVENT_WRITE:
                viewer.flush()
        except (OSError, ValueError):
            viewer.gone = True

    def _frame(self, viewer: Viewer, kind: bytes, payload: bytes) -> None:
        if kind in (frames.DATA, frames.RESIZE) and not viewer.shows:
            viewer.show(self.stream)
        if kind == frames.DATA:
            # A program that never reads loses what is over the limit, as with any terminal.
            self._input += payload[: max(0, INPUT_LIMIT - len(self._input))]
        elif kind == frames.RESIZE:
            pty_child.resize(self.master, *frames.size(payload))
        elif kind == frames.WATCH:
            viewer.watches = True
        elif kind == frames.POSITION:
            self.drain(0.03)
            viewer.send(frames.encode(frames.POSITION, str(self.stream.total).encode()))
        elif kind == frames.END:
            wanted = json.loads(payload)
            self.end(str(wanted.get("reason", "closed")), float(wanted.get("grace_seconds", 5)))

    def _update(self) -> None:
        """Say what is new to everybody, and let go of those who left."""
        attached = sum(viewer.shows and not viewer.gone for viewer in self.viewers.values())
        if attached:
            self._alone_since = time.monotonic()
        for fd, viewer in list(self.viewers.items()):
            viewer.tell(attached)
            viewer.fill(self.stream)
            if viewer.gone:
                self._selector.unregister(viewer.sock)
                viewer.sock.close()
                del self.viewers[fd]
            else:
                self._selector.modify(viewer.sock, viewer.mask())
        if self.master in self._selector.get_map():
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._input else 0)
            self._selector.modify(self.master, wanted)

    # -- ending -------------------------------------------------------------------------------

    def _check(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + CHECK_SECONDS
            self._signal(signal.SIGKILL)
        if now < self._next_check:
            return
        self._next_check = now + (0.2 if self._kill_at is not None else CHECK_SECONDS)
        if self._code is not None:
            self._over = not self._others()
            return
        alone = now - self._alone_since > float(self._spec.get("idle_seconds") or IDLE_SECONDS)
        if alone and not self._spec.get("command") and not self._others():
            self.end("idle", 2.0)

    def end(self, reason: str, grace_seconds: float) -> None:
        """Hang up the shell and what runs in it; KILL after the grace."""
        if self._kill_at is None:
            self._reason = reason
            self._kill_at = time.monotonic() + max(0.0, min(grace_seconds, 3600.0))
            self._signal(signal.SIGHUP)
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        among = processes.table()
        members = processes.session(self.pid, among)
        processes.send(processes.known(members, among), number)

    def _finish(self) -> None:
        self.drain(0.02)
        text = LINES.get(self._reason, "")
        last = {"code": self._code, "reason": self._reason, "text": text}
        end = frames.encode(frames.EXIT, json.dumps(last).encode())
        for viewer in self.viewers.values():
            viewer.last_words(self.stream, end)
        self._record.update(ended=time.time(), exit=self._code, reason=self._reason, text=text)
        # First the record, so that who finds no socket knows why.
        files.write_json(self._record_path, self._record, sync=False)
        files.remove(self._socket_path)
        self.stream.close()


def run(folder: str, shell_id: str) -> int:
    """Hold a shell whose spec comes on standard input; say ``ok`` or what is wrong, then serve."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    spec = json.loads(sys.stdin.buffer.read())
    try:
        host = ShellHost(folder, shell_id, spec)
        word = "ok"
    except OSError as error:
        host, word = None, f"{error.strerror or error}: {error.filename or spec['cwd']}"
    os.write(1, word.encode())
    quiet = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1):
        os.dup2(quiet, handle)
    if host is None:
        return 1
    signal.signal(signal.SIGTERM, lambda *_: host.end("closed", 5.0))
    host.serve()
    return 0
