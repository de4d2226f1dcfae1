"""Talking with one keeper over any stream of lines: requests, answers, and its status.

It is connected for ever; what carries it is given as a function.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from ..errors import BadInput, Conflict, ElasticError, NotFound, TooLarge, Unreachable
from .base import KeeperStatus
from .decode import DecodeError, decode
from .opening import open_within
from .tasks import answer_within, end_task, wait_or_timeout, within

LINE_LIMIT = 1024 * 1024  # bytes, the contract's limit for one line
ANSWER_SECONDS = 10.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0

_KINDS: dict[str, type[ElasticError]] = {
    "bad_input": BadInput,
    "not_found": NotFound,
    "conflict": Conflict,
    "too_large": TooLarge,
}
_log = logging.getLogger(__name__)


class LineReader(Protocol):
    """The part of :class:`asyncio.StreamReader` that a channel needs."""

    async def readline(self) -> bytes:
        """Return one line with its end; less, or nothing, when the stream is over."""


class LineWriter(Protocol):
    """The part of :class:`asyncio.StreamWriter` that a channel needs."""

    def write(self, data: bytes) -> None:
        """Send, now or later."""

    async def drain(self) -> None:
        """Wait until the other end keeps up."""

    def close(self) -> None:
        """Begin to let go of the stream, both ways."""

    def wait_closed(self) -> Coroutine[Any, Any, None]:
        """Wait until it is closed."""


Connect = Callable[[], Awaitable[tuple[LineReader, LineWriter]]]


class Conversation:
    """Requests to one keeper over whatever `connect` opens.

    Parameters
    ----------
    connect
        Opens one stream to the keeper's socket; any error means that it cannot be reached now.
    ensure
        Starts the keeper where it does not live; False when this cluster is to have none any more.
    server
        What this server says about itself in ``hello``; read at each connection.
    name, hint
        Of the cluster, for the log; and what a person can do when the keeper does not answer.
    heartbeat_seconds
        How often a silent stream is asked for a sign of life; None where the system itself notices
        that the other end is gone.
    """

    def __init__(
        self,
        *,
        connect: Connect,
        ensure: Callable[[], Awaitable[bool]],
        server: Callable[[], Mapping[str, Any] | None] = lambda: None,
        clock: Callable[[], float] = time.time,
        name: str = "",
        hint: str = "",
        heartbeat_seconds: float | None = None,
    ) -> None:
        self._connect = connect
        self._ensure = ensure
        self._server = server
        self._clock = clock
        self._name, self._hint = name, hint
        self._heartbeat_seconds = heartbeat_seconds
        self._status = KeeperStatus(reachable=False, since=clock())
        self._changed = asyncio.Condition()
        self._connected = asyncio.Event()
        self._writer: LineWriter | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._task: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    # -- life ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to connect; does nothing when it has begun."""
        if self._task is None and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._keep_connected())

    async def close(self) -> None:
        """Let go of the keeper; it lives on."""
        self._closed = True
        if self._task is not None:
            await end_task(self._task)
            self._task = None
        await self._lost()
        if self._leaving:
            await asyncio.wait(set(self._leaving), timeout=CLOSE_SECONDS + 1.0)

    async def introduce(self) -> None:
        """Say again who this server is, after its address became known."""
        if self._connected.is_set():
            await self.request("hello", server=self._server())

    async def _keep_connected(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                if not await self._ensure():
                    break  # this cluster has no keeper any more
                if await self._session():
                    pause = FIRST_PAUSE
            except Exception as error:
                # Whatever it was, a watch never ends: try again, and leave a trace.
                _log.debug("Keeper of %s: %r", self._name, error)
            await self._lost()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        await self._lost()
        self._task = None

    async def _session(self) -> bool:
        """Serve one connection until it ends; True when the keeper had answered."""
        reader = await self._open()
        loop = asyncio.get_running_loop()
        greeting = loop.create_task(self._greet())
        parts = [loop.create_task(self._read(reader))]
        if self._heartbeat_seconds is not None:
            parts.append(loop.create_task(self._beat(self._heartbeat_seconds)))
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in [*parts, greeting]:
                await end_task(part)
            if not greeting.cancelled():
                greeting.exception()  # the connection is over, which is what it would say
        for part in parts:
            if not part.cancelled():
                part.result()
        return self._connected.is_set()

    async def _open(self) -> LineReader:
        opened = open_within(self._connect(), CONNECT_SECONDS, lambda pair: self._let_go(pair[1]))
        reader, self._writer = await opened
        return reader

    async def _read(self, reader: LineReader) -> None:
        while (line := await reader.readline()).endswith(b"\n"):
            if len(line) > LINE_LIMIT:
                raise DecodeError(f"the keeper sent a line of {len(line)} bytes")
            await self._take(json.loads(line))

    async def _beat(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._call("servers")

    async def _greet(self) -> None:
        await self._call("hello", server=self._server())
        await self._call("subscribe")

    async def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise DecodeError("the keeper sent something that is not an object")
        if message.get("event") == "status":
            await self._set(_status(message["status"], self._status, self._clock()))
            return
        future = self._waiting.pop(message.get("id", 0), None)
        if future is None or future.done():
            return
        if "status" in message and message.get("ok"):
            await self._set(_status(message["status"], self._status, self._clock()))
        future.set_result(message)

    async def _set(self, status: KeeperStatus) -> None:
        async with self._changed:
            if status.reachable:
                self._connected.set()
            if status != self._status:
                self._status = status
                self._changed.notify_all()

    async def _lost(self) -> None:
        self._connected.clear()
        writer, self._writer = self._writer, None
        if writer is not None:
            self._let_go(writer)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unreachable("The keeper went away before it answered."))
                future.exception()  # its caller may have given up: then nobody asks for it
        self._waiting.clear()
        if self._status.reachable:
            await self._set(dataclasses.replace(self._status, reachable=False, since=self._clock()))

    def _let_go(self, writer: LineWriter) -> None:
        """Close a stream; nobody has to wait until that is done."""

        async def closed() -> None:
            with contextlib.suppress(Exception):  # it is broken already, whatever carries it
                writer.close()
                await within(writer.wait_closed(), CLOSE_SECONDS)

        task = asyncio.get_running_loop().create_task(closed())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    # -- requests -----------------------------------------------------------------------------

    async def request(
        self,
        op: str,
        *,
        seconds: float = ANSWER_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
        **fields: Any,
    ) -> Any:
        """Ask the keeper, waiting until it is connected.

        Raises
        ------
        Unreachable
            No connection, or no answer, within `seconds`.
        ElasticError
            What the keeper refused, under its own code.
        """
        self.open()
        await wait_or_timeout(self._connected, connect_seconds)
        if not self._connected.is_set():
            raise Unreachable("The keeper of this cluster does not answer.", hint=self._hint)
        return await self._call(op, seconds=seconds, **fields)

    async def _call(self, op: str, *, seconds: float = ANSWER_SECONDS, **fields: Any) -> Any:
        writer = self._writer
        if writer is None:
            raise Unreachable("The keeper of this cluster does not answer.")
        number = next(self._numbers)
        line = json.dumps({"id": number, "op": op, **fields}).encode() + b"\n"
        if len(line) > LINE_LIMIT:
            raise TooLarge(f"The request has {len(line)} bytes, the limit is {LINE_LIMIT}.")
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            writer.write(line)
            await writer.drain()
            answer = await answer_within(future, seconds)
        except asyncio.TimeoutError:
            raise Unreachable(f"The keeper did not answer {op} within {seconds:g} s.") from None
        except OSError as error:
            raise Unreachable(f"The keeper went away: {error}.") from None
        finally:
            self._waiting.pop(number, None)
        if not answer.get("ok"):
            raise _refusal(answer.get("error") or {})
        return answer

    async def watch(self) -> AsyncIterator[KeeperStatus]:
        """Yield the status now and at each change."""
        self.open()
        seen: KeeperStatus | None = None
        while True:
            async with self._changed:
                while self._status == seen:
                    await self._changed.wait()
                seen = self._status
            yield seen


def _refusal(error: Mapping[str, Any]) -> ElasticError:
    code = str(error.get("code", "unreachable"))
    kind = _KINDS.get(code, ElasticError if code == "bug" else Conflict)
    return kind(
        str(error.get("message", "The keeper refused.")),
        hint=str(error.get("hint", "")),
        code=code,
    )


def _status(value: dict[str, Any], before: KeeperStatus, now: float) -> KeeperStatus:
    since = before.since if before.reachable else now
    return decode(KeeperStatus, {**value, "reachable": True, "since": since})
