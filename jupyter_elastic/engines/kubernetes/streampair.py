"""A command in a container as a pair of streams, for a protocol of lines over it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ...errors import ElasticError, Unreachable
from ..tasks import end_task
from .execstream import STATUS, STDERR, ExecStream
from .upgrade import V5

LINE_LIMIT = 1024 * 1024  # bytes, the keeper's limit for one line
ERRORS_KEPT = 4096  # bytes
WRITE_LIMIT = 4 * 1024 * 1024  # bytes that may wait to be sent


class StreamPair:
    """Reader and writer over a command, with the methods of asyncio's streams that a channel uses.

    Parameters
    ----------
    command
        The command; the pair is its only user from now on.
    limit
        Bytes of the longest line.
    """

    def __init__(self, command: ExecStream, *, limit: int = LINE_LIMIT) -> None:
        self._command = command
        self._limit = limit
        self._buffer = bytearray()
        self._ended = False
        self._errors = bytearray()
        self._pending = bytearray()
        self._wake, self._sent = asyncio.Event(), asyncio.Event()
        self._closing = False
        self._fault: ElasticError | None = None
        self._sender = asyncio.get_running_loop().create_task(self._send())

    @property
    def errors(self) -> str:
        """The end of what the command wrote to its error output."""
        return self._errors.decode("utf-8", "replace").strip()

    @property
    def exit(self) -> int | None:
        """Exit code, once the end was read."""
        return self._command.exit

    async def readline(self) -> bytes:
        """Return a line with its newline; at the end what is left, then b"".

        Raises
        ------
        ValueError
            The line is longer than the limit.
        ElasticError
            The connection broke, or the command could not be started.
        """
        searched = 0
        while (at := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._limit:
                raise ValueError(f"a line of more than {self._limit} bytes")
            if not await self._fill():
                return self._cut(len(self._buffer))
        if at > self._limit:
            raise ValueError(f"a line of more than {self._limit} bytes")
        return self._cut(at + 1)

    async def read(self, n: int = -1) -> bytes:
        """Return at most `n` bytes as soon as there are some, b"" at the end; -1: all."""
        while not self._ended and (n < 0 or not self._buffer):
            if n == 0 or not await self._fill():
                break
        return self._cut(len(self._buffer) if n < 0 else n)

    def at_eof(self) -> bool:
        """Whether nothing more can be read."""
        return self._ended and not self._buffer

    def write(self, data: bytes) -> None:
        """Send later; `drain` waits for it.

        Raises
        ------
        Unreachable
            The pair was closed, the connection broke, or more than 4 MiB wait.
        """
        if self._fault is not None:
            raise self._fault
        if self._closing:
            raise Unreachable("The connection to the command is closed.")
        if len(self._pending) + len(data) > WRITE_LIMIT:
            raise Unreachable("The command in the container does not read what it is sent.")
        self._pending += data
        self._sent.clear()
        self._wake.set()

    async def drain(self) -> None:
        """Wait until what was written has left; Unreachable when it cannot."""
        if self._pending:
            await self._sent.wait()
        if self._fault is not None:
            raise self._fault

    def close(self) -> None:
        """Begin to close: what was written is sent, then the input ends."""
        self._closing = True
        self._wake.set()

    def is_closing(self) -> bool:
        """Whether `close` was called."""
        return self._closing

    async def wait_closed(self, seconds: float = 2.0) -> None:
        """Close, give what is still unsent `seconds`, and let go of the command."""
        self.close()
        await asyncio.wait({self._sender}, timeout=seconds)
        await end_task(self._sender)
        await self._command.close()

    async def _send(self) -> None:
        try:
            while not self._closing or self._pending:
                if not self._pending:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                data = bytes(self._pending)
                await self._command.write(data)
                del self._pending[: len(data)]
                if not self._pending:
                    self._sent.set()
            if self._command.protocol == V5:
                with suppress(ElasticError):
                    await self._command.close_stdin()
            else:
                await self._command.close()
        except ElasticError as error:
            self._fault = error
        finally:
            self._sent.set()

    async def _fill(self) -> bool:
        """Read more into the buffer; False at the end."""
        while not self._ended:
            channel, data = await self._command.read()
            if channel == STATUS:
                self._ended = True
            elif channel == STDERR:
                self._errors += data
                del self._errors[:-ERRORS_KEPT]
            else:
                self._buffer += data
                return True
        return False

    def _cut(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data
