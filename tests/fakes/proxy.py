"""A TCP proxy that is a bad network: slow, cut, sliced, or silent."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

_PIECE = 65536


@dataclass(frozen=True)
class Chaos:
    """What happens to the bytes on their way to the client; counts are per connection.

    Parameters
    ----------
    blackhole_after
        Bytes after which nothing comes through any more, in both directions, and nothing closes.
    fin_after, rst_after
        Bytes after which the connection ends so.
    piece
        Most bytes sent at once.
    latency
        Seconds before each piece.
    bandwidth
        Bytes a second.
    cut_in_character
        End the connection after the first byte of a character that has several.
    """

    blackhole_after: int | None = None
    fin_after: int | None = None
    rst_after: int | None = None
    piece: int = _PIECE
    latency: float = 0.0
    bandwidth: float | None = None
    cut_in_character: bool = False


class _Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.passed = 0
        self.silent = False
        self._lock = threading.Lock()
        self._running = 2

    def end(self, *, reset: bool) -> None:
        """Cut it; the sockets are closed by the threads that use them."""
        with contextlib.suppress(OSError):
            if reset:
                linger = struct.pack("ii", 1, 0)
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.client.shutdown(socket.SHUT_RD)
            else:
                self.client.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)

    def leave(self) -> bool:
        """Say that one of the two threads is done, and return whether both are."""
        with self._lock:
            self._running -= 1
            last = self._running == 0
        if last:
            self.client.close()
            self.server.close()
        return last


class ChaosProxy:
    """Listens on a port of its own; a context manager.

    Parameters
    ----------
    target
        Port on this machine.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        #: For bytes from now on, also on connections that are open.
        self.chaos = Chaos()
        #: Connections so far.
        self.accepted = 0
        self.port = 0
        self._lock = threading.Lock()
        self._links: set[_Link] = set()
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None

    def __enter__(self) -> ChaosProxy:
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        self.cut(reset=True)
        for thread in self._threads:
            thread.join(5)

    def accept(self) -> None:
        """Listen, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._start(self._serve, listener)

    def refuse(self) -> None:
        """Listen no more; open connections stay."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)

    def cut(self, *, reset: bool = True) -> None:
        """End all connections, by RST or by FIN."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.end(reset=reset)

    def blackhole(self) -> None:
        """Let nothing more through on the connections that are open; none of them closes."""
        with self._lock:
            for link in self._links:
                link.silent = True

    @property
    def open(self) -> int:
        """How many connections are open."""
        with self._lock:
            return len(self._links)

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _serve(self, listener: socket.socket) -> None:
        with listener:
            while self._listener is listener:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                self.accepted += 1
                try:
                    server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                link = _Link(client, server)
                with self._lock:
                    self._links.add(link)
                self._start(self._up, link)
                self._start(self._down, link)

    def _up(self, link: _Link) -> None:
        """Carry bytes to the server."""
        with contextlib.suppress(OSError):
            while True:
                data = link.client.recv(_PIECE)
                if not data:
                    break
                if not link.silent:
                    link.server.sendall(data)
        with contextlib.suppress(OSError):
            link.server.shutdown(socket.SHUT_RDWR)
        self._leave(link)

    def _down(self, link: _Link) -> None:
        """Carry bytes to the client, by the chaos of the moment."""
        with contextlib.suppress(OSError):
            while True:
                data = link.server.recv(_PIECE)
                if not data:
                    break
                for piece in self._pieces(link, data):
                    link.client.sendall(piece)
        # A half-open connection stays: the client has to notice by itself.
        if not link.silent:
            with contextlib.suppress(OSError):
                link.client.shutdown(socket.SHUT_WR if _lingers(link.client) else socket.SHUT_RD)
        self._leave(link)

    def _pieces(self, link: _Link, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data) and not link.silent:
            chaos = self.chaos
            most = chaos.piece
            limits = (chaos.blackhole_after, chaos.fin_after, chaos.rst_after)
            for limit in limits:
                if limit is not None:
                    most = min(most, max(0, limit - link.passed))
            piece = data[at : at + most]
            where = next((n for n, byte in enumerate(piece) if byte >= 0xC0), None)
            cut = chaos.cut_in_character and where is not None
            if cut and where is not None:
                piece = piece[: where + 1]
            if chaos.latency or chaos.bandwidth:
                time.sleep(chaos.latency + len(piece) / (chaos.bandwidth or float("inf")))
            if piece:
                yield piece
            at += len(piece)
            link.passed += len(piece)
            if chaos.blackhole_after is not None and link.passed >= chaos.blackhole_after:
                link.silent = True
            if cut or _reached(chaos.fin_after, link) or _reached(chaos.rst_after, link):
                link.end(reset=_reached(chaos.rst_after, link))
                return

    def _leave(self, link: _Link) -> None:
        if link.leave():
            with self._lock:
                self._links.discard(link)


def _reached(limit: int | None, link: _Link) -> bool:
    return limit is not None and link.passed >= limit


def _lingers(sock: socket.socket) -> bool:
    """Whether the connection is to end in the usual way, not by RST."""
    return struct.unpack("ii", sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))[0] == 0
