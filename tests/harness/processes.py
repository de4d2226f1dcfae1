"""Which processes and sockets belong to one test, found by the runtime folder in their environment or command line."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil


def belongs(process: psutil.Process, runtime: Path) -> bool:
    """Whether a process was started for this runtime folder."""
    mark = str(runtime)
    try:
        if any(mark in word for word in process.cmdline()):
            return True
        return process.environ().get("JUPYTER_ELASTIC_RUNTIME_DIR") == mark
    except (psutil.Error, OSError):
        return False


def owned(runtime: Path) -> list[psutil.Process]:
    """Return every living process of this runtime folder, our own test process left out."""
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid()
        and belongs(process, runtime)
        and process.status() != psutil.STATUS_ZOMBIE
    ]


def wait_until_none(
    runtime: Path, *, seconds: float, but: tuple[int, ...] = ()
) -> list[psutil.Process]:
    """Wait until no process of this folder is left beside `but`; return those that are still there."""
    end = time.monotonic() + seconds
    while True:
        left = [process for process in owned(runtime) if process.pid not in but]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def end_all(runtime: Path) -> None:
    """Kill whatever a failed test left behind."""
    for _ in range(20):
        left = owned(runtime)
        if not left:
            return
        for process in left:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
        time.sleep(0.1)
