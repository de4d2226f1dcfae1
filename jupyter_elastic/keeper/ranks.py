"""Ranks that our ssh started: which hosts are busy, and ending those nobody waits for."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, NamedTuple

from . import files, identity, processes

GRACE_SECONDS = 5.0
#: A run's launcher ends its own ranks when it ends; after this we do.
ORPHAN_SECONDS = 10.0


class Rank(NamedTuple):
    """One session that our ssh holds or held; or, far, the real ssh to another machine."""

    path: str
    host: str
    pid: int
    start: int
    run: str | None
    stub_lives: bool
    far: bool


class Ranks:
    """The records below ``ranks/<host>/``."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "ranks")
        self._boot = identity.boot_id()
        self._kill_at: dict[str, float] = {}
        self._orphan_since: dict[str, float] = {}
        files.make_private(self._folder)
        self.living: list[Rank] = []

    def scan(self) -> None:
        """Read the records; those of sessions that are over are removed."""
        self.living = []
        for host in os.listdir(self._folder):
            folder = os.path.join(self._folder, host)
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            for name in names:
                if name.endswith(".json") and not name.startswith("."):
                    self._read(host, os.path.join(folder, name))

    def _read(self, host: str, path: str) -> None:
        value = files.read_json(path)
        if value is None:
            return
        pid, start = value.get("pid"), value.get("start")
        if (
            value.get("boot") != self._boot
            or not isinstance(pid, int)
            or not isinstance(start, int)
        ):
            files.remove(path)
            return
        stub: Any = value.get("stub") or {}
        stub_lives = identity.alive(stub.get("pid"), stub.get("start"))
        far = value.get("far") is True
        rank = Rank(path, host, pid, start, value.get("run"), stub_lives, far)
        # Its leader may be gone and something else of the session live on.
        if stub_lives or identity.alive(pid, start) or self._members(rank):
            self.living.append(rank)
        else:
            files.remove(path)
            self._kill_at.pop(path, None)

    @staticmethod
    def _members(rank: Rank) -> set[processes.Known]:
        if rank.far:
            return processes.living({(rank.pid, rank.start)})
        now = identity.stat(rank.pid)
        if now is not None and now.start != rank.start:
            return set()  # the number was given to somebody else, so the session is over
        among = processes.table()
        return processes.known(processes.session(rank.pid, among), among)

    def busy(self) -> set[str]:
        """Return the hosts where a rank lives."""
        return {rank.host for rank in self.living}

    def of_run(self, run: str) -> set[processes.Known]:
        """Return every process of a run's ranks."""
        found: set[processes.Known] = set()
        for rank in self.living:
            if rank.run == run:
                found |= self._members(rank)
        return found

    def sweep(self, live_runs: set[str]) -> None:
        """End the ranks whose ssh was killed, and those that their run left behind."""
        now = time.monotonic()
        for rank in self.living:
            over = rank.run is not None and rank.run not in live_runs
            since = self._orphan_since.setdefault(rank.path, now) if over else now
            if not over:
                self._orphan_since.pop(rank.path, None)
            if not rank.stub_lives or now - since > ORPHAN_SECONDS:
                self._end(rank, now, GRACE_SECONDS)
        there = {rank.path for rank in self.living}
        self._orphan_since = {path: at for path, at in self._orphan_since.items() if path in there}

    def end_all(self, grace_seconds: float) -> None:
        """End every rank; call it again until none lives."""
        for rank in self.living:
            self._end(rank, time.monotonic(), grace_seconds)

    def _end(self, rank: Rank, now: float, grace_seconds: float) -> None:
        members = self._members(rank)
        if rank.path not in self._kill_at:
            self._kill_at[rank.path] = now + grace_seconds
            processes.send(members, signal.SIGTERM)
        elif now >= self._kill_at[rank.path]:
            processes.send(members, signal.SIGKILL)
