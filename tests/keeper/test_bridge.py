"""``bridge``: every byte, both ways, each end's end, a keeper that is late, a shell that is over."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_elastic.keeper import client, frames

from .harness import Kept, wait_for

BIG = os.urandom(3 * 1024 * 1024 + 17)


class Pipe:
    """A bridge to a socket of ours."""

    def __init__(self, kept: Kept, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(kept.folder / "keeper.pyz"), "bridge", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept.environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()


@pytest.fixture
def listener(stopped: Kept) -> Iterator[socket.socket]:
    made = client.listen(str(stopped.base / "far.sock"))
    made.settimeout(10)
    yield made
    made.close()


@pytest.fixture
def pipe(stopped: Kept, listener: socket.socket) -> Iterator[Pipe]:
    made = Pipe(stopped, stopped.base / "far.sock")
    yield made
    made.close()


def say(far: socket.socket) -> None:
    far.sendall(BIG)
    far.shutdown(socket.SHUT_WR)


def everything(far: socket.socket) -> bytes:
    parts = []
    while data := far.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_every_byte_both_ways_and_half_closed(pipe: Pipe, listener: socket.socket) -> None:
    far, _ = listener.accept()
    got: list[bytes] = []
    reading = threading.Thread(target=lambda: got.append(everything(far)))
    reading.start()
    pipe.input.write(BIG)
    pipe.input.close()
    reading.join(20)
    assert got == [BIG], "the end of the input came through, after all of it"
    sending = threading.Thread(target=say, args=(far,))
    sending.start()
    assert pipe.output.read() == BIG
    assert pipe.process.wait(10) == 0
    sending.join(10)
    far.close()


def test_both_ways_at_once_with_a_reader_that_is_late(pipe: Pipe, listener: socket.socket) -> None:
    far, _ = listener.accept()
    got: list[bytes] = []
    work = [
        threading.Thread(target=lambda: got.append(far.recv(len(BIG), socket.MSG_WAITALL))),
        threading.Thread(target=say, args=(far,)),
        threading.Thread(target=lambda: (pipe.input.write(BIG), pipe.input.flush())),
    ]
    for one in work:
        one.start()
    time.sleep(0.5)
    assert pipe.output.read() == BIG
    for one in work:
        one.join(10)
    assert got == [BIG]
    assert pipe.process.wait(10) == 0, "the other side said all, so this is over"
    far.close()


def test_it_ends_when_nobody_reads(pipe: Pipe, listener: socket.socket) -> None:
    far, _ = listener.accept()
    pipe.output.close()
    assert pipe.process.wait(10) == 0
    assert far.recv(1) == b""
    far.close()


def test_it_costs_nothing_while_nothing_is_taken(pipe: Pipe, listener: socket.socket) -> None:
    far, _ = listener.accept()
    far.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            far.send(BIG)
    far.close()  # what was sent is still to be read
    time.sleep(0.5)

    def ticks() -> int:
        text = Path(f"/proc/{pipe.process.pid}/stat").read_text()
        return sum(int(word) for word in text.rsplit(")", 1)[1].split()[11:13])

    before = ticks()
    time.sleep(1)
    assert ticks() - before <= 2
    assert len(pipe.output.read()) > 65536
    assert pipe.process.wait(10) == 0


def test_keeper_that_is_late(stopped: Kept) -> None:
    pipe = Pipe(stopped, stopped.folder / "keeper.sock")
    try:
        time.sleep(0.7)
        stopped.start()
        pipe.input.write(b'{"id": 1, "op": "hello"}\n')
        pipe.input.flush()
        assert json.loads(pipe.output.readline())["cluster"] == "c1"
        pipe.input.close()
        assert pipe.process.wait(10) == 0
    finally:
        pipe.close()


def test_nobody_there(stopped: Kept) -> None:
    code = (
        "import sys; from jupyter_elastic.keeper import bridge; bridge.WAIT_SECONDS = 0.3;"
        "sys.exit(bridge.run(sys.argv[1]))"
    )
    words = [sys.executable, "-c", code, str(stopped.base / "none.sock")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 1
    assert "none.sock" in done.stderr
    assert done.stdout == ""


def test_shell_that_has_ended(kept: Kept) -> None:
    shell = kept.open()
    terminal = kept.terminal(shell)
    terminal.type("exit 5\r")
    terminal.wait_exit()
    path = kept.folder / "shells" / f"{shell['id']}.sock"
    wait_for(lambda: not path.exists())
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", str(kept.folder / "keeper.pyz"), "bridge", str(path)],
        capture_output=True, stdin=subprocess.DEVNULL, timeout=20, check=False,
    )  # fmt: skip
    assert time.monotonic() - began < 5, "there is nothing to wait for"
    ((kind, payload),) = list(frames.Decoder().feed(done.stdout))
    assert kind == frames.EXIT
    last = json.loads(payload)
    assert (last["code"], last["reason"]) == (5, "gone")
    assert "exit code 5" in last["text"]
