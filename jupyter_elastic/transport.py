"""HTTP over the server's machine-local Unix socket. Standard library only, blocking."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

from .errors import (
    BadInput,
    Conflict,
    ElasticError,
    Forbidden,
    LimitReached,
    NotFound,
    TooLarge,
    Unreachable,
)

PREFIX = "/jupyter-elastic/"
TIMEOUT = 30.0  # seconds for one answer; the server never waits for containers inside a request

_BY_STATUS: dict[int, type[ElasticError]] = {
    kind.status: kind
    for kind in (BadInput, Forbidden, NotFound, Conflict, TooLarge, LimitReached, Unreachable)
}


class NotConnected(Unreachable):
    """Nobody listens: nothing was sent, so it is safe to ask another server."""

    code = "no_server"


@dataclass(frozen=True)
class Answer:
    """One HTTP answer: its status, ``ETag`` and decoded JSON (None for an empty body)."""

    status: int
    etag: str | None
    body: Any


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a TCP port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


def request(
    path: str,
    method: str,
    route: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Answer:
    """Call one route of the server that listens on the socket `path`.

    Each call has its own connection: a notebook may keep a client for days, and a server that
    was restarted meanwhile must not show as a broken pipe.

    Parameters
    ----------
    route
        What follows ``jupyter-elastic/``, already quoted.
    timeout
        Seconds for one answer.

    Raises
    ------
    ElasticError
        The subclass of the answer's status, with the server's message and hint;
        :class:`Unreachable` when nobody answers.
    """
    connection = _UnixConnection(path, timeout)
    sent = {"Accept": "application/json", **(headers or {})}
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        sent["Content-Type"] = "application/json"
    try:
        connection.connect()
    except (OSError, ValueError) as error:
        connection.close()
        raise NotConnected(
            f"The Jupyter server at {path} cannot be reached: {error}.",
            hint="Is it running? Start it again: clusters and runs stay.",
        ) from None
    try:
        connection.request(method, PREFIX + route, body=data, headers=sent)
        answer = connection.getresponse()
        raw = answer.read()
    except TimeoutError:
        raise Unreachable(
            f"The Jupyter server did not answer within {timeout:g} s.",
            hint="It may be busy; try again, or restart it: clusters and runs stay.",
            code="timeout",
        ) from None
    except (OSError, http.client.HTTPException) as error:
        why = str(error) or type(error).__name__
        raise Unreachable(
            f"The Jupyter server went away while it was asked: {why}.",
            hint="Look at the status before you repeat it: it may have been done.",
            code="connection_lost",
        ) from None
    finally:
        connection.close()
    return _checked(answer.status, answer.getheader("ETag"), raw)


def _checked(status: int, etag: str | None, raw: bytes) -> Answer:
    try:
        body = json.loads(raw) if raw.strip() else None
    except ValueError:
        body = None  # read as a model it becomes a clear error
    if status < 400:
        return Answer(status, etag, body)
    said = body if isinstance(body, dict) else {}
    kind = _BY_STATUS.get(status, ElasticError)
    detail = said.get("detail")
    raise kind(
        str(said.get("message") or f"The server answered {status}."),
        hint=str(said.get("hint") or ""),
        detail=detail if isinstance(detail, dict) else {},
        code=str(said.get("code") or kind.code),
    )
