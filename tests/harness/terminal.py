"""A terminal of a Jupyter server, over its own websocket, as the browser uses it."""

from __future__ import annotations

import asyncio
import json
import re
from types import TracebackType

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from .lab import TOKEN, LabServer

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """One open tab: what it shows (``text``, escape sequences left out) and what is typed."""

    def __init__(self, server: LabServer, name: str) -> None:
        self._server = server
        self._name = name
        self._socket: WebSocketClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.text = ""

    async def __aenter__(self) -> Terminal:
        server = self._server
        url = f"ws://{server.host}:{server.port}{server.base}terminals/websocket/{self._name}"
        headers = {"Authorization": f"token {TOKEN}"}
        self._socket = await websocket_connect(HTTPRequest(url, headers=headers))
        self._reader = asyncio.ensure_future(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the tab's connection."""
        if self._socket is None or self._reader is None:
            return
        self._socket.close()
        # The reader ends with the connection; only then is the socket really closed.
        await asyncio.wait([self._reader], timeout=5)
        self._reader.cancel()
        self._socket = None

    async def _read(self) -> None:
        connection = self._socket
        assert connection is not None
        while True:
            message = await connection.read_message()
            if message is None:
                return
            kind, *rest = json.loads(message)
            if kind == "stdout":
                self.text += ESCAPES.sub("", rest[0])
                self._changed.set()

    async def type(self, text: str) -> None:
        """Send keys."""
        assert self._socket is not None
        await self._socket.write_message(json.dumps(["stdin", text]))

    async def expect(self, pattern: str, *, seconds: float = 20, after: int = 0) -> re.Match[str]:
        """Wait until the pattern shows behind position `after`; fail with what is shown."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            found = re.search(pattern, self.text[after:])
            if found:
                return found
            left = end - loop.time()
            if left <= 0:
                shown = self.text[after:][-4000:]
                raise AssertionError(f"waited {seconds} s for {pattern!r}; shown:\n{shown}")
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), min(left, 1.0))
            except asyncio.TimeoutError:
                continue
