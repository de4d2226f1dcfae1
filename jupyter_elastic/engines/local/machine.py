"""What this machine offers: cores, loopback addresses."""

from __future__ import annotations

import os
import socket
from pathlib import Path

LEAST_PLACES = 4
_CGROUP = Path("/sys/fs/cgroup")


def loopback_places() -> bool:
    """Whether addresses above 127.0.0.1 exist; on macOS they do not."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.2", 0))
        except OSError:
            return False
    return True


def cores() -> int:
    """Return the CPU cores this process may use, by its affinity and its control groups' quota."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has no affinity
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, int(quota + 0.5)))


def places(available: int, override: int | None = None) -> int:
    """Return the number of CPU places: an administrator's, else the cores, at least 4."""
    return override if override is not None else max(LEAST_PLACES, available)


def _quota() -> float | None:
    """Return the smallest CPU quota of this process's control groups in cores, or None."""
    found = []
    for folder in _own_groups():
        quota = quota_v2(_text(folder / "cpu.max"))
        if quota is not None:
            found.append(quota)
    one = quota_v1(
        _text(_CGROUP / "cpu" / "cpu.cfs_quota_us"), _text(_CGROUP / "cpu" / "cpu.cfs_period_us")
    )
    return min([*found, *([] if one is None else [one])], default=None)


def _own_groups() -> list[Path]:
    own = next(
        (line[3:] for line in _text(Path("/proc/self/cgroup")).splitlines() if line[:3] == "0::"),
        "/",
    )
    folder = _CGROUP / own.lstrip("/")
    return [
        item for item in (folder, *folder.parents) if item == _CGROUP or _CGROUP in item.parents
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def quota_v2(text: str) -> float | None:
    """Read ``cpu.max``: quota and period in microseconds, or ``max``."""
    words = text.split()
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def quota_v1(quota: str, period: str) -> float | None:
    """Read ``cpu.cfs_quota_us`` and ``cpu.cfs_period_us``; -1 is no quota."""
    if not quota.strip().isdigit() or not period.strip().isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)
