"""The connection below a websocket: through a proxy, and by another name in the certificate.

tornado's client knows neither; both are added where it opens its connection.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from tornado.httpclient import HTTPRequest
from tornado.httputil import HTTPHeaders, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream
from tornado.tcpclient import TCPClient
from tornado.websocket import WebSocketClientConnection

from ...errors import Unreachable
from ..tasks import within

CONNECT_SECONDS = 10.0
MESSAGE_LIMIT = 32 * 1024 * 1024  # bytes of one message from the API server
_ANSWER_LIMIT = 64 * 1024


class Dialer(TCPClient):
    """Opens the connection.

    Parameters
    ----------
    proxy
        ``http://[user:password@]host:port``, or None.
    server_name
        The name to ask for and to expect in the certificate; None: the host's.
    """

    def __init__(self, proxy: str | None, server_name: str | None) -> None:
        super().__init__()
        self._proxy = proxy
        self._server_name = server_name
        self.abandoned = False
        self.stream: IOStream | None = None

    def abandon(self) -> None:
        """Close the connection, now or as soon as it is there."""
        self.abandoned = True
        if self.stream is not None:
            self.stream.close()

    async def connect(  # type: ignore[override]
        self, host: str, port: int, *, ssl_options: Any = None, **options: Any
    ) -> IOStream:
        """Connect, proxy and TLS included; asyncio.TimeoutError after 10 s."""
        stream = await within(self._dial(host, port, ssl_options, options), CONNECT_SECONDS)
        self.stream = stream
        if self.abandoned:
            stream.close()
        return stream

    async def _dial(
        self, host: str, port: int, ssl_options: Any, options: dict[str, Any]
    ) -> IOStream:
        target = (host, port)
        if self._proxy:
            parts = urlsplit(self._proxy)
            host, port = parts.hostname or "", parts.port or 80
        options = {key: options[key] for key in ("af", "max_buffer_size") if key in options}
        stream = await super().connect(host, port, **options)
        try:
            _keep_alive(stream.socket)
            if self._proxy:
                await _tunnel(stream, *target, self._proxy)
            if ssl_options is None:
                return stream
            return await _secure(stream, ssl_options, self._server_name or target[0])
        except BaseException:
            if stream.socket is not None:
                stream.close()
            raise


class Connection(WebSocketClientConnection):
    """A websocket over a dialer that also notes when it last heard from the other end."""

    def __init__(
        self, request: HTTPRequest, protocols: list[str], dialer: Dialer, now: float
    ) -> None:
        self.dialer = dialer
        self.heard = now
        self._drained = False
        super().__init__(request, subprotocols=protocols, max_message_size=MESSAGE_LIMIT)

    def abandon(self) -> None:
        """Let go of it at once, in whatever state it is."""
        self.dialer.abandon()
        if self.protocol is not None:
            self.close()

    async def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        """Take the answer; one that comes after all has been given up is closed again."""
        await super().headers_received(start_line, headers)
        if self.dialer.abandoned and self.protocol is not None:
            self.close()

    def on_ws_connection_close(
        self, close_code: int | None = None, close_reason: str | None = None
    ) -> None:
        """Take the end from the loop that reads messages: it has seen all of them."""
        self._drained = True
        super().on_ws_connection_close(close_code, close_reason)

    def on_connection_close(self) -> None:
        """Pass over the end of the connection below, which comes before its last messages are read.

        So a write that fails because the other end has closed does not lose what it said last.
        """
        if self._drained or self.protocol is None:
            super().on_connection_close()

    async def run(self) -> None:
        """Open the connection by the dialer; called once by the base class."""
        self.tcp_client = self.dialer
        await super().run()

    def on_pong(self, data: bytes) -> None:
        """Take note of a sign of life."""
        self.heard = asyncio.get_running_loop().time()

    def on_ping(self, data: bytes) -> None:
        """Take note of a sign of life."""
        self.heard = asyncio.get_running_loop().time()


async def _tunnel(stream: IOStream, host: str, port: int, proxy: str) -> None:
    """Ask a proxy for a tunnel."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    parts = urlsplit(proxy)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        lines.append("Proxy-Authorization: Basic " + base64.b64encode(pair).decode())
    await stream.write("\r\n".join([*lines, "", ""]).encode("ascii"))
    answer = await stream.read_until(b"\r\n\r\n", max_bytes=_ANSWER_LIMIT)
    status = answer.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(status) < 2 or status[1] != "200":
        said = " ".join(status[1:])[:80] or "nothing"
        raise Unreachable(
            f"The proxy {parts.hostname}:{parts.port or 80} does not let us through to the "
            f"Kubernetes API server: it says {said!r}.",
            hint="Ask whoever runs the proxy, or list the API server in NO_PROXY.",
        )


async def _secure(stream: IOStream, ssl_options: Any, name: str) -> IOStream:
    """Begin TLS. A stream that is given up in the middle would stay open: nothing refers to it."""
    with stream.socket.dup() as handle:
        try:
            return await stream.start_tls(False, ssl_options, server_hostname=name)
        except BaseException:
            with suppress(OSError):
                handle.shutdown(socket.SHUT_RDWR)
            raise


def _keep_alive(sock: socket.socket) -> None:
    # Without TCP_USER_TIMEOUT: it would also end a connection whose other end is alive and does
    # not read because the program in the container does not.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def reason_of(error: BaseException) -> str:
    """Return in words why no connection was made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'closed'})"
    inner = getattr(error, "real_error", None)
    if isinstance(inner, BaseException):
        return reason_of(inner)
    if isinstance(error, socket.gaierror):
        return "its name cannot be resolved"
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
