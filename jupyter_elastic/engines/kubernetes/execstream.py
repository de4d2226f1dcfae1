"""A command that runs in a container: output, input, exit code, and signs of life.

The messages of its websocket begin with the number of a channel; they are bytes throughout, so a
character may be cut between two of them.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from ...errors import Conflict, ElasticError, NotFound, Unreachable
from ..tasks import end_task
from .dial import Connection
from .upgrade import V5, Place

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
BUFFER_LIMIT = 1024 * 1024  # bytes that wait for the reader before no more are taken
CHUNK = 32 * 1024  # bytes of one message to the container
STATUS_LIMIT = 64 * 1024
PING_SECONDS = 20.0  # shorter than what proxies wait on an idle connection
SILENCE_SECONDS = 60.0  # without a sign of life the connection is dead
CLOSE_SECONDS = 1.0


class ExecStream:
    """A command that runs in a container; made by `stream`.

    One task may read and another may write at the same time.
    """

    def __init__(
        self, connection: Connection, place: Place, *, ping: float, silence: float
    ) -> None:
        self._connection = connection
        self._place = place
        self._ping, self._silence = ping, silence
        self.protocol = connection.selected_subprotocol
        self.exit: int | None = None  # set once all output was read
        self._output: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._status = bytearray()
        self._ended = False
        self._dead = ""
        self._arrived, self._room = asyncio.Event(), asyncio.Event()
        self._writing = asyncio.Lock()
        loop = asyncio.get_running_loop()
        connection.heard = loop.time()
        self._tasks = [loop.create_task(self._receive()), loop.create_task(self._keep_alive())]

    async def read(self) -> tuple[int, bytes]:
        """Return a channel (1 output, 2 errors) and bytes of it; (3, b"") once it has ended.

        Raises
        ------
        Unreachable
            The connection broke before the exit code was told; what came until then was read.
        NotFound, Conflict
            The command could not be started.
        """
        while not self._output:
            if self._ended:
                self._settle()
                return STATUS, b""
            self._arrived.clear()
            await self._arrived.wait()
        channel, data = self._output.popleft()
        self._size -= len(data)
        self._room.set()
        return channel, data

    async def write(self, data: bytes) -> None:
        """Send input; returns when it has left, at the speed at which the command reads.

        Raises
        ------
        Unreachable
            The command has ended, or the connection broke.
        """
        async with self._writing:
            for start in range(0, len(data), CHUNK):
                # Let the loop read first: a write to an end that has closed discards what came.
                await asyncio.sleep(0)
                await self._send(STDIN, data[start : start + CHUNK])

    async def resize(self, rows: int, columns: int) -> None:
        """Tell the size of the terminal."""
        await self._send(RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())

    async def close_stdin(self) -> None:
        """End the input.

        Raises
        ------
        Conflict
            The API server speaks version 4 of the protocol, which cannot.
        """
        if self.protocol != V5:
            raise Conflict("This Kubernetes version cannot end the input of a command.")
        async with self._writing:
            await self._send(CLOSE, bytes([STDIN]))

    async def close(self) -> None:
        """Let go of the command. Most end when their input does, but nothing ends them here."""
        self._connection.close(1000)
        await end_task(self._tasks[1])
        self._output.clear()
        self._size = 0
        self._room.set()
        await asyncio.wait({self._tasks[0]}, timeout=CLOSE_SECONDS)
        self._connection.dialer.abandon()
        await end_task(self._tasks[0])

    async def _send(self, channel: int, data: bytes) -> None:
        try:
            await self._connection.write_message(bytes([channel]) + data, binary=True)
        except (WebSocketClosedError, StreamClosedError):
            raise Unreachable(
                f"The command in {self._place} has ended, or the connection to it broke."
            ) from None

    async def _receive(self) -> None:
        """Take messages while there is room for them."""
        try:
            while (message := await self._connection.read_message()) is not None:
                self._connection.heard = asyncio.get_running_loop().time()
                data = message if isinstance(message, bytes) else message.encode()
                self._take(data)
                while self._size > BUFFER_LIMIT:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._ended = True
            self._arrived.set()

    def _take(self, message: bytes) -> None:
        if len(message) < 2:
            return  # some servers open each channel with an empty message
        if message[0] == STATUS and len(self._status) < STATUS_LIMIT:
            self._status += message[1:]
        elif message[0] in (STDOUT, STDERR):
            self._output.append((message[0], message[1:]))
            self._size += len(message) - 1
            self._arrived.set()

    async def _keep_alive(self) -> None:
        """Send pings while nothing comes; end the connection when nothing comes back either.

        Never while output waits for the reader: then no answer can be seen, and a server that
        closes with a ping unread resets the connection, which loses the last of the output.
        """
        loop = asyncio.get_running_loop()
        connection = self._connection
        while not self._ended:
            await asyncio.sleep(self._ping / 2)
            if self._size > BUFFER_LIMIT:
                connection.heard = loop.time()
            quiet = loop.time() - connection.heard
            # The API server answers nothing while the command does not read what it was sent.
            patience = self._silence * (5 if self._writing.locked() else 1)
            if quiet > patience:
                self._dead = f"nothing was heard from it for {patience:g} s"
                connection.dialer.abandon()
                return
            if quiet >= self._ping / 2:
                with suppress(WebSocketClosedError, StreamClosedError):
                    connection.ping()

    def _settle(self) -> None:
        """Read the exit code from what came on the channel for it."""
        if not self._status:
            why = f": {self._dead}" if self._dead else ""
            raise Unreachable(
                f"The connection to {self._place} broke before the command's exit was told{why}.",
                hint="The command may still run there.",
            )
        self.exit = _exit_code(bytes(self._status), self._place)


def _exit_code(status: bytes, place: Place) -> int:
    """Return the exit code of a Status; an error when it says that nothing was run."""
    try:
        value = json.loads(status)
        if value["status"] == "Success":
            return 0
        causes = (value.get("details") or {}).get("causes") or []
        for cause in causes:
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
        said = str(value.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreachable(f"Kubernetes told the exit in {place} in a form that is none.") from None
    raise _not_started(said, place)


def _not_started(said: str, place: Place) -> ElasticError:
    detail = {"said": said[:512]}
    if "executable file not found" in said or "no such file or directory" in said:
        return NotFound(
            f"The {place} has no such program.",
            hint="Choose an image that has it.",
            detail=detail,
            code="no_program",
        )
    return Conflict(f"The {place} could not run the command: {said[:256]}", detail=detail)
