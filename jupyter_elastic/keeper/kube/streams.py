"""Answers without an end: the events of a watch, and the output of a container."""

from __future__ import annotations

from collections import deque
from typing import Callable, Iterator

from .errors import BrokenStream
from .lines import Event, Lines, parse
from .transport import Stream


class ByteStream:
    """Bytes as they come. One thread iterates and closes it; any may interrupt it."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        data = self._stream.read()
        if not data:
            raise StopIteration
        return data

    def interrupt(self) -> None:
        """End the iteration of another thread soon."""
        self._stream.interrupt()

    def close(self) -> None:
        """Let go of the connection."""
        self._stream.close()


class Watch:
    """The events of a watch. One thread iterates and closes it; any may interrupt it.

    The iteration ends when the server ends the stream, and raises `BrokenStream` when it goes
    silent, is cut inside a line, holds what is not an event, or lasts longer than it may.

    Parameters
    ----------
    stream
        Where the lines come from.
    resource
        What is watched, for errors.
    deadline
        Monotonic time at which the server should have ended it.
    clock
        Monotonic, seconds.
    """

    def __init__(
        self, stream: Stream, resource: str, deadline: float, clock: Callable[[], float]
    ) -> None:
        self._stream = stream
        self._resource = resource
        self._deadline = deadline
        self._clock = clock
        self._lines = Lines()
        self._whole: deque[bytes] = deque()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            while not self._whole:
                self._more()
            return parse(self._whole.popleft())
        except BrokenStream as error:
            error.verb, error.resource = "watch", self._resource
            raise

    def _more(self) -> None:
        data = self._stream.read()
        if data:
            self._whole.extend(self._lines.feed(data))
        elif self._lines.unfinished:
            raise BrokenStream("The stream was cut inside a line.")
        else:
            raise StopIteration
        if self._clock() > self._deadline:
            raise BrokenStream("The stream lasted longer than the server was told to keep it.")

    @property
    def pending(self) -> bool:
        """Whether the next event is here already."""
        return bool(self._whole)

    def interrupt(self) -> None:
        """End the iteration of another thread soon."""
        self._stream.interrupt()

    def close(self) -> None:
        """Let go of the connection."""
        self._stream.close()
