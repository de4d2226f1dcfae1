"""The way to one keeper: a Unix socket, connected for ever; a dead keeper is started again."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import logging
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import BadInput, Conflict, ElasticError, NotFound, TooLarge, Unreachable
from ...models import HostList, Run, Shell, to_json
from ..base import KeeperChannel, KeeperStatus, ReleaseRules, ShellRequest
from ..decode import DecodeError, decode
from ..tasks import answer_within, end_task, wait_or_timeout

LINE_LIMIT = 1024 * 1024  # bytes, the contract's limit for one line
ANSWER_SECONDS = 10.0
CONNECT_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS: dict[str, type[ElasticError]] = {
    "bad_input": BadInput,
    "not_found": NotFound,
    "conflict": Conflict,
    "too_large": TooLarge,
}
_log = logging.getLogger(__name__)


class LocalChannel(KeeperChannel):
    """Channel over ``keeper.sock``.

    Parameters
    ----------
    folder
        The keeper's own folder.
    ensure
        Starts the keeper where it does not live; False when this cluster is to have none any more.
    server
        What this server says about itself in ``hello``; read at each connection.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ensure: Callable[[], Awaitable[bool]],
        server: Callable[[], Mapping[str, Any] | None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._ensure = ensure
        self._server = server
        self._clock = clock
        self._status = KeeperStatus(reachable=False, since=clock())
        self._changed = asyncio.Condition()
        self._connected = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._task: asyncio.Task[None] | None = None
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
                _log.debug("Keeper of %s: %r", self._folder.name, error)
            await self._lost()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        await self._lost()
        self._task = None

    async def _session(self) -> bool:
        """Serve one connection until it ends; True when the keeper had answered."""
        path = str(self._folder / "keeper.sock")
        reader, self._writer = await asyncio.wait_for(
            asyncio.open_unix_connection(path, limit=LINE_LIMIT), CONNECT_SECONDS
        )
        greeting = asyncio.get_running_loop().create_task(self._greet())
        try:
            while line := await reader.readline():
                await self._take(json.loads(line))
        finally:
            await end_task(greeting)
            if not greeting.cancelled():
                greeting.exception()  # the connection is over, which is what it would say
        return self._connected.is_set()

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
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unreachable("The keeper went away before it answered."))
                future.exception()  # its caller may have given up: then nobody asks for it
        self._waiting.clear()
        if self._status.reachable:
            await self._set(dataclasses.replace(self._status, reachable=False, since=self._clock()))

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
            raise Unreachable(
                "The keeper of this cluster does not answer.",
                hint=f"Its log is {self._folder / 'keeper.log'}.",
            )
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

    # -- the interface ------------------------------------------------------------------------

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

    async def publish(self, hosts: HostList) -> None:
        """Hand over the list; an older one is ignored."""
        await self.request("hosts", **to_json(hosts))

    async def open_shell(self, request: ShellRequest) -> Shell:
        """Start a shell that outlives this server."""
        return decode(Shell, (await self.request("shell.open", **_fields(request)))["shell"])

    def attach_argv(self, shell_id: str) -> list[str]:
        """Return the command that shows a shell in a terminal."""
        socket = self._folder / "shells" / f"{_checked(shell_id)}.sock"
        return [sys.executable, "-I", str(self._folder / "keeper.pyz"), "attach", str(socket)]

    async def shell_output(self, shell_id: str) -> str:
        """Return the bounded output of a shell."""
        return str((await self.request("shell.output", shell=shell_id))["output"])

    async def close_shell(self, shell_id: str) -> None:
        """End a shell and what runs in it."""
        await self.request("shell.close", shell=shell_id)

    async def start_run(self, argv: tuple[str, ...], request: ShellRequest) -> Run:
        """Start a command without a terminal."""
        answer = await self.request("run.start", argv=list(argv), **_fields(request))
        return decode(Run, answer["run"])

    async def stop_run(self, run_id: str, grace_seconds: float) -> None:
        """TERM, grace, KILL."""
        await self.request("run.stop", run=run_id, grace_seconds=grace_seconds)

    async def run_log(self, run_id: str, max_bytes: int) -> str:
        """Return the end of a run's output."""
        answer = await self.request("run.log", run=run_id, max_bytes=max_bytes)
        return str(answer["output"])

    async def set_rules(self, rules: ReleaseRules) -> None:
        """Replace the release rules."""
        await self.request("rules", **to_json(rules))

    async def answer_offer(self, run_id: str, choice: str) -> None:
        """Answer the release offer of an ended run."""
        await self.request("offer.answer", run=run_id, choice=choice)

    async def preflight(self, request: ShellRequest, program: str) -> dict[str, str]:
        """Resolve the program and Python as the shell would."""
        # `program` of a ShellRequest is the shell; here it is what to look for.
        answer = await self.request("preflight", **{**_fields(request), "program": program})
        return {key: str(answer[key]) for key in ("program", "python", "error") if answer.get(key)}


def _fields(request: ShellRequest) -> dict[str, Any]:
    return {**to_json(request), "env": dict(request.env)}


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise NotFound("No such shell.", detail={"field": "shell"})
    return name


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
