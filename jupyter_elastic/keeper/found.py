"""Launchers that were started elsewhere on our host files: from another terminal or a notebook."""

from __future__ import annotations

import os
import shlex
import time
from typing import Any, Iterable

from . import identity, launchers, processes

SCAN_SECONDS = 5.0
#: How often a process is looked at before it counts as known: a fork shows its parent's words
#: until it starts its own program.
LOOKS = 3


class Finder:
    """Looks through the processes of this user; one that was seen a few times costs nothing more.

    Parameters
    ----------
    programs
        Names of launcher programs.
    paths
        Paths of our host file and discovery script.
    """

    def __init__(self, programs: Iterable[str], paths: Iterable[str]) -> None:
        self._programs = frozenset(programs)
        self._paths = tuple(os.fsencode(path) for path in paths)
        self._looks: dict[int, int] = {}
        self._found: dict[int, tuple[int, list[str]]] = {}
        self._next = 0.0

    def scan(self, ours: set[int]) -> list[dict[str, Any]] | None:
        """Return records of what runs and is not below `ours`; None when it is too early."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + SCAN_SECONDS
        there = {int(name) for name in _listing() if name.isdigit()}
        self._looks = {pid: looks for pid, looks in self._looks.items() if pid in there}
        self._found = {
            pid: one for pid, one in self._found.items() if identity.start_time(pid) == one[0]
        }
        for pid in there:
            looks = self._looks.get(pid, 0)
            if looks < LOOKS and pid not in self._found:
                self._looks[pid] = looks + 1
                self._look(pid)
        return [self._record(pid) for pid in self._found if not self._below(pid, ours)]

    def _look(self, pid: int) -> None:
        try:
            if os.stat(f"/proc/{pid}").st_uid != os.getuid():
                self._looks[pid] = LOOKS
                return
            with open(f"/proc/{pid}/cmdline", "rb") as handle:
                raw = handle.read()
        except OSError:
            return
        if not any(path in raw for path in self._paths):
            return
        words = [os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0")]
        start = identity.start_time(pid)
        command = self._command(words)
        if command and start is not None:
            self._found[pid] = (start, command)

    def _command(self, words: list[str]) -> list[str]:
        """Return the launcher's words: it is the process itself, or an interpreter's script."""
        if os.path.basename(words[0]) in self._programs:
            return [os.path.basename(words[0]), *words[1:]]
        for at, word in enumerate(words[1:], start=1):
            if not word.startswith("-"):
                name = os.path.basename(word)
                return [name, *words[at + 1 :]] if name in self._programs else []
        return []

    def _below(self, pid: int, ours: set[int]) -> bool:
        """Whether it descends from a recorded run, or is a fork of another one that was found."""
        seen = pid
        for _ in range(64):
            one = identity.stat(seen)
            if one is None or one.parent <= 1:
                return False
            seen = one.parent
            if seen in ours or seen in self._found:
                return True
        return False

    def _record(self, pid: int) -> dict[str, Any]:
        start, words = self._found[pid]
        reading = launchers.read(words[0], words[1:])
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            cwd = "/"
        return {
            "id": f"found-{pid}-{start}",
            "state": "running",
            "program": words[0],
            "text": shlex.join(words),
            "argv": words,
            "cwd": cwd,
            "started": time.time(),
            "np": reading.np,
            "min_np": reading.min_np,
            "max_np": reading.max_np,
            "elastic": reading.elastic,
            "found": True,
            "pid": pid,
            "start": start,
            "boot": identity.boot_id(),
        }


def _listing() -> list[str]:
    try:
        return os.listdir("/proc")
    except OSError:
        return []


def tree(pid: int, among: processes.Table) -> set[processes.Known]:
    """Return a process and all that descend from it."""
    return processes.known(processes.descendants([pid], among), among)
