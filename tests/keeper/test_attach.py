"""``attach`` over a connection that is cut, as when the way to the shell's machine breaks."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_elastic.keeper import client

from .harness import Kept, wait_for
from .test_shells import read_until

PROGRAM = """
import sys
from jupyter_elastic.keeper import attach
attach.RETRY_SECONDS, attach.STEADY_SECONDS = float(sys.argv[2]), 0.3
sys.exit(attach.run(sys.argv[1]))
"""


class Relay:
    """Carries each connection to a shell, until it is told not to."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path, self.target = path, target
        self.broken = False
        self.accepted = 0
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = client.listen(str(path))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.broken:
                near.close()
                continue
            far = client.connect(str(self.target))
            self._pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def cut(self) -> None:
        for pair in self._pairs:
            for one in pair:
                with contextlib.suppress(OSError):  # the other end has gone first
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        self._pairs.clear()

    def close(self) -> None:
        self.cut()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink(missing_ok=True)


@pytest.fixture
def relay(kept: Kept) -> Iterator[Relay]:
    made = Relay(kept.base / "relay.sock", kept.folder / "shells" / f"{kept.open()['id']}.sock")
    yield made
    made.close()


def attach(kept: Kept, relay: Relay, seconds: float) -> tuple[int, int]:
    """Start ``attach`` on a terminal of its own, and wait until it shows the shell."""
    pid, master = pty.fork()
    if pid == 0:
        words = [sys.executable, "-c", PROGRAM, str(relay.path), str(seconds)]
        os.execv(sys.executable, words)
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
    return pid, master


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_cut_is_mended(kept: Kept, relay: Relay) -> None:
    pid, master = attach(kept, relay, 60)
    try:
        os.write(master, b"echo bef''ore\r")
        read_until(master, b"before\r\n")
        time.sleep(0.5)
        relay.broken = True
        relay.cut()
        said = read_until(master, b"trying again")
        assert said.count(b"trying again") == 1
        wait_for(lambda: relay.accepted >= 4, what="more than one try")
        assert kept.status()["shells"][0]["attached"] == 0
        relay.broken = False
        said = read_until(master, b"before\r\n")
        assert b"trying again" not in said, "it is said once for each cut"
        assert b"\x1b[2J" in said, "what is shown again does not stand there twice"
        os.write(master, b"echo af''ter; exit 4\r")
        read_until(master, b"after\r\n")
        assert code_of(pid) == 4
    finally:
        os.close(master)


def test_a_cut_that_lasts(kept: Kept, relay: Relay) -> None:
    pid, master = attach(kept, relay, 1.0)
    try:
        os.write(master, b"echo bef''ore\r")
        read_until(master, b"before\r\n")
        relay.broken = True
        relay.cut()
        read_until(master, b"cannot be had again")
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the line must stay until it was read"
        os.write(master, b"\r")
        assert code_of(pid) == 1
        assert len(kept.status()["shells"]) == 1, "the shell goes on"
    finally:
        os.close(master)


def test_tab_that_is_closed_during_a_cut(kept: Kept, relay: Relay) -> None:
    pid, master = attach(kept, relay, 60)
    try:
        relay.broken = True
        relay.cut()
        read_until(master, b"trying again")
        os.kill(pid, signal.SIGHUP)
        assert code_of(pid) == 0
    finally:
        os.close(master)


def test_killed_holder_of_the_shell_is_no_cut(kept: Kept) -> None:
    shell = kept.open()
    path = kept.folder / "shells" / f"{shell['id']}.sock"
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, str(path), "60"])
    try:
        wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
        holder = next(
            one
            for one in kept.processes()
            if f"shell\0{kept.folder}\0{shell['id']}" in Path(f"/proc/{one}/cmdline").read_text()
        )
        os.kill(holder, signal.SIGKILL)
        said = read_until(master, b"has ended")
        assert b"trying again" not in said
        os.write(master, b"\r")
        assert code_of(pid) == 0
    finally:
        os.close(master)
