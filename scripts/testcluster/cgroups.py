"""A branch of the control groups for one cluster's pods, on version 1 and version 2 hosts.

Two kubelets that shared a branch would end each other's pods as orphans.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from testcluster.faults import ClusterError

ROOT = Path("/sys/fs/cgroup")


def _hierarchies() -> list[Path]:
    """Return the folder of each hierarchy; links stand for joined controllers."""
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return sorted(path for path in ROOT.iterdir() if path.is_dir() and not path.is_symlink())


def create(name: str) -> None:
    """Make the branch.

    Raises
    ------
    ClusterError
        If the control groups cannot be written.
    """
    try:
        for hierarchy in _hierarchies():
            branch = hierarchy / name
            branch.mkdir(exist_ok=True)
            # Version 1 starts a branch without any core and memory node.
            for setting in ("cpuset.cpus", "cpuset.mems"):
                if hierarchy != ROOT and (branch / setting).exists():
                    (branch / setting).write_text((hierarchy / setting).read_text())
        if (ROOT / "cgroup.controllers").exists():
            controllers = (ROOT / "cgroup.controllers").read_text().split()
            wanted = " ".join(f"+{controller}" for controller in controllers)
            (ROOT / "cgroup.subtree_control").write_text(wanted)
    except OSError as error:
        raise ClusterError(f"The control groups cannot be written: {error}") from error


def processes(name: str) -> list[int]:
    """Return the process ids in the branch: those of all the cluster's containers."""
    pids: set[int] = set()
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / name):
            with contextlib.suppress(OSError):
                pids.update(map(int, (Path(folder) / "cgroup.procs").read_text().split()))
    return sorted(pids)


def remove(name: str) -> None:
    """Remove the branch, once its processes have ended.

    Raises
    ------
    ClusterError
        If it cannot be removed.
    """
    deadline = time.monotonic() + 5
    while True:
        for hierarchy in _hierarchies():
            for folder, _, _ in os.walk(hierarchy / name, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        left = [str(path / name) for path in _hierarchies() if (path / name).exists()]
        if not left:
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"Control groups cannot be removed: {', '.join(left)}")
        time.sleep(0.05)
