"""Which processes there are, who descends from whom, and ending them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Dict, Iterable, Tuple

from .identity import Stat, alive, start_time, stat

_HAS_PROC = sys.platform == "linux"

Table = Dict[int, Stat]
#: A process of this boot: pid and start time.
Known = Tuple[int, int]


def table() -> Table:
    """Return every process that has not ended yet."""
    if not _HAS_PROC:
        return _table_from_ps()
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            one = stat(int(name))
            if one is not None and one.state not in "ZX":
                found[int(name)] = one
    return found


def _table_from_ps() -> Table:
    from subprocess import run  # only where there is no /proc

    done = run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False
    )
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 4 and not words[3].startswith("Z"):
            pid, parent, group = int(words[0]), int(words[1]), int(words[2])
            with contextlib.suppress(OSError):
                found[pid] = Stat(words[3][0], parent, group, os.getsid(pid), 0)
    return found


def descendants(roots: Iterable[int], among: Table) -> set[int]:
    """Return the roots and all that descend from them now."""
    children: dict[int, list[int]] = {}
    for pid, one in among.items():
        children.setdefault(one.parent, []).append(pid)
    found: set[int] = set()
    waiting = [pid for pid in roots if pid in among]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, ())
    return found


def session(leader: int, among: Table) -> set[int]:
    """Return the members of a session, its leader included while that one lives."""
    return {pid for pid, one in among.items() if one.session == leader}


def known(pids: Iterable[int], among: Table) -> set[Known]:
    """Return the processes with their start times, so that a reused pid is not taken for one."""
    found = set()
    for pid in pids:
        start = among[pid].start if pid in among and among[pid].start else start_time(pid)
        if start is not None:
            found.add((pid, start))
    return found


def living(processes: Iterable[Known]) -> set[Known]:
    """Return those that still live."""
    return {one for one in processes if alive(*one)}


def send(processes: Iterable[Known], number: int) -> None:
    """Send a signal to those that still live; never to ourselves."""
    for pid, start in processes:
        if pid != os.getpid() and alive(pid, start):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
                if number == signal.SIGTERM:
                    os.kill(pid, signal.SIGCONT)  # a stopped process cannot end in its own way
