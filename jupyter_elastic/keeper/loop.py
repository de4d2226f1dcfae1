"""One thread that waits for descriptors and for times."""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import signal
import time
from typing import Any, Callable

Handler = Callable[[int], None]


class Loop:
    """Calls handlers when descriptors are ready and functions when their time has come."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._stopped = False

    def add(self, source: Any, handler: Handler, *, write: bool = False) -> None:
        """Call `handler` with the event mask when `source` can be read, or also written."""
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if write else 0)
        if source in self._selector.get_map():
            self._selector.modify(source, mask, handler)
        else:
            self._selector.register(source, mask, handler)

    def drop(self, source: Any) -> None:
        """Wait for `source` no more."""
        if source in self._selector.get_map():
            self._selector.unregister(source)

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        """Call `function` once, after so many seconds."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), function))

    def stop(self) -> None:
        """Let :meth:`run` return."""
        self._stopped = True

    def wake_on(self, *numbers: int, handler: Callable[[int], None]) -> None:
        """Call `handler` from the loop, not inside of other work, when a signal comes."""
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)

        def came(_: int) -> None:
            for number in os.read(wake, 512):
                handler(number)

        self.add(wake, came)

    def run(self) -> None:
        """Go on until :meth:`stop`."""
        while not self._stopped:
            wait = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
            for key, mask in self._selector.select(wait):
                # A handler before this one may have let go of it.
                if self._selector.get_map().get(key.fd) is key:
                    key.data(mask)
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now and not self._stopped:
                heapq.heappop(self._timers)[2]()
