"""The runs of this cluster, from the records that starters write; stopping them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from typing import Any

from . import files, found, identity, processes, ring
from .channel import Refused
from .ranks import Ranks

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEPT = 40  # records of runs that are over
_FIELDS = ("id", "state", "program", "text", "argv", "cwd", "started", "np", "min_np", "max_np",
           "elastic", "ended", "exit", "found", "shell", "pid", "reason")  # fmt: skip
_SHAPE: dict[str, Any] = {
    "id": str,
    "program": str,
    "text": str,
    "argv": list,
    "cwd": str,
    "started": (int, float),
}


class Runs:
    """The records below ``runs``.

    Parameters
    ----------
    folder
        The keeper's own folder.
    finder
        Looks for runs that were started elsewhere.
    """

    def __init__(self, folder: str, ranks: Ranks, finder: found.Finder) -> None:
        self._folder = os.path.join(folder, "runs")
        self._shells = os.path.join(folder, "shells")
        self._ranks = ranks
        self._finder = finder
        self._boot = identity.boot_id()
        self._records: dict[str, dict[str, Any]] = {}
        self._signatures: dict[str, tuple[int, int]] = {}
        self._seen: dict[str, set[processes.Known]] = {}  # processes of runs that are being stopped
        self._stops: dict[str, dict[str, Any]] = {}
        files.make_private(self._folder)
        self.scan()

    # -- reading ------------------------------------------------------------------------------

    def _file(self, run: str, ending: str) -> str:
        return os.path.join(self._folder, f"{run}.{ending}")

    def scan(self) -> None:
        """Read what changed, and notice runs whose processes are gone."""
        there = set()
        for entry in os.scandir(self._folder):
            run, dot, ending = entry.name.partition(".")
            if not run or dot + ending not in (".json", ".stop"):
                continue
            there.add(entry.name)
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if self._signatures.get(entry.name) == (seen.st_mtime_ns, seen.st_ino):
                continue
            value = files.read_json(entry.path)
            if value is None or not (ending == "stop" or _shaped(value, run)):
                continue
            self._signatures[entry.name] = (seen.st_mtime_ns, seen.st_ino)
            (self._stops if ending == "stop" else self._records)[run] = value
        for name in set(self._signatures) - there:
            del self._signatures[name]
            run, _, ending = name.partition(".")
            (self._stops if ending == "stop" else self._records).pop(run, None)
        for record in self._records.values():
            if record["state"] == "running" and not self._lives(record):
                self._over(record)

    def _lives(self, record: dict[str, Any]) -> bool:
        if record.get("boot") != self._boot:
            return False
        starter = record.get("starter") or {}
        return identity.alive(starter.get("pid"), starter.get("start")) or identity.alive(
            record.get("pid"), record.get("start")
        )

    def _over(self, record: dict[str, Any]) -> None:
        """Write that nobody knows how it ended: its own writer is gone."""
        # A starter that ended between our two looks has written the truth by now.
        newest = files.read_json(self._file(record["id"], "json"))
        if newest is not None and newest.get("state") != "running":
            record.update(newest)
            return
        is_found = bool(record.get("found"))
        text = "It was started elsewhere, so its exit code is not known."
        if not is_found:
            text = "Its starter was killed, so its exit code is not known."
        if record.get("boot") != self._boot:
            text = "Its machine or container was restarted, so its exit code is not known."
        record.update(
            state="ended" if is_found else "lost",
            ended=time.time(),
            reason={"code": "exit_unknown", "text": text, "detail": ""},
        )
        self._save(record)

    def _save(self, record: dict[str, Any]) -> None:
        try:
            files.write_json(self._file(record["id"], "json"), record, sync=False)
        except OSError:
            return  # it is in memory, and found out again after a restart

    def look(self) -> None:
        """Look for runs that were started elsewhere, when it is time for that."""
        ours = set()
        for record in self.live():
            if not record.get("found"):
                ours |= {record.get("pid"), (record.get("starter") or {}).get("pid")}
        records = self._finder.scan({pid for pid in ours if isinstance(pid, int)})
        for record in records or ():
            if record["id"] not in self._records:
                self._records[record["id"]] = record
                self._save(record)

    # -- asking -------------------------------------------------------------------------------

    def live(self) -> list[dict[str, Any]]:
        """Return the records of runs whose processes live."""
        return [one for one in self._records.values() if one["state"] == "running"]

    def newest_ended(self) -> dict[str, Any] | None:
        """Return the run that ended last."""
        over = [one for one in self._records.values() if one["state"] != "running"]
        return max(over, key=lambda one: one.get("ended") or 0.0, default=None)

    def in_shell(self, shell: str) -> dict[str, Any] | None:
        """Return the live run of a shell, else its newest."""
        there = [one for one in self._records.values() if one.get("shell") == shell]
        return max(there, key=lambda one: (one["state"] == "running", one["started"]), default=None)

    def shells_needed(self) -> set[str]:
        """Return the shells whose output holds a run's."""
        return {one["shell"] for one in self._records.values() if one.get("shell")}

    def status(self) -> list[dict[str, Any]]:
        """Return all runs, newest first, as the status carries them."""
        ordered = sorted(self._records.values(), key=lambda one: one["started"], reverse=True)
        return [self.shown(one) for one in ordered]

    def shown(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return one run as the status carries it."""
        fields = {key: record.get(key) for key in _FIELDS}
        fields["found"] = bool(fields["found"])
        fields["elastic"] = bool(fields["elastic"])
        if record["id"] in self._stops:
            # Also with exit 0: some launchers take TERM for a wish and end well.
            fields["state"] = "stopping" if record["state"] == "running" else "stopped"
        return fields

    def get(self, run: Any) -> dict[str, Any]:
        """Return a run's record.

        Raises
        ------
        Refused
            There is none.
        """
        record = self._records.get(run) if isinstance(run, str) else None
        if record is None:
            raise Refused("not_found", f"There is no run {run!r:.80}.")
        return record

    def log(self, run: Any, max_bytes: Any) -> str:
        """Return the end of a run's output; empty for one that was started elsewhere."""
        record = self.get(run)
        most = max_bytes if isinstance(max_bytes, int) and max_bytes > 0 else 65536
        most = min(most, 512 * 1024)  # one line of the channel must hold it
        if record.get("shell"):
            path = os.path.join(self._shells, f"{record['shell']}.out")
            start = record.get("from") or 0
            return ring.read(path, start, record.get("to"), most).decode(errors="replace")
        return ring.read(self._file(record["id"], "out"), 0, None, most).decode(errors="replace")

    # -- stopping -----------------------------------------------------------------------------

    def stop(self, run: Any, grace_seconds: float) -> None:
        """TERM now, KILL of what is left after the grace. Asked again, the earlier end counts."""
        record = self.get(run)
        if record["state"] != "running":
            return
        kill_at = time.time() + max(0.0, min(grace_seconds, 3600.0))
        stop = self._stops.setdefault(record["id"], {"kill_at": kill_at, "term": False})
        stop["kill_at"] = min(kill_at, float(stop.get("kill_at", kill_at)))
        self._ask(record, stop)
        self._save_stop(record["id"])

    def _save_stop(self, run: str) -> None:
        with contextlib.suppress(OSError):  # only a keeper that is killed right now would forget it
            files.write_json(self._file(run, "stop"), self._stops[run], sync=False)

    def _ask(self, record: dict[str, Any], stop: dict[str, Any]) -> set[processes.Known]:
        """Send TERM once, as soon as there is a process; returns what belongs to the run."""
        seen = self._collect(record)
        if not stop.get("term") and isinstance(record.get("pid"), int):
            stop["term"] = True
            processes.send({(record["pid"], record["start"])}, signal.SIGTERM)
        return seen

    def _collect(self, record: dict[str, Any]) -> set[processes.Known]:
        """Remember all that belongs to a run: who loses its parent would be found no more."""
        seen = self._seen.setdefault(record["id"], set())
        if identity.alive(record.get("pid"), record.get("start")):
            seen |= found.tree(record["pid"], processes.table())
        seen |= self._ranks.of_run(record["id"])
        seen &= processes.living(seen)
        return seen

    def stopping(self) -> bool:
        """Take the next step with the runs that are being stopped; False when there is none."""
        active = False
        for run, stop in self._stops.items():
            record = self._records.get(run)
            if record is None or (record["state"] != "running" and run not in self._seen):
                continue
            active = True
            left = self._ask(record, stop)
            if time.time() >= float(stop.get("kill_at", 0)):
                processes.send(left, signal.SIGKILL)
            if not left and record["state"] != "running":
                self._seen.pop(run, None)
        return active

    def tidy(self) -> None:
        """Forget the oldest runs that are over."""
        over = [one for one in self._records.values() if one["state"] != "running"]
        over.sort(key=lambda one: one["started"], reverse=True)
        for record in over[KEPT:]:
            for ending in ("out", "stop", "json"):
                files.remove(self._file(record["id"], ending))


def _shaped(value: dict[str, Any], run: str) -> bool:
    return (
        value.get("id") == run
        and value.get("state") in ("running", "ended", "failed", "stopped", "lost")
        and all(isinstance(value.get(key), kind) for key, kind in _SHAPE.items())
    )
