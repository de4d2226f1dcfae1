"""One connection to a shell: a terminal that shows it, or somebody who watches or asks."""

from __future__ import annotations

import json
import selectors
import socket
from typing import Iterator

from . import frames
from .stream import Stream

PART = 32 * 1024
LAST_SECONDS = 2.0


class Viewer:
    """It reads the stream at its own pace; one that falls far behind skips, and holds up nobody."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.shows = False  # it is a terminal
        self.watches = False  # it wants to know the state
        self.gone = False
        self._told: int | None = None
        self._decoder = frames.Decoder()
        self._pending = bytearray()
        self._position = 0

    def receive(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the frames that came."""
        try:
            data = self.sock.recv(65536)
        except BlockingIOError:
            return
        if not data:
            self.gone = True
            return
        yield from self._decoder.feed(data)

    def show(self, stream: Stream) -> None:
        """Begin with the newest part of the output."""
        self.shows = True
        replay = stream.replay()
        for at in range(0, len(replay), PART):
            self.send(frames.encode(frames.DATA, replay[at : at + PART]))
        self._position = stream.total

    def fill(self, stream: Stream) -> None:
        """Take more of the output once the last part is on its way."""
        while self.shows and not self._pending and not self.gone and self._position < stream.total:
            data, self._position = stream.read(self._position, PART)
            self.send(frames.encode(frames.DATA, data))

    def tell(self, attached: int) -> None:
        """Tell a watcher how many terminals show the shell, when that changed."""
        if self.watches and attached != self._told:
            self._told = attached
            self.send(frames.encode(frames.WATCH, json.dumps({"attached": attached}).encode()))

    def send(self, data: bytes) -> None:
        """Send, or keep what the other end does not take yet."""
        self._pending += data
        try:
            self.flush()
        except OSError:
            self.gone = True

    def flush(self) -> None:
        """Send what is kept.

        Raises
        ------
        OSError
            The other end is gone.
        """
        while self._pending:
            try:
                sent = self.sock.send(self._pending)
            except BlockingIOError:
                return
            del self._pending[:sent]

    def mask(self) -> int:
        """What the loop is to wait for."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._pending else 0)

    def last_words(self, stream: Stream, end: bytes) -> None:
        """Send the rest and the last frame, waiting a little; then close."""
        try:
            self.sock.settimeout(LAST_SECONDS)
            self.sock.sendall(self._pending)
            while self.shows and self._position < stream.total:
                data, self._position = stream.read(self._position, PART)
                self.sock.sendall(frames.encode(frames.DATA, data))
            self.sock.sendall(end)
        except OSError:
            pass
        self.sock.close()
