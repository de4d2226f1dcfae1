"""The state files of this machine: read, change under one lock, notice changes. Blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...errors import Unreachable
from ...keeper import files
from ..decode import DecodeError
from .records import Record, dumps, loads

T = TypeVar("T")
Records = dict[str, Record]
Signature = tuple[tuple[str, int, int, int], ...]
LOCK_SECONDS = 10.0


@dataclass(frozen=True)
class Loaded:
    """What the folder holds. ``broken`` says for each file that cannot be read why."""

    records: Records
    broken: dict[str, str]


class Store:
    """One JSON file per cluster; every writer of this user on this machine takes the same lock.

    Parameters
    ----------
    folder
        ``state/clusters``.
    lock_file
        ``runtime/lock``.
    """

    def __init__(self, folder: Path, lock_file: Path) -> None:
        self.folder = folder
        self.lock_file = lock_file

    def path(self, cluster: str) -> Path:
        """Return the state file of a cluster."""
        return self.folder / f"{cluster}.json"

    def prepare(self) -> None:
        """Make the folder, for this user only."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load(self) -> Loaded:
        """Read every state file. One that cannot be read hides no other."""
        records: Records = {}
        broken: dict[str, str] = {}
        for name in self._names():
            path = self.folder / name
            try:
                record = loads(path.read_bytes())
                if f"{record.id}.json" != name:
                    raise DecodeError(f"it is about {record.id}")
            except FileNotFoundError:
                continue  # released between the listing and the reading
            except (OSError, DecodeError) as error:
                broken[name] = str(error)
            else:
                records[record.id] = record
        # Creation order, so that everybody who shares something out goes through them in the same
        # order.
        ordered = sorted(records.values(), key=lambda record: (record.created, record.id))
        return Loaded({record.id: record for record in ordered}, broken)

    def signature(self) -> Signature:
        """Return something that differs after any write; costs one stat per cluster."""
        found = []
        for name in self._names():
            with contextlib.suppress(OSError):
                seen = os.stat(self.folder / name)
                found.append((name, seen.st_mtime_ns, seen.st_ino, seen.st_size))
        return tuple(found)

    def transact(self, change: Callable[[Records], T]) -> T:
        """Read, change and write as one step that nobody else's step comes between.

        Parameters
        ----------
        change
            Changes the mapping it is given; what it raises leaves everything as it was.

        Raises
        ------
        Unreachable
            The lock is not to be had, or the disk cannot be written.
        """
        try:
            with files.locked(self.lock_file, timeout=LOCK_SECONDS):
                before = self.load().records
                after = dict(before)
                result = change(after)
                self._write(before, after)
                return result
        except TimeoutError:
            raise Unreachable(
                f"Another process has held {self.lock_file} for {LOCK_SECONDS:g} s.",
                hint="A stopped Jupyter server may hold it; end or continue that one.",
            ) from None
        except OSError as error:
            raise Unreachable(
                f"The state of the clusters cannot be written in {self.folder}: "
                f"{error.strerror or error}.",
                hint="Make room or make the folder writable; nothing was changed.",
            ) from error

    def _write(self, before: Records, after: Records) -> None:
        for cluster in before.keys() - after.keys():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path(cluster))
        # Who gives devices up goes first: a crash in between then leaves a GPU free, never with two
        # owners.
        changed = [record for record in after.values() if before.get(record.id) != record]
        for record in sorted(
            changed, key=lambda item: _devices(item) - _devices(before.get(item.id))
        ):
            # Not flushed to the disk: a crash of the machine ends the cluster anyway, a crash of a
            # process loses nothing, and each change would cost up to 50 ms on a busy disk.
            files.write_atomic(self.path(record.id), dumps(record), 0o600, sync=False)

    def _names(self) -> list[str]:
        try:
            with os.scandir(self.folder) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if entry.name.endswith(".json") and not entry.name.startswith(".")
                )
        except FileNotFoundError:
            return []


def _devices(record: Record | None) -> int:
    return 0 if record is None else sum(len(place.devices) for place in record.places)
