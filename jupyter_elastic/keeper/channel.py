"""The keeper's socket: lines of JSON, requests and answers, and a status for who asked for it."""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
from typing import Any, Callable

from . import client
from .loop import Loop

LINE_LIMIT = 1024 * 1024
#: A subscriber that does not read is let go of; it connects again and gets the present state.
UNREAD_LIMIT = 4 * LINE_LIMIT

Reply = Callable[..., None]
Handle = Callable[["Connection", "dict[str, Any]", Reply], None]


class Refused(Exception):
    """A request that is not done: a stable code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    """One server, command line or starter."""

    def __init__(self, channel: Channel, sock: socket.socket) -> None:
        self.subscribed = False
        self.server: dict[str, Any] | None = None
        self._channel = channel
        self._sock = sock
        self._incoming = bytearray()
        self._outgoing = bytearray()

    def ready(self, mask: int) -> None:
        """Read and write what can be."""
        try:
            if mask & selectors.EVENT_WRITE:
                self.flush()
            if mask & selectors.EVENT_READ:
                self._read()
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def _read(self) -> None:
        data = self._sock.recv(65536)
        if not data:
            self.close()
            return
        self._incoming += data
        if b"\n" in data:
            *lines, rest = bytes(self._incoming).split(b"\n")
            self._incoming = bytearray(rest)
            for line in lines:
                self._take(line)
        if len(self._incoming) > LINE_LIMIT:
            self._refuse(None, Refused("too_large", _too_long()))
            self.close()

    def _take(self, line: bytes) -> None:
        number: Any = None
        try:
            if len(line) > LINE_LIMIT:
                raise Refused("too_large", _too_long())
            message = json.loads(line)
            if not isinstance(message, dict) or not isinstance(message.get("op"), str):
                raise Refused("bad_input", "A request is an object with an op.")
            number = message.get("id")

            def reply(refused: Refused | None = None, **fields: Any) -> None:
                if refused is not None:
                    self._refuse(number, refused)
                else:
                    self.send({"id": number, "ok": True, **fields})

            self._channel.handle(self, message, reply)
        except Refused as refused:
            self._refuse(number, refused)
        except (ValueError, RecursionError):
            self._refuse(number, Refused("bad_input", "A request must be one line of JSON."))
        except Exception as error:  # a mistake of ours must not take the host file's writer away
            sys.excepthook(*sys.exc_info())
            self._refuse(number, Refused("bug", f"{type(error).__name__}: {error}"))

    def _refuse(self, number: Any, refused: Refused) -> None:
        error = {"code": refused.code, "message": str(refused)}
        self.send({"id": number, "ok": False, "error": error})

    def send(self, value: dict[str, Any]) -> None:
        """Send one line, now or when the other end takes it."""
        if self._sock.fileno() < 0:
            return
        self._outgoing += json.dumps(value).encode() + b"\n"
        if len(self._outgoing) > UNREAD_LIMIT:
            self.close()
            return
        try:
            self.flush()
        except OSError:
            self.close()

    def flush(self) -> None:
        """Send what waits.

        Raises
        ------
        OSError
            The other end is gone.
        """
        while self._outgoing:
            try:
                del self._outgoing[: self._sock.send(self._outgoing)]
            except BlockingIOError:
                break
        self._channel.loop.add(self._sock, self.ready, write=bool(self._outgoing))

    def close(self) -> None:
        """Let go of the other end."""
        if self._sock.fileno() >= 0:
            self._channel.loop.drop(self._sock)
            self._channel.connections.discard(self)
            self._sock.close()


def _too_long() -> str:
    return f"A line is over the limit of {LINE_LIMIT} bytes."


class Channel:
    """Listens on ``keeper.sock``.

    Parameters
    ----------
    handle
        Answers a request through the reply it is given, now or later; raises :class:`Refused`.
    """

    def __init__(self, path: str, loop: Loop, handle: Handle) -> None:
        self.loop = loop
        self.handle = handle
        self.connections: set[Connection] = set()
        self._path = path
        self._listen()

    def _listen(self) -> None:
        self._listener = client.listen(self._path)
        self._listener.setblocking(False)
        self._inode = os.stat(self._path).st_ino
        self.loop.add(self._listener, self._accept)

    def _accept(self, _: int) -> None:
        try:
            sock, _address = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        connection = Connection(self, sock)
        self.connections.add(connection)
        self.loop.add(sock, connection.ready)

    def publish(self, status: dict[str, Any]) -> None:
        """Send the status to all who subscribed."""
        for connection in list(self.connections):
            if connection.subscribed:
                connection.send({"event": "status", "status": status})

    def servers(self) -> list[dict[str, Any]]:
        """Return the servers that are attached now."""
        return [one.server for one in self.connections if one.server is not None]

    @property
    def there(self) -> bool:
        """Whether the socket's file is still ours; a cleaner of /tmp may have removed it."""
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    def restore(self) -> None:
        """Make the socket's file again; connections go on.

        Raises
        ------
        OSError
            It cannot be made.
        """
        self.loop.drop(self._listener)
        self._listener.close()
        self._listen()

    def close(self) -> None:
        """Stop to listen; the file goes as well."""
        if self._listener.fileno() >= 0:
            self.loop.drop(self._listener)
            self._listener.close()
            if self.there:
                os.unlink(self._path)
