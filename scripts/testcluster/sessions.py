"""Folders of test runs: one each, and those of runs that were killed are swept."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from testcluster import life, processes
from testcluster.faults import ClusterError

BASE = Path(tempfile.gettempdir())
PREFIX = "je-tests-"


def folder() -> Path:
    """Return a state folder that names this process as its owner."""
    return BASE / f"{PREFIX}{os.getpid()}-{processes.birth(os.getpid())}"


def sweep() -> list[Path]:
    """End the clusters of test runs that are no more.

    Returns
    -------
    list of pathlib.Path
        The folders that were removed.
    """
    swept = []
    for path in sorted(BASE.glob(f"{PREFIX}*")):
        owner = _owner(path)
        if owner is None or processes.birth(owner[0]) == owner[1]:
            continue
        state = path.with_name(path.name.removesuffix(".lock"))
        with contextlib.suppress(ClusterError):
            life.stop(state)
            swept.append(state)
    return swept


def _owner(path: Path) -> tuple[int, int] | None:
    """Return process id and birth of the run that a folder, or its lock, belongs to."""
    parts = path.name.removesuffix(".lock").removeprefix(PREFIX).split("-")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return int(parts[0]), int(parts[1])
    return None
