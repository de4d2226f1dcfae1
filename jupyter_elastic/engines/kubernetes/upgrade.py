"""Open the websocket of an exec: request, credentials, and what a refusal means."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, urlencode

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.httpclient import _RequestProxy as RequestProxy
from tornado.httputil import HTTPHeaders
from tornado.websocket import WebSocketError

from ..._version import __version__
from ...errors import BadInput, Conflict, ElasticError, Forbidden, NotFound, TooLarge, Unreachable
from ...keeper.kube.access import Access
from ...keeper.kube.errors import Unauthenticated
from .dial import CONNECT_SECONDS, Connection, Dialer, reason_of

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
ANSWER_SECONDS = 30.0
COMMAND_LIMIT = 128 * 1024  # bytes of a command in the address of a request


class NoProtocol(Exception):
    """The API server speaks none of the protocols that were offered; nothing was started."""


@dataclass(frozen=True)
class Place:
    """The container to run something in."""

    namespace: str
    pod: str
    container: str

    def __str__(self) -> str:
        return f"container {self.container} of pod {self.pod}"


async def upgrade(
    access: Access, place: Place, argv: list[str], *, stdin: bool, tty: bool, protocols: list[str]
) -> Connection:
    """Start a command in a container; credentials that are refused are renewed once.

    Raises
    ------
    NoProtocol
        When another protocol has to be offered.
    ElasticError
        When the command cannot be started; says why.
    """
    url = _address(access.server, place, argv, stdin=stdin, tty=tty)
    for attempt in (1, 2):
        try:
            return await _open(access, url, protocols)
        except HTTPClientError as error:
            if error.code != 401:
                raise _refusal(error, place) from None
            if attempt == 1:
                await asyncio.to_thread(access.reload)
        except Unauthenticated as error:
            raise _unauthenticated(str(error)) from None
    raise _unauthenticated("The Kubernetes API server does not accept the credentials.")


async def _open(access: Access, url: str, protocols: list[str]) -> Connection:
    headers = HTTPHeaders({"User-Agent": f"jupyter-elastic/{__version__}"})
    try:
        context = await asyncio.to_thread(access.context)
    except OSError as error:  # the account of a pod: its file of authorities
        raise _unauthenticated(f"The credentials cannot be read: {reason_of(error)}.") from None
    for name, value in (await asyncio.to_thread(access.headers)).items():
        headers.add(name, value)
    request = HTTPRequest(
        url,
        headers=headers,
        ssl_options=context,
        connect_timeout=CONNECT_SECONDS + 1,
        request_timeout=ANSWER_SECONDS,
    )
    # The base class reads the defaults of what is not given through this wrapper.
    wrapped = cast(HTTPRequest, RequestProxy(request, HTTPRequest._DEFAULTS))
    dialer = Dialer(access.proxy, access.server_name)
    connection = Connection(wrapped, protocols, dialer, asyncio.get_running_loop().time())
    try:
        await connection.connect_future
    except HTTPClientError as error:
        if error.code == 599:
            raise _unreachable(access, error) from None
        raise
    except (OSError, WebSocketError, asyncio.TimeoutError) as error:
        raise _unreachable(access, error) from None
    except asyncio.CancelledError:
        connection.abandon()
        raise
    if connection.selected_subprotocol not in protocols:
        connection.abandon()
        raise NoProtocol
    return connection


def _address(server: str, place: Place, argv: list[str], *, stdin: bool, tty: bool) -> str:
    size = sum(len(word.encode("utf-8", "surrogateescape")) for word in argv)
    if size > COMMAND_LIMIT:
        raise TooLarge(f"The command has {size} bytes, the limit is {COMMAND_LIMIT}.")
    if not argv or any("\0" in word for word in argv):
        raise BadInput("A command needs at least one word, and no word may hold a zero byte.")
    query = [("command", word.encode("utf-8", "surrogateescape")) for word in argv]
    flags = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
    query += [(name, str(flag).lower().encode()) for name, flag in flags.items()]
    query.append(("container", place.container.encode()))
    path = f"/api/v1/namespaces/{quote(place.namespace, '')}/pods/{quote(place.pod, '')}/exec"
    scheme, _, rest = server.partition("://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}{path}?{urlencode(query)}"


def _refusal(error: HTTPClientError, place: Place) -> Exception:
    """Turn an answer that is not an upgrade into an error for a person."""
    said = _message(error)
    if said is None and error.code in (400, 403):
        return NoProtocol()  # older servers answer a protocol they do not know like this
    said = said or f"HTTP {error.code}"
    detail = {"verb": "create", "resource": "pods/exec", "said": said[:512]}
    if error.code == 403:
        return Forbidden(
            f"Kubernetes does not allow the verbs create and get on pods/exec in namespace "
            f"{place.namespace}.",
            hint="Ask the administrator for the Role of jupyter-elastic, which has both.",
            detail=detail,
        )
    if error.code == 404:
        return NotFound(f"There is no pod {place.pod} in {place.namespace}.", detail=detail)
    if error.code in (400, 409, 500) and _not_running(said):
        return Conflict(
            f"The {place} does not run now.",
            hint="Wait until it is ready; its row says why it is not.",
            detail=detail,
            code="not_running",
        )
    if error.code == 400:
        return BadInput(f"Kubernetes refused the command for {place}: {said[:256]}", detail=detail)
    return Unreachable(
        f"Kubernetes could not start a command in {place}: {said[:256]}",
        hint="Try again in a moment.",
        detail=detail,
    )


def _not_running(said: str) -> bool:
    signs = (
        "not found",
        "not running",
        "is not valid for pod",
        "does not have a host",
        "completed",
    )
    return any(sign in said.lower() for sign in signs)


def _message(error: HTTPClientError) -> str | None:
    """Return what the API server says; None when the answer is not one of its own."""
    body = error.response.body if error.response is not None else b""
    try:
        status = json.loads(body)
        return str(status["message"]) if status["kind"] == "Status" else None
    except (ValueError, KeyError, TypeError):
        text = body.decode("utf-8", "replace").strip()
        return text if error.code not in (400, 403) else None


def _unauthenticated(said: str) -> ElasticError:
    return Unreachable(said, hint="Log in to the cluster again.", code="unauthenticated")


def _unreachable(access: Access, error: BaseException) -> Unreachable:
    return Unreachable(
        f"The Kubernetes API server {access.server} cannot be reached: {reason_of(error)}.",
        hint="Check the network, and the address in the kubeconfig.",
    )
