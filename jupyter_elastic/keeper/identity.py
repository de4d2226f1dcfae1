"""Who a process is, and which boot of the machine this is."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import NamedTuple

_PROC = "/proc"
_HAS_PROC = sys.platform == "linux"


class Stat(NamedTuple):
    """What ``/proc/<pid>/stat`` says; ``start`` in clock ticks after boot."""

    state: str
    parent: int
    group: int
    session: int
    start: int


def stat(pid: int) -> Stat | None:
    """Return the state of a process, or None when there is none (or no ``/proc``)."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as handle:
            text = handle.read()
    except OSError:
        return None
    # The name is in brackets and may hold anything, brackets and spaces included.
    words = text[text.rfind(b")") + 2 :].split()
    if len(words) < 20:
        return None
    return Stat(words[0].decode(), int(words[1]), int(words[2]), int(words[3]), int(words[19]))


def start_time(pid: int) -> int | None:
    """Return when a process started, or None when it does not live.

    With the pid it names one process of this boot. The unit is the system's own (clock ticks after
    boot on Linux): compare it, do not calculate with it. A process that ended and waits to be
    collected counts as gone.
    """
    if pid <= 0:
        return None
    if _HAS_PROC:
        found = stat(pid)
        return None if found is None or found.state in "ZX" else found.start
    return _start_from_ps(pid)


def _start_from_ps(pid: int) -> int | None:
    from subprocess import run  # only where there is no /proc, and it costs memory

    done = run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "PATH": "/bin:/usr/bin"},
    )
    words = done.stdout.split(None, 1)
    if len(words) < 2 or words[0].startswith("Z"):
        return None
    return int(hashlib.sha256(words[1].strip().encode()).hexdigest()[:12], 16)


def alive(pid: object, start: object) -> bool:
    """Whether the very process of this pid and start time lives; False for any other value."""
    if not isinstance(pid, int) or not isinstance(start, int) or isinstance(pid, bool):
        return False
    return start_time(pid) == start


def boot_id() -> str:
    """Return the identity of this boot; a restarted container has another, as its pid 1 has."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as handle:
            kernel = handle.read().strip()
    except OSError:
        kernel = _boot_from_sysctl()
    return f"{kernel}-{start_time(1) or 0}"


def _boot_from_sysctl() -> str:
    from subprocess import run  # only where there is no /proc

    try:
        done = run(
            ["sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


def me() -> dict[str, int]:
    """Return this process's own ``pid`` and ``start``, as records name it."""
    pid = os.getpid()
    return {"pid": pid, "start": start_time(pid) or 0}
