"""Real kernels, driven like a notebook does."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from ..harness.lab import LabServer

REPOSITORY = Path(__file__).parents[2]


@dataclass
class Outcome:
    """What one cell did."""

    status: str = ""
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    errors: int = 0
    traceback: list[str] = field(default_factory=list)
    html: str = ""
    text: str = ""


class Kernel:
    """The client of one kernel that somebody else started."""

    def __init__(self, client: Any, interrupt: Callable[[], None], end: Callable[[], None]) -> None:
        self.client = client
        self.interrupt = interrupt
        self._end = end
        client.start_channels()
        client.wait_for_ready(timeout=60)

    def start(self, code: str) -> str:
        """Send a cell and do not wait."""
        return str(self.client.execute(code))

    def finish(self, request: str, timeout: float = 60) -> Outcome:
        """Collect what a cell says until it is done."""
        outcome = Outcome()
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"the cell is not done after {timeout} s: {outcome}")
            try:
                message = self.client.get_iopub_msg(timeout=left)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            if _take(outcome, message["msg_type"], message["content"]):
                break
        outcome.status = self._reply(request, end)
        return outcome

    def _reply(self, request: str, end: float) -> str:
        while True:
            reply = self.client.get_shell_msg(timeout=max(1.0, end - time.monotonic()))
            if reply["parent_header"].get("msg_id") == request:
                return str(reply["content"]["status"])

    def run(self, code: str, timeout: float = 60) -> Outcome:
        """Run a cell."""
        return self.finish(self.start(code), timeout)

    def wait_for_output(self, request: str, text: str, timeout: float = 30) -> None:
        """Wait until a running cell has printed `text`."""
        seen = ""
        end = time.monotonic() + timeout
        while text not in seen:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            if message["parent_header"].get("msg_id") == request:
                seen += message["content"].get("text", "")

    def close(self) -> None:
        """Disconnect and end the kernel."""
        self.client.stop_channels()
        self._end()


def _take(outcome: Outcome, kind: str, content: Any) -> bool:
    """Add one message; True when the kernel is idle again."""
    if kind == "stream":
        setattr(outcome, content["name"], getattr(outcome, content["name"]) + content["text"])
    elif kind == "error":
        outcome.error = content["ename"]
        outcome.errors += 1
        outcome.traceback = content["traceback"]
    elif kind in ("execute_result", "display_data"):
        outcome.html = content["data"].get("text/html", "")
        outcome.text = content["data"].get("text/plain", "")
    return kind == "status" and content["execution_state"] == "idle"


@contextmanager
def kernel(
    environment: Mapping[str, str], python: str = sys.executable, load: bool = True
) -> Iterator[Kernel]:
    """A kernel whose parent is this process, with the magics loaded."""
    manager = KernelManager()
    manager._kernel_spec = KernelSpec(
        argv=[python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="test",
        language="python",
    )
    manager.start_kernel(env={**os.environ, **environment})

    def end() -> None:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()

    with _loaded(Kernel(manager.client(), manager.interrupt_kernel, end), load) as found:
        yield found


@contextmanager
def server_kernel(server: LabServer, name: str = "python3", load: bool = True) -> Iterator[Kernel]:
    """A kernel of a Jupyter server, as a notebook there has it."""
    call = partial(server_request, server)
    made = call("POST", "api/kernels", {"name": name})["id"]
    client = BlockingKernelClient()
    file = server.home / "runtime" / f"kernel-{made}.json"
    server.wait(file.exists, seconds=30, what="the kernel's connection file")
    client.load_connection_file(str(file))
    found = Kernel(
        client,
        lambda: call("POST", f"api/kernels/{made}/interrupt", {}),
        lambda: call("DELETE", f"api/kernels/{made}"),
    )
    with _loaded(found, load):
        yield found


def server_request(server: LabServer, method: str, path: str, body: Any = None) -> Any:
    """Call one of Jupyter's own routes."""
    return server.request(method, f"../{path}", body)


@contextmanager
def _loaded(found: Kernel, load: bool) -> Iterator[Kernel]:
    try:
        if load:
            outcome = found.run("%load_ext jupyter_elastic")
            assert outcome.status == "ok", outcome
        yield found
    finally:
        found.close()
