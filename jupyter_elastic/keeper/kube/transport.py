"""HTTP to the API server: connections that are kept, and streams that notice when they are dead."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from typing import Callable, Mapping, NamedTuple

from .access import Access
from .connection import Connection, why
from .errors import ApiError, BrokenStream, Unauthenticated, Unavailable

#: A server drops idle connections; those that are older are not tried.
IDLE_SECONDS = 30.0
MOST_IDLE = 8
LONGEST_ANSWER = 128 * 1024 * 1024
#: A whole answer may take this many times as long as one silence in it.
WHOLE_FACTOR = 6
_PIECE = 65536


class Answer(NamedTuple):
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Stream:
    """An answer that arrives bit by bit. One thread reads and closes it; any may interrupt it."""

    def __init__(
        self,
        connection: Connection,
        response: http.client.HTTPResponse,
        sock: socket.socket,
        silence: float | None,
    ) -> None:
        self.status = response.status
        self.headers = _headers(response)
        self._connection = connection
        self._response = response
        self._sock = sock
        self._silence = silence
        self._rest = response.length

    def read(self) -> bytes:
        """Return what has come; nothing at the end.

        Raises
        ------
        BrokenStream
            Silence for too long, or the connection was lost.
        """
        if self._rest == 0:
            return b""
        try:
            data = self._response.read1(min(_PIECE, self._rest or _PIECE))
        except http.client.IncompleteRead:
            return b""
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, socket.timeout):
                raise BrokenStream(f"Nothing came for {self._silence:g} s.") from None
            raise BrokenStream(why(error, self._connection.place.name)) from None
        if self._rest is not None:
            self._rest -= len(data)
        return data

    def interrupt(self) -> None:
        """End the read that another thread is in."""
        with contextlib.suppress(OSError):
            # Of the plain class: that of TLS would first forget its state below the reader.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()
        self._connection.close()


class Transport:
    """Sends requests; thread-safe.

    Parameters
    ----------
    access
        Where to, and what to show there.
    clock
        Monotonic, seconds.
    """

    def __init__(self, access: Access, clock: Callable[[], float]) -> None:
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        timeout: float,
        again: bool,
    ) -> Answer:
        """Send, wait, and return the whole answer, whatever its status.

        Parameters
        ----------
        method, path, body, headers
            Of HTTP.
        timeout
            Seconds to connect, and of silence.
        again
            Whether it may be sent a second time when a kept connection turns out to be lost.

        Raises
        ------
        Unavailable
            There was no answer; `maybe_done` says whether the request may have arrived.
        """
        connection = self._kept()
        while True:
            kept = connection is not None
            if connection is None:
                connection = self._connect(timeout)
            try:
                answer, reusable = self._exchange(connection, method, path, body, headers, timeout)
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                lost = isinstance(error, (ConnectionError, http.client.RemoteDisconnected))
                if kept and again and lost:
                    connection = None
                    continue
                raise Unavailable(why(error, connection.place.name), maybe_done=True) from None
            except BaseException:
                connection.close()
                raise
            self._keep(connection, reusable)
            return answer

    def stream(
        self, path: str, headers: Mapping[str, str], *, timeout: float, silence: float | None
    ) -> Stream:
        """Send a GET on a connection of its own and return when the answer begins.

        Parameters
        ----------
        path, headers
            Of HTTP.
        timeout
            Seconds to connect and until the answer begins.
        silence
            Seconds without a byte after which it counts as dead; None: never.

        Raises
        ------
        Unavailable
            It did not begin.
        """
        connection = self._connect(timeout)
        sock = connection.sock
        try:
            connection.request("GET", path, None, {**headers, "Host": connection.place.name})
            response = connection.getresponse()
            sock.settimeout(silence)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise Unavailable(why(error, connection.place.name)) from None
        return Stream(connection, response, sock, silence)

    def forget(self) -> None:
        """Close the connections that are kept: they may stand for credentials that ended."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close the connections that are kept, and keep none from now on."""
        self._closed = True
        self.forget()

    def _connect(self, timeout: float) -> Connection:
        try:
            connection = Connection(self._access, timeout)
        except ApiError:
            raise
        except Exception as error:
            # A certificate or a kubeconfig that cannot be read: without it we would be anonymous.
            raise Unauthenticated(str(error)) from error
        try:
            connection.connect()
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise Unavailable(why(error, connection.place.name)) from None
        return connection

    def _exchange(
        self,
        connection: Connection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> tuple[Answer, bool]:
        connection.sock.settimeout(timeout)
        connection.request(method, path, body, {**headers, "Host": connection.place.name})
        deadline = self._clock() + WHOLE_FACTOR * timeout
        response = connection.getresponse()
        try:
            parts, held, rest = [], 0, response.length
            while rest != 0:
                data = response.read1(min(_PIECE, rest or _PIECE))
                if not data:
                    break
                parts.append(data)
                held += len(data)
                rest = None if rest is None else rest - len(data)
                if held > LONGEST_ANSWER:
                    raise OSError(f"the answer has more than {LONGEST_ANSWER} bytes")
                if self._clock() > deadline:
                    raise socket.timeout
            if rest:
                raise http.client.IncompleteRead(b"", rest)
        finally:
            response.close()
        answer = Answer(response.status, _headers(response), b"".join(parts))
        return answer, not response.will_close

    def _kept(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            old = self._clock() - connection.released > IDLE_SECONDS
            if not old and not connection.spoiled:
                return connection
            connection.close()

    def _keep(self, connection: Connection, reusable: bool) -> None:
        connection.released = self._clock()
        with self._lock:
            if reusable and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
