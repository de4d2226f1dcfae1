"""A small blocking client of the keeper's channel."""

from __future__ import annotations

import json
import os
import socket
from typing import Any, Iterator

ANSWER_SECONDS = 30.0


class KeeperError(Exception):
    """What the keeper refused: a stable code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Client:
    """One connection to a keeper.

    Parameters
    ----------
    folder
        The keeper's own folder.
    timeout
        Seconds to wait for an answer.

    Raises
    ------
    OSError
        Nobody listens there.
    """

    def __init__(self, folder: str, timeout: float = ANSWER_SECONDS) -> None:
        self._socket = connect(os.path.join(folder, "keeper.sock"))
        self._socket.settimeout(timeout)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the keeper."""
        self._stream.close()
        self._socket.close()

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        """Ask, wait, and return the answer.

        Raises
        ------
        KeeperError
            What the keeper refused.
        OSError
            The keeper went away, or did not answer in time.
        """
        self._number += 1
        message = {"id": self._number, "op": op, **fields}
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = self._line()
            if answer.get("id") != self._number:
                self._events.append(answer)
            elif answer.get("ok"):
                return answer
            else:
                error = answer.get("error") or {}
                raise KeeperError(str(error.get("code")), str(error.get("message")))

    def subscribe(self) -> Iterator[dict[str, Any]]:
        """Yield the status now and at each change, until the keeper goes away."""
        self.request("subscribe")
        while True:
            while self._events:
                event = self._events.pop(0)
                if event.get("event") == "status":
                    yield event["status"]
            try:
                self._events.append(self._line())
            except ConnectionError:
                return

    def _line(self) -> dict[str, Any]:
        line = self._stream.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("The keeper went away.")
        value: dict[str, Any] = json.loads(line)
        return value


def connect(path: str) -> socket.socket:
    """Return a connection to a Unix socket, however long its path is.

    Raises
    ------
    OSError
        Nobody listens there.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = -1
    try:
        if len(os.fsencode(path)) > 100 and os.path.isdir("/proc/self/fd"):
            # The kernel's limit is on the text, so name the folder by a handle instead.
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            path = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        sock.connect(path)
    except BaseException:
        sock.close()
        raise
    finally:
        if folder >= 0:
            os.close(folder)
    return sock


def listen(path: str) -> socket.socket:
    """Return a listening Unix socket of mode 0600, replacing what a dead process left there.

    Raises
    ------
    OSError
        It cannot be made.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    before = os.umask(0o177)
    try:
        if os.path.lexists(path):
            os.unlink(path)
        long = len(os.fsencode(path)) > 100 and os.path.isdir("/proc/self/fd")
        sock.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}" if long else path)
        sock.listen(64)
    except BaseException:
        sock.close()
        raise
    finally:
        os.umask(before)
        os.close(folder)
    return sock
