"""Giving a cluster back: what runs, the host files, the keeper's folder.

Each step may be repeated.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from ...errors import ElasticError, Unreachable
from .channel import LocalChannel
from .overview import give_back_folder
from .processes import end, everything_of, keeper_of
from .records import Record

GRACE_SECONDS = 5.0
KEEPER_SECONDS = 3.0
_log = logging.getLogger(__name__)


async def ask_keeper(channel: LocalChannel) -> None:
    """Let the keeper end runs and shells and remove the host files; it may be gone already."""
    try:
        await channel.request(
            "end", seconds=GRACE_SECONDS + 10.0, connect_seconds=2.0, grace_seconds=GRACE_SECONDS
        )
    except ElasticError as error:
        # What is left of it is ended from the records in the next step.
        _log.debug("keeper did not end by itself: %s", error.message)


def clean(record: Record, folder: Path, *, same_boot: bool) -> None:
    """End what still runs, then remove the host files and the keeper's folder. Blocks."""
    if same_boot:  # the pids of an earlier boot name nobody
        ended = end(everything_of(folder), GRACE_SECONDS)
        # The keeper last: until then it records what the others did. Once more for what it began.
        ended = end(keeper_of(folder), KEEPER_SECONDS) and ended
        if not (end(everything_of(folder), GRACE_SECONDS) and ended):
            raise Unreachable(
                "Some processes of the cluster do not end.",
                hint="They wait for a device or a file system; the release is tried again.",
                code="processes_left",
            )
    give_back_folder(record)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder)  # once more, and this time say what is in the way
