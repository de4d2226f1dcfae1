"""Ends what a cluster started, by the records of its keeper, shells, starters and ssh. Blocks."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from pathlib import Path

from ...keeper import files, identity
from ...keeper.processes import Known, descendants, known, living, send, session, table

POLL_SECONDS = 0.03
KILLED_SECONDS = 2.0
# Who stands beside the process that a record is about: a starter, our ssh, the holder of a pty.
_BESIDE = ("starter", "stub", "host")


def keeper_of(folder: Path) -> set[Known]:
    """Return the keeper that lives for a cluster; empty when there is none."""
    return _recorded([folder / "keeper.json"])


def ranks_of(folder: Path, host: str) -> set[Known]:
    """Return the living ranks of one host that were started through our ssh."""
    return _recorded((folder / "ranks" / host).glob("*.json"))


def runs_of(folder: Path) -> set[Known]:
    """Return the living launch commands."""
    return _recorded((folder / "runs").glob("*.json"))


def everything_of(folder: Path) -> set[Known]:
    """Return what lives beside the keeper: ranks, runs, shells, and who holds them."""
    records = [*folder.glob("ranks/*/*.json"), *folder.glob("runs/*.json")]
    return _recorded([*records, *folder.glob("shells/*.json")], beside=True)


def _recorded(paths: Iterable[Path], *, beside: bool = False) -> set[Known]:
    """Return the processes that records name; a pid that was given to somebody else is not one."""
    found: set[Known] = set()
    for path in paths:
        record = files.read_json(path) or {}
        named = [record, *(record.get(key) for key in _BESIDE if beside)]
        for one in named:
            if isinstance(one, dict) and identity.alive(one.get("pid"), one.get("start")):
                found.add((one["pid"], one["start"]))
    return found


def tree_of(roots: Iterable[Known]) -> set[int]:
    """Return the pids of processes and of all that descend from them now."""
    return descendants([pid for pid, _ in roots], table())


def end(roots: set[Known], grace_seconds: float) -> bool:
    """TERM, grace, KILL for processes, their descendants and the members of their sessions.

    Returns
    -------
    bool
        Whether all of them are gone.
    """
    if not roots:
        return True
    # Collected before the first signal: those whose parent ended are not found any more afterwards.
    everybody = _with_relatives(roots)
    send(everybody, signal.SIGTERM)
    if _gone(everybody, grace_seconds):
        return True
    left = living(everybody)
    left |= _with_relatives(left)
    send(left, signal.SIGKILL)
    return _gone(left, KILLED_SECONDS)


def _with_relatives(roots: set[Known]) -> set[Known]:
    among = table()
    pids = descendants([pid for pid, _ in roots], among)
    for pid, _ in roots:
        pids |= session(pid, among)
    return roots | known(pids, among)


def _gone(processes: set[Known], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while living(processes):
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True
