"""Terminals of this server on shells elsewhere: bytes, cuts, ends, and who may come in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines import bridging
from jupyter_elastic.engines.bridging import AttachBridge, TtyBridge
from jupyter_elastic.errors import NotFound, Unreachable
from jupyter_elastic.keeper import frames, peer

from .conftest import until

BIG = os.urandom(2 * 1024 * 1024)


@pytest.fixture
def short() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


class Terminal:
    """What ``attach`` is to a bridge."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.output = b""
        self.exit: dict[str, Any] | None = None

    @classmethod
    async def on(cls, path: Path) -> Terminal:
        return cls(*await asyncio.open_unix_connection(str(path)))

    def type(self, data: bytes) -> None:
        self.writer.write(frames.encode(frames.DATA, data))

    def resize(self, rows: int, columns: int) -> None:
        self.writer.write(frames.encode(frames.RESIZE, f"{rows} {columns}".encode()))

    async def all(self, seconds: float = 10.0) -> None:
        """Read to the end of the connection."""
        decoder = frames.Decoder()

        async def read() -> None:
            while data := await self.reader.read(65536):
                for kind, payload in decoder.feed(data):
                    if kind == frames.DATA:
                        self.output += payload
                    else:
                        self.exit = json.loads(payload)

        await asyncio.wait_for(read(), seconds)

    def close(self) -> None:
        self.writer.close()


