"""Waiting until a cluster, or something in it, is ready."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from testcluster import processes
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError


def wait_for(what: str, seconds: float, check: Callable[[], object]) -> None:
    """Ask ``check`` again and again until it returns something true.

    Raises
    ------
    ClusterError
        If it does not within that time, with its last complaint.
    """
    deadline = time.monotonic() + seconds
    complaint = ""
    while True:
        try:
            if check():
                return
        except ClusterError as error:
            complaint = f": {error}"
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not within {seconds:.0f} s{complaint}")
        time.sleep(0.2)


def await_program(
    cluster: Cluster, program: str, check: Callable[[], object], seconds: float = 60
) -> None:
    """Wait for a program to serve; one that has ended is reported at once, with its last words."""

    def serves() -> object:
        if program not in running(cluster):
            return True
        return check()

    log = cluster.log(program)
    try:
        wait_for(program, seconds, serves)
    except ClusterError as error:
        raise ClusterError(f"{error}\n{processes.last_lines(log)}") from error
    if program not in running(cluster):
        raise ClusterError(f"{program} ended at once:\n{processes.last_lines(log)}")


def running(cluster: Cluster) -> list[str]:
    """Return the names of the cluster's programs that run."""
    found = []
    for name in cluster.programs():
        try:
            cluster.process(name)
        except ClusterError:
            continue
        found.append(name)
    return found


def is_ready(item: dict[str, Any]) -> bool:
    """Tell whether a node or pod has the condition Ready."""
    conditions = item.get("status", {}).get("conditions", [])
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)
