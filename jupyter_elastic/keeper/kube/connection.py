"""One connection to the API server: TLS, a proxy on the way, and a kernel that watches the peer."""

from __future__ import annotations

import base64
import contextlib
import http.client
import select
import socket
import ssl
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from .access import Access


class Place(NamedTuple):
    """Where a connection goes."""

    secure: bool
    host: str
    port: int
    proxy: tuple[str, int] | None
    proxy_headers: dict[str, str]

    @property
    def name(self) -> str:
        """Host and port, as in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _place_of(access: Access) -> Place:
    parts = urlsplit(access.server)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    proxy, headers = None, {}
    if access.proxy:
        via = urlsplit(access.proxy)
        proxy = (via.hostname or "", via.port or 80)
        if via.username is not None:
            pair = f"{unquote(via.username)}:{unquote(via.password or '')}".encode()
            headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair).decode("ascii")
    return Place(secure, parts.hostname or "", port, proxy, headers)


class Connection(http.client.HTTPConnection):
    """A connection whose dead peer the kernel notices, through a proxy where there is one."""

    def __init__(self, access: Access, timeout: float) -> None:
        self.place = _place_of(access)
        self.released = 0.0
        self._tls = access.context() if self.place.secure else None
        self._server_name = access.server_name or self.place.host
        host, port = self.place.proxy or (self.place.host, self.place.port)
        self._connected = False
        self._answers: list[http.client.HTTPResponse] = []
        super().__init__(host, port, timeout=timeout)
        self.response_class = self._answer  # type: ignore[assignment]
        if self.place.proxy:
            # In brackets an IPv6 address survives every version's way of writing CONNECT.
            name = self.place.name.rpartition(":")[0]
            self.set_tunnel(name, self.place.port, self.place.proxy_headers)

    def connect(self) -> None:
        """Connect, through the proxy, and start TLS."""
        super().connect()
        self._connected = True
        self._close_answers()
        _watch_peer(self.sock)
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)

    def close(self) -> None:
        """Close it, with the answer of a proxy that refused: older Pythons leave that open."""
        super().close()
        self._connected = False
        self._close_answers()

    def _close_answers(self) -> None:
        for answer in self._answers:
            answer.close()
        self._answers.clear()

    def _answer(self, *args: Any, **options: Any) -> http.client.HTTPResponse:
        answer = http.client.HTTPResponse(*args, **options)
        if not self._connected:
            self._answers.append(answer)
        return answer

    @property
    def spoiled(self) -> bool:
        """Whether an idle connection was closed by the other side."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))


def _watch_peer(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wanted = (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 30_000),
    )
    for name, value in wanted:
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, option, value)


def why(error: Exception, place: str) -> str:
    """Say what went wrong on the way to a place; nothing of what was sent."""
    if isinstance(error, socket.timeout):
        return f"{place} does not answer in time."
    if isinstance(error, socket.gaierror):
        return f"The name of {place} cannot be resolved: {error.strerror}."
    if isinstance(error, ConnectionRefusedError):
        return f"{place} refuses connections."
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        return f"The certificate of {place} is not trusted: {reason}."
    if isinstance(error, ssl.SSLError):
        return f"TLS with {place} failed: {error.reason or error.strerror or 'no reason given'}."
    if isinstance(error, http.client.RemoteDisconnected):
        return f"{place} closed the connection without an answer."
    if isinstance(error, http.client.IncompleteRead):
        return f"The answer of {place} was cut off."
    if isinstance(error, http.client.HTTPException):
        return f"{place} sent what is not HTTP."
    if isinstance(error, OSError):
        return f"The connection to {place} failed: {error.strerror or error}."
    # A ValueError may quote a header.
    return f"The exchange with {place} failed: {type(error).__name__}."
