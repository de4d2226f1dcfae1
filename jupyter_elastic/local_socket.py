"""The machine-local Unix socket: the same routes for magics, CLI and launch shells, no token.

Who may speak is decided by the kernel's word about the peer: its uid must be ours. The socket lies
in a folder that only we may enter. ``servers/<pid>.json`` tells callers which servers are alive.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
from jupyter_server.auth.authorizer import AllowAllAuthorizer
from jupyter_server.auth.identity import IdentityProvider, User
from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket

from .errors import ElasticError
from .keeper.paths import SOCKET_LIMIT, ensure_private, runtime_dir
from .routes import NothingHandler, routes

_log = logging.getLogger(__name__)


def runtime_folder() -> Path:
    """Return the machine-local folder, made with mode 0700 where it is missing.

    Raises
    ------
    ElasticError
        When it is a link, belongs to somebody else, or is open to others.
    """
    folder = runtime_dir()
    try:
        ensure_private(folder)
    except OSError as error:
        raise ElasticError(
            f"The runtime folder cannot be used: {error}",
            hint="It must be a real folder of yours with mode 0700. Remove it, or set "
            "JUPYTER_ELASTIC_RUNTIME_DIR.",
            code="runtime_folder",
        ) from error
    return Path(folder)


def process_start(pid: int) -> float:
    """Return when a process started, seconds since 1970: with the pid it names one process."""
    return float(psutil.Process(pid).create_time())


class PeerIdentityProvider(IdentityProvider):
    """Knows one user: the owner of this process, when the peer of the socket is the same one."""

    def get_user(self, handler: web.RequestHandler) -> User | None:
        """Return the user, or None for anybody else."""
        connection: Any = handler.request.connection
        stream = getattr(connection, "stream", None)
        if stream is None or peer_uid(stream.socket) != os.getuid():
            return None
        name = os.environ.get("JUPYTERHUB_USER") or str(psutil.Process().username())
        return User(username=name, name=name)


def peer_uid(connection: socket.socket) -> int | None:
    """Return the uid of the process on the other end, or None when the system does not say."""
    try:
        if sys.platform == "darwin":
            # struct xucred: version, uid, ...
            data = connection.getsockopt(0, 0x001, struct.calcsize("2I h 16I"))
            return int(struct.unpack_from("2I", data)[1])
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", data)[1])
    except (OSError, AttributeError, struct.error):
        return None


class LocalSocket:
    """Listens while the server lives."""

    def __init__(self, settings: dict[str, Any], url: str, version: str) -> None:
        self._settings = settings
        self._url = url
        self._version = version
        self._server: HTTPServer | None = None
        self._folder = runtime_folder() / "servers"
        self.path = self._folder / f"{os.getpid()}.sock"
        self._card = self._folder / f"{os.getpid()}.json"

    @property
    def address(self) -> dict[str, Any]:
        """What callers and keepers are told about this server."""
        pid = os.getpid()
        return {
            "pid": pid,
            "start": process_start(pid),
            "socket": str(self.path),
            "url": self._url,
            "version": self._version,
        }

    def start(self) -> None:
        """Bind the socket and write the card.

        Raises
        ------
        ElasticError
            When the folder is not private or the path is too long for a socket.
        """
        if len(os.fsencode(self.path)) > SOCKET_LIMIT:
            raise ElasticError(
                f"The socket path {self.path} is longer than {SOCKET_LIMIT} bytes.",
                hint="Set JUPYTER_ELASTIC_RUNTIME_DIR to a shorter folder.",
                code="runtime_folder",
            )
        self._folder.mkdir(mode=0o700, exist_ok=True)
        sweep(self._folder)
        application = web.Application(
            routes("/"),
            **self._own_settings(),
        )
        # bind_unix_socket removes a socket file of the same name: ours, because the name holds our
        # pid.
        listener = bind_unix_socket(str(self.path), mode=0o600)
        self._server = HTTPServer(application)
        self._server.add_socket(listener)
        write_atomic(self._card, json.dumps(self.address))

    def stop(self) -> None:
        """Stop to listen and remove both files."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for path in (self._card, self.path):
            with contextlib.suppress(OSError):
                path.unlink()

    def _own_settings(self) -> dict[str, Any]:
        """Return the server's settings, except for who may speak: here the peer's uid decides."""
        log = self._settings["serverapp"].log
        return {
            **self._settings,
            "base_url": "/",
            "default_handler_class": NothingHandler,
            "identity_provider": PeerIdentityProvider(token="", log=log),
            "authorizer": AllowAllAuthorizer(log=log),
            "disable_check_xsrf": True,
            "allow_remote_access": True,
            "allow_unauthenticated_access": False,
            "cookie_secret": None,
        }


def sweep(folder: Path) -> None:
    """Remove what servers left that are no longer alive."""
    for card in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads(card.read_text("utf-8"))
            if alive(int(data["pid"]), float(data["start"])):
                continue
            card.with_suffix(".sock").unlink(missing_ok=True)
            card.unlink(missing_ok=True)


def alive(pid: int, start: float) -> bool:
    """Whether the very process that wrote a card still runs."""
    try:
        return abs(process_start(pid) - start) < 1.0
    except psutil.Error:
        return False


def write_atomic(path: Path, text: str) -> None:
    """Write a file of mode 0600 so that readers see all of it or none."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