class Shell:
    """A shell's socket elsewhere, and the streams to it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp")) / "s"
        self.there: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.opened: list[asyncio.StreamWriter] = []
        self.error: Exception | None = None
        self.wait = asyncio.Event()
        self.wait.set()
        self._server: asyncio.AbstractServer | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(
            lambda *pair: self.there.append(pair), str(self.path)
        )

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        await self.wait.wait()
        if self.error is not None:
            raise self.error
        pair = await asyncio.open_unix_connection(str(self.path))
        self.opened.append(pair[1])
        return pair

    async def newest(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async def came() -> bool:
            return bool(self.there)

        await until(came, "a stream to the shell")
        return self.there[-1]

    def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for _, writer in self.there:
            writer.close()
        for writer in self.opened:
            writer.close()
        shutil.rmtree(self.path.parent)


@pytest.fixture
async def shell() -> AsyncIterator[Shell]:
    made = Shell()
    await made.start()
    yield made
    made.stop()


@pytest.fixture
async def bridge(short: Path, shell: Shell) -> AsyncIterator[AttachBridge]:
    made = AttachBridge(short / "b", shell.open)
    made.open()
    yield made
    await made.close()
    assert list((short / "b").iterdir()) == [], "it leaves nothing behind"


async def test_socket_is_private(bridge: AttachBridge) -> None:
    assert bridge.open() == bridge.path, "again it only returns the path"
    assert bridge.path.stat().st_mode & 0o777 == 0o600
    assert bridge.path.parent.stat().st_mode & 0o777 == 0o700


async def test_open_folder_is_refused(short: Path, shell: Shell) -> None:
    short.chmod(0o755)
    with pytest.raises(OSError, match="open to other users"):
        AttachBridge(short, shell.open).open()


async def test_sockets_of_killed_servers_are_swept(short: Path, shell: Shell) -> None:
    short.chmod(0o700)
    (short / "4194303-abc.sock").touch()
    (short / f"{os.getpid()}-abc.sock").touch()
    made = AttachBridge(short, shell.open)
    made.open()
    assert sorted(short.iterdir()) == sorted([short / f"{os.getpid()}-abc.sock", made.path])
    await made.close()


async def test_every_byte_both_ways(bridge: AttachBridge, shell: Shell) -> None:
    terminal = await Terminal.on(bridge.path)
    terminal.writer.write(BIG)
    reader, writer = await shell.newest()
    assert await reader.readexactly(len(BIG)) == BIG
    writer.write(BIG)
    assert await terminal.reader.readexactly(len(BIG)) == BIG
    terminal.close()
    assert await reader.read() == b"", "the terminal left, so the stream ends"


async def test_a_terminal_that_does_not_read_holds_up_the_stream(
    bridge: AttachBridge, shell: Shell
) -> None:
    terminal = await Terminal.on(bridge.path)
    _, writer = await shell.newest()
    terminal.reader._transport.pause_reading()  # type: ignore[attr-defined]
    sent = 0
    with contextlib.suppress(asyncio.TimeoutError):
        while sent < 64 * len(BIG):
            writer.write(BIG)
            await asyncio.wait_for(writer.drain(), 0.5)
            sent += len(BIG)
    assert sent < 8 * len(BIG), "nothing is kept for it without limit"
    terminal.close()


async def test_each_terminal_has_a_stream_of_its_own(bridge: AttachBridge, shell: Shell) -> None:
    terminals = [await Terminal.on(bridge.path) for _ in range(3)]

    async def all_there() -> bool:
        return len(shell.there) == 3

    await until(all_there, "three streams")
    shell.there[1][1].close()
    await asyncio.sleep(0.1)
    for number, (_, writer) in enumerate(shell.there):
        if number != 1:
            writer.write(b"x")
    ended = [await asyncio.wait_for(one.reader.read(1), 5) for one in terminals]
    assert sorted(ended) == [b"", b"x", b"x"]
    for one in terminals:
        one.close()


async def test_last_words_arrive_before_the_end(bridge: AttachBridge, shell: Shell) -> None:
    terminal = await Terminal.on(bridge.path)
    _, writer = await shell.newest()
    writer.write(frames.encode(frames.DATA, b"bye"))
    writer.write(frames.encode(frames.EXIT, b'{"code": 3, "reason": "exit", "text": ""}'))
    writer.close()
    await terminal.all()
    assert (terminal.output, terminal.exit) == (
        b"bye",
        {"code": 3, "reason": "exit", "text": ""},
    )
    terminal.close()


async def test_what_cannot_be_reached_now_is_a_cut(bridge: AttachBridge, shell: Shell) -> None:
    for error in (Unreachable("No."), OSError("broken"), ValueError("odd")):
        shell.error = error
        terminal = await Terminal.on(bridge.path)
        await terminal.all()
        assert terminal.exit is None, "the terminal tries again"
        terminal.close()


async def test_what_is_gone_is_said(bridge: AttachBridge, shell: Shell) -> None:
    shell.error = NotFound("The launcher \x1b[31mis gone.")
    terminal = await Terminal.on(bridge.path)
    await terminal.all()
    assert terminal.exit == {"code": None, "reason": "gone", "text": "The launcher [31mis gone."}
    terminal.close()


async def test_stream_that_does_not_open_in_time(
    bridge: AttachBridge, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridging, "OPEN_SECONDS", 0.1)
    shell.wait.clear()
    terminal = await Terminal.on(bridge.path)
    await terminal.all()
    assert terminal.exit is None
    terminal.close()


async def test_closed_bridge_lets_go_of_its_terminals(short: Path, shell: Shell) -> None:
    made = AttachBridge(short / "b", shell.open)
    made.open()
    terminal = await Terminal.on(made.path)
    reader, _ = await shell.newest()
    await made.close()
    await terminal.all()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    assert not made.path.exists()
    terminal.close()


async def test_only_this_user(
    bridge: AttachBridge, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "uid_of", lambda _: os.getuid() + 1)
    terminal = await Terminal.on(bridge.path)
    await terminal.all()
    assert shell.opened == []
    terminal.close()


# -- a plain shell in a container -------------------------------------------------------------


class FakeTty:
    """A command on a terminal in a container."""

    def __init__(self) -> None:
        self.exit: int | None = None
        self.typed = b""
        self.sizes: list[tuple[int, int]] = []
        self.output: asyncio.Queue[tuple[int, bytes] | Exception] = asyncio.Queue()
        self.closed = 0

    async def read(self) -> tuple[int, bytes]:
        item = await self.output.get()
        if isinstance(item, Exception):
            raise item
        return item

    async def write(self, data: bytes) -> None:
        if self.exit is not None:
            raise Unreachable("It has ended.")
        self.typed += data
        if b"\x04" in data:
            self.end(0)

    async def resize(self, rows: int, columns: int) -> None:
        self.sizes.append((rows, columns))

    async def close(self) -> None:
        self.closed += 1

    def end(self, code: int) -> None:
        self.exit = code
        self.output.put_nowait((3, b""))


class Container:
    """Starts commands."""

    def __init__(self) -> None:
        self.started: list[FakeTty] = []
        self.error: Exception | None = None

    async def open(self) -> FakeTty:
        if self.error is not None:
            raise self.error
        self.started.append(FakeTty())
        return self.started[-1]


@pytest.fixture
def container() -> Container:
    return Container()


@pytest.fixture
async def terminal(short: Path, container: Container) -> AsyncIterator[Terminal]:
    made = TtyBridge(short / "b", container.open)
    one = await Terminal.on(made.open())
    yield one
    one.close()
    await made.close()


async def tty_of(container: Container) -> FakeTty:
    async def started() -> bool:
        return bool(container.started)

    await until(started, "the command")
    return container.started[0]


async def test_tty_keys_sizes_output_and_exit(terminal: Terminal, container: Container) -> None:
    terminal.resize(33, 101)
    terminal.type(b"ls\r")
    terminal.type(b"\x03")
    tty = await tty_of(container)

    async def typed() -> bool:
        return tty.typed == b"ls\r\x03" and tty.sizes == [(33, 101)]

    await until(typed, "what was typed")
    tty.output.put_nowait((1, BIG))
    tty.output.put_nowait((1, b"\xff\r\n"))
    tty.end(7)
    await terminal.all()
    assert terminal.output == BIG + b"\xff\r\n"
    assert terminal.exit == {"code": 7, "reason": "exit", "text": ""}
    assert tty.closed == 1


async def test_tty_that_is_cut(terminal: Terminal, container: Container) -> None:
    tty = await tty_of(container)
    tty.output.put_nowait(Unreachable("The connection broke."))
    await terminal.all()
    assert terminal.exit == {"code": None, "reason": "gone", "text": "The connection broke."}
    assert tty.closed == 1


async def test_tty_of_a_terminal_that_left_is_hung_up(
    terminal: Terminal, container: Container
) -> None:
    tty = await tty_of(container)
    terminal.close()

    async def closed() -> bool:
        return tty.closed == 1

    await until(closed, "the end")
    assert tty.typed == b"\x03\x04"


async def test_tty_typed_after_its_end(terminal: Terminal, container: Container) -> None:
    tty = await tty_of(container)
    tty.exit = 9
    terminal.type(b"x")
    await asyncio.sleep(0.1)
    tty.end(9)
    await terminal.all()
    assert terminal.exit is not None
    assert terminal.exit["code"] == 9, "how it ended is not lost"


async def test_tty_that_does_not_start(short: Path, container: Container) -> None:
    container.error = NotFound("The image has no sh.")
    made = TtyBridge(short / "b", container.open)
    one = await Terminal.on(made.open())
    await one.all()
    assert one.exit is not None
    assert one.exit["text"] == "The image has no sh."
    one.close()
    await made.close()
