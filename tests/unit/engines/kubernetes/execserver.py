"""An API server that knows exec only; what a command does there is a function of the test."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_elastic.keeper.kube.access import Access

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
SUCCESS = {"metadata": {}, "status": "Success"}


def failure(code: int) -> dict[str, Any]:
    """The Status of a command that ended with a code."""
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": causes},
    }


def refusal(code: int, message: str) -> tuple[int, bytes]:
    """An answer instead of an upgrade."""
    body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return code, json.dumps(body).encode()


@dataclass
class Session:
    """One command: what it was started with, what came in, and how to answer."""

    handler: Any
    argv: list[str]
    query: dict[str, list[str]]
    protocol: str
    incoming: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)

    async def send(self, channel: int, data: bytes = b"") -> None:
        """Send one message."""
        await self.handler.write_message(bytes([channel]) + data, binary=True)

    async def end(self, status: Any = SUCCESS) -> None:
        """Tell the exit and close."""
        await self.send(3, json.dumps(status).encode())
        self.handler.close()

    async def read_input(self, count: int | None = None) -> bytes:
        """Return input: `count` bytes, or all until it was closed or the client went."""
        data = bytearray()
        while count is None or len(data) < count:
            message = await self.incoming.get()
            if message is None or message[:2] == b"\xff\x00":
                break
            if message[0] == 0:
                data += message[1:]
        return bytes(data)


Behaviour = Callable[[Session], Awaitable[None]]


@dataclass
class ExecServer:
    """What it speaks, whom it refuses, what commands do."""

    behave: Behaviour
    protocols: tuple[str, ...] = (V5, V4)
    refusals: list[tuple[int, bytes]] = field(default_factory=list)
    token: str = "good"
    sessions: list[Session] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    certificates: list[Any] = field(default_factory=list)
    address: str = ""


class _Handler(WebSocketHandler):
    server: ExecServer

    def initialize(self, server: ExecServer) -> None:
        self.server = server
        self._task: asyncio.Task[None] | None = None

    async def get(self, *args: Any, **kwargs: Any) -> None:
        server, headers = self.server, self.request.headers
        server.requests.append(self.request)
        if self.request.protocol == "https":
            server.certificates.append(self.request.get_ssl_certificate())
        offered = headers.get("Sec-Websocket-Protocol", "").split(",")
        answer = server.refusals.pop(0) if server.refusals else None
        if answer is None and headers.get("Authorization") != f"Bearer {server.token}":
            answer = refusal(401, "Unauthorized")
        if answer is None and not set(server.protocols) & set(offered):
            answer = (403, b"")  # what servers before 1.30 say to version 5
        if answer is not None:
            self.set_status(answer[0])
            self.finish(answer[1])
            return
        await super().get(*args, **kwargs)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return next((name for name in subprotocols if name in self.server.protocols), None)

    def open(self, *_args: str) -> None:
        self.set_nodelay(True)
        query = {
            key: [value.decode() for value in values]
            for key, values in self.request.query_arguments.items()
        }
        session = Session(self, query.get("command", []), query, self.selected_subprotocol or "")
        self.session = session
        self.server.sessions.append(session)
        self._task = asyncio.ensure_future(self._behave(session))

    async def _behave(self, session: Session) -> None:
        try:
            for channel in (1, 2, 3):
                await session.send(channel)  # as some servers do
            await self.server.behave(session)
        except (WebSocketClosedError, StreamClosedError):
            pass

    def on_message(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        self.session.incoming.put_nowait(message)

    def on_close(self) -> None:
        self.session.incoming.put_nowait(None)

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


@asynccontextmanager
async def running(
    server: ExecServer, context: ssl.SSLContext | None = None
) -> AsyncIterator[ExecServer]:
    """Run a server on a port of its own."""
    path = r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/exec"
    http = HTTPServer(Application([(path, _Handler, {"server": server})]), ssl_options=context)
    sockets = bind_sockets(0, "127.0.0.1")
    http.add_sockets(sockets)
    scheme = "https" if context else "http"
    server.address = f"{scheme}://127.0.0.1:{sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        http.stop()
        for session in server.sessions:
            await session.handler.end()
            session.handler.close()
            if session.handler.ws_connection is not None:
                session.handler.ws_connection._abort()
        await http.close_all_connections()
        await asyncio.sleep(0)


class TokenAccess(Access):
    """An access by tokens: the next one after each reload."""

    def __init__(
        self,
        server: str,
        *tokens: str,
        proxy: str | None = None,
        server_name: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(server, "team", proxy, server_name)
        self.tokens = list(tokens or ("good",))
        self.reloads = 0
        self.tls = tls

    def context(self) -> ssl.SSLContext | None:
        return self.tls

    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.tokens[0]}",
            "Impersonate-Group": "a",
            "impersonate-Group": "b",
        }

    def reload(self) -> None:
        self.reloads += 1
        if len(self.tokens) > 1:
            self.tokens.pop(0)
