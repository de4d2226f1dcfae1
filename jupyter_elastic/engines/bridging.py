"""Shells of other machines in a Jupyter terminal: the attach protocol over a stream to there.

The terminal runs the keeper's ``attach`` program on a Unix socket of this server. Each connection
to it is carried to the shell's own socket (:class:`AttachBridge`), or to a command on a terminal of
its own in a container (:class:`TtyBridge`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from ..errors import ElasticError, Forbidden, NotFound
from ..keeper import client, frames, identity, peer
from ..keeper.paths import ensure_private
from .conversation import LineWriter
from .opening import open_within
from .tasks import end_task, within

OPEN_SECONDS = 20.0
LAST_SECONDS = 5.0
CHUNK = 32 * 1024  # bytes of output in one frame
END_OF_COMMAND = 3  # the channel on which a container's exit comes
HANG_UP = b"\x03\x04"  # Ctrl-C, Ctrl-D: nothing else tells a shell that its terminal has gone
_log = logging.getLogger(__name__)


class ByteReader(Protocol):
    """The part of :class:`asyncio.StreamReader` that a bridge needs."""

    async def read(self, n: int) -> bytes:
        """Return at most `n` bytes as soon as there are some; none when the stream is over."""


class Tty(Protocol):
    """A command on a terminal of its own in a container."""

    @property
    def exit(self) -> int | None:
        """Its exit code, once the end was read."""

    async def read(self) -> tuple[int, bytes]:
        """Return a channel and bytes of it; ``(3, b"")`` once the command has ended."""

    def write(self, data: bytes) -> Coroutine[Any, Any, None]:
        """Type."""

    async def resize(self, rows: int, columns: int) -> None:
        """Tell the size of the terminal."""

    async def close(self) -> None:
        """Let go of the command."""


class Bridge(ABC):
    """Listens on a Unix socket for terminals of this user.

    Parameters
    ----------
    folder
        Where the socket is made; a private folder, with a short path.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.sock"
        self._server: asyncio.AbstractServer | None = None
        self._starting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> Path:
        """Begin to listen, and return the path of the socket; again: it only returns the path.

        Raises
        ------
        OSError
            The folder is not private, or the socket cannot be made.
        """
        if self._starting is None:
            folder = ensure_private(str(self.path.parent))
            _sweep(Path(folder))
            listener = client.listen(str(self.path))
            self._starting = asyncio.get_running_loop().create_task(self._listen(listener))
        return self.path

    async def close(self) -> None:
        """Listen no more, and let go of every terminal."""
        if self._starting is not None:
            await asyncio.wait(
                {self._starting}
            )  # it takes no time, and half of it cannot be undone
        if self._server is not None:
            self._server.close()
        for task in set(self._tasks):
            await end_task(task)
        with contextlib.suppress(OSError):
            self.path.unlink()

    async def _listen(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_unix_server(self._came, sock=listener)

    def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The folder keeps others out; this is for a folder that was opened by mistake.
            if peer.uid_of(writer.get_extra_info("socket")) == os.getuid():
                await self.show(reader, writer)
                await within(writer.drain(), LAST_SECONDS)
        except Exception as error:
            # The terminal sees a cut connection, and tries again.
            _log.debug("A terminal was let go of: %r", error)
        finally:
            writer.close()

    @abstractmethod
    async def show(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one terminal until it leaves or there is nothing left to show."""


class AttachBridge(Bridge):
    """Carries each terminal to the socket of one shell of a keeper elsewhere.

    Parameters
    ----------
    folder
        Where the socket is made; a private folder, with a short path.
    open_stream
        Opens a fresh stream to the shell's socket, for one terminal. What it raises is a cut
        connection, after which the terminal tries again; NotFound and Forbidden end it.
    """

    def __init__(
        self, folder: Path, open_stream: Callable[[], Awaitable[tuple[ByteReader, LineWriter]]]
    ) -> None:
        super().__init__(folder)
        self._open_stream = open_stream

    async def show(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes both ways, each at the speed of who takes them."""
        opening = open_within(self._open_stream(), OPEN_SECONDS, lambda pair: pair[1].close())
        try:
            far_reader, far_writer = await opening
        except (NotFound, Forbidden) as error:
            writer.write(_last_frame(None, "gone", error.message))
            return
        try:
            await _either(_carry(reader, far_writer), _carry(far_reader, writer))
        finally:
            far_writer.close()
            with contextlib.suppress(Exception):  # it may be broken, which is no news by now
                await within(far_writer.wait_closed(), LAST_SECONDS)


class TtyBridge(Bridge):
    """Shows a command on a terminal of its own in a container; each connection starts one.

    Parameters
    ----------
    folder
        Where the socket is made; a private folder, with a short path.
    open_tty
        Starts the command. It cannot be taken up again, so the terminal is told when it is over.
    """

    def __init__(self, folder: Path, open_tty: Callable[[], Awaitable[Tty]]) -> None:
        super().__init__(folder)
        self._open_tty = open_tty
        self._discarded: set[asyncio.Future[None]] = set()

    async def show(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Translate frames to the command's channels and back."""
        try:
            tty = await open_within(self._open_tty(), OPEN_SECONDS, self._discard)
        except ElasticError as error:
            writer.write(_last_frame(None, "gone", error.message))
            return
        except asyncio.TimeoutError:
            text = f"The container did not answer within {OPEN_SECONDS:g} s."
            writer.write(_last_frame(None, "gone", text))
            return
        typing = asyncio.ensure_future(_type(reader, tty))
        showing = asyncio.ensure_future(_show(tty, writer))
        try:
            await asyncio.wait({typing, showing}, return_when=asyncio.FIRST_COMPLETED)
            if not showing.done():
                await _hang_up(typing, showing, tty)
        finally:
            for task in (typing, showing):
                await end_task(task)
                if not task.cancelled():
                    task.exception()  # who left or broke needs no more words
            await tty.close()

    def _discard(self, tty: Tty) -> None:
        closing = asyncio.ensure_future(tty.close())
        self._discarded.add(closing)
        closing.add_done_callback(self._discarded.discard)


async def _carry(reader: ByteReader, writer: LineWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


async def _either(*work: Coroutine[Any, Any, None]) -> None:
    """Go on until one of them ends; raise what it raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            await end_task(task)
            if not task.cancelled():
                task.exception()
    for task in done:
        task.result()


async def _type(reader: asyncio.StreamReader, tty: Tty) -> None:
    """Pass on keys and sizes until the terminal leaves."""
    decoder = frames.Decoder()
    while data := await reader.read(CHUNK):
        for kind, payload in decoder.feed(data):
            if kind == frames.DATA:
                await tty.write(payload)
            elif kind == frames.RESIZE:
                await tty.resize(*frames.size(payload))


async def _show(tty: Tty, writer: asyncio.StreamWriter) -> None:
    """Pass on the output until the command ends, and then how it ended."""
    try:
        while (item := await tty.read())[0] != END_OF_COMMAND:
            for at in range(0, len(item[1]), CHUNK):
                writer.write(frames.encode(frames.DATA, item[1][at : at + CHUNK]))
            await writer.drain()
        last = _last_frame(tty.exit, "exit", "")
    except ElasticError as error:
        last = _last_frame(None, "gone", error.message)
    writer.write(last)


async def _hang_up(typing: asyncio.Future[None], showing: asyncio.Future[None], tty: Tty) -> None:
    """End the command of a terminal that has left; else wait for the end that was not read yet."""
    if typing.exception() is None:
        with contextlib.suppress(ElasticError, asyncio.TimeoutError):
            await within(tty.write(HANG_UP), 1.0)
    await asyncio.wait({showing}, timeout=1.0)


def _last_frame(code: int | None, reason: str, text: str) -> bytes:
    # Words of another machine must not steer the terminal.
    plain = "".join(letter for letter in text if letter.isprintable())
    last = {"code": code, "reason": reason, "text": plain}
    return frames.encode(frames.EXIT, json.dumps(last).encode())


def _sweep(folder: Path) -> None:
    """Remove the sockets of servers that were killed."""
    for path in folder.glob("*-*.sock"):
        pid, _, _ = path.name.partition("-")
        if pid.isdigit() and identity.start_time(int(pid)) is None:
            path.unlink(missing_ok=True)
