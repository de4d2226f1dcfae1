"""Asks the server, and an idle control process: what both wait for is the machine, not us."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import sys
import threading
import time
from typing import Any

from tests.harness.lab import TOKEN, free_port

PERIOD = 0.02
CONTROL = """
import sys, tornado.ioloop, tornado.web
class Handler(tornado.web.RequestHandler):
    def get(self): self.finish("{}")
tornado.web.Application([(".*", Handler)]).listen(int(sys.argv[1]), "127.0.0.1")
tornado.ioloop.IOLoop.current().start()
"""


class Ticker:
    """Times of answers to a request that costs next to nothing, of a server and of a control.

    Parameters
    ----------
    lab
        The server under test.
    """

    def __init__(self, lab: Any) -> None:
        self._stopping = threading.Event()
        self._port = free_port()
        self._control = subprocess.Popen([sys.executable, "-c", CONTROL, str(self._port)])
        self.ours: list[float] = []
        self.control: list[float] = []
        self._threads = [
            threading.Thread(target=self._ask, args=(lab.port, "/api/me", self.ours)),
            threading.Thread(target=self._ask, args=(self._port, "/", self.control)),
        ]

    def __enter__(self) -> Ticker:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._control.terminate()
        self._control.wait()

    def _ask(self, port: int, path: str, taken: list[float]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"token {TOKEN}"}
        while not self._stopping.wait(PERIOD):
            start = time.perf_counter()
            try:
                connection.request("GET", path, headers=headers)
                connection.getresponse().read()
            except OSError:
                connection.close()
                continue  # it has not begun to listen
            taken.append(1000 * (time.perf_counter() - start))
        with contextlib.suppress(OSError):
            connection.close()

    @property
    def stall(self) -> float:
        """Milliseconds by which our longest answer is longer than the control's longest."""
        return max(0.0, max(self.ours) - max(self.control))

    @property
    def words(self) -> str:
        """Both longest answers."""
        return (
            f"longest of {len(self.ours)}: {max(self.ours):.0f} ms, "
            f"of the control {max(self.control):.0f} ms"
        )
