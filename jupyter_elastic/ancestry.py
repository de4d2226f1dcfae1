"""The processes above this one, and whether the one that wrote a card still lives."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from .keeper import identity

_MOST = 64  # a longer chain is a loop
_PATIENCE = 5.0  # seconds for ps
# Seconds since 1970 are computed from the boot time, which moves when the clock is set.
_TOLERANCE = 1.5


def ancestors(pid: int | None = None) -> list[int]:
    """Return the pids above `pid` (None: this process), nearest first."""
    chain: list[int] = []
    current = os.getppid() if pid is None else _parent(pid)
    while current > 0 and len(chain) < _MOST:
        chain.append(current)
        current = _parent(current)
    return chain


def alive(pid: object, start: object) -> bool:
    """Whether the very process with this pid and start still runs.

    Parameters
    ----------
    start
        As the card says it: a keeper writes the system's own whole number, a server seconds since
        1970 with a fraction.
    """
    if not isinstance(start, float):
        return identity.alive(pid, start)
    if isinstance(pid, bool) or not isinstance(pid, int):
        return False
    found = start_time(pid)
    return found is not None and abs(found - start) < _TOLERANCE


def start_time(pid: int) -> float | None:
    """Return when a process started, in seconds since 1970; None when it does not live."""
    if not _has_proc():
        return _start_from_ps(pid)
    ticks, boot = identity.start_time(pid), _boot_time()
    return None if ticks is None or boot is None else boot + ticks / os.sysconf("SC_CLK_TCK")


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _boot_time() -> float | None:
    for line in Path("/proc/stat").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return None


def _parent(pid: int) -> int:
    if not _has_proc():
        text = _ps(pid, "ppid=")
        return int(text) if text.isdigit() else 0
    found = identity.stat(pid)
    return 0 if found is None else found.parent


def _start_from_ps(pid: int) -> float | None:
    try:
        return time.mktime(time.strptime(_ps(pid, "lstart="), "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None


def _ps(pid: int, column: str) -> str:
    try:
        done = subprocess.run(
            ["ps", "-o", column, "-p", str(pid)],
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(done.stdout.split())
