"""Unmounting what containers left below a folder."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from testcluster.faults import ClusterError
from testcluster.run import run


def below(folder: Path) -> list[str]:
    """Return the mount points below a folder, the last mounted first."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    # Blanks and backslashes are written as octal numbers.
    points = [
        re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), line.split(" ")[4])
        for line in lines
    ]
    return [point for point in reversed(points) if point.startswith(f"{folder}/")]


def unmount_below(folder: Path) -> None:
    """Unmount everything below a folder.

    Raises
    ------
    ClusterError
        If something stays mounted.
    """
    for point in below(folder):
        try:
            run("umount", point)
        except ClusterError:
            # Busy, or gone with another one; a lazy unmount settles the first.
            with contextlib.suppress(ClusterError):
                run("umount", "--lazy", point)
    left = below(folder)
    if left:
        raise ClusterError(f"Still mounted: {', '.join(left)}")
