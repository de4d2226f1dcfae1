"""Giving the cluster back: runs, shells and ranks end, then the files go.

That it has begun is on disk, so a keeper that was killed goes on where it was. A container that is
told to stop ends the same way, but keeps its files: it may be started again.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Callable

from . import files
from .channel import Refused
from .hosts import Hosts
from .ranks import Ranks
from .runs import Runs
from .shells import Shells

AFTER_SECONDS = 5.0  # after KILL, for what the kernel needs
LOCK_SECONDS = 60.0


class Ending:
    """One release, step by step.

    Parameters
    ----------
    path
        ``ending.json``, which says that it has begun.
    """

    def __init__(self, path: str, hosts: Hosts, runs: Runs, shells: Shells, ranks: Ranks) -> None:
        self._path = path
        self._hosts, self._runs, self._shells, self._ranks = hosts, runs, shells, ranks
        self._value: dict[str, Any] | None = files.read_json(path)
        self._waiting: list[Callable[[], None]] = []
        self._asked: set[str] = set()
        self._lock_until: dict[str, float] = {}

    @property
    def begun(self) -> bool:
        """Whether everything is being ended."""
        return self._value is not None

    @property
    def stopping(self) -> bool:
        """Whether only this container ends, not the cluster."""
        return bool(self._value and self._value.get("stop"))

    @property
    def own(self) -> bool:
        """Whether it was our own decision, so that the state file is ours to remove as well."""
        return bool(self._value and self._value.get("own"))

    def begin(
        self, grace_seconds: float, own: bool, done: Callable[[], None] | None = None
    ) -> None:
        """Begin, or take up one more who waits for the end.

        Parameters
        ----------
        own
            Whether it is our own decision. Who asks removes the state file itself, so that wins.
        """
        if done is not None:
            self._waiting.append(done)
        if self._value is None or (self._value.get("own") and not own):
            self._value = {"own": own, "until": time.time() + grace_seconds}
            with contextlib.suppress(OSError):  # a full disk must not keep the cluster alive
                files.write_json(self._path, self._value)

    def stop(self, grace_seconds: float) -> None:
        """End what runs because the container ends; called again, or when begun: the earlier end.

        Nothing of it is kept on disk: the next start of the container begins afresh.
        """
        until = time.time() + grace_seconds
        if self._value is None:
            self._value = {"own": False, "stop": True, "until": until}
        self._value["until"] = min(until, float(self._value.get("until", until)))
        for record in self._runs.live():
            if record["id"] in self._asked:
                self._runs.stop(record["id"], max(0.0, self._value["until"] - time.time()))

    def step(self) -> bool:
        """Take the next step; True when all has ended and the host files are gone."""
        until = float((self._value or {}).get("until", 0.0))
        now = time.time()
        left = max(0.0, until - now)
        live = self._runs.live()
        for record in live:
            if record["id"] not in self._asked:
                self._asked.add(record["id"])
                self._runs.stop(record["id"], left)
        if live and now < until + AFTER_SECONDS:
            return False
        for shell in list(self._shells.living):
            if shell not in self._asked:
                self._asked.add(shell)
                reason = "stopped" if self.stopping else "released"
                with contextlib.suppress(Refused):  # it has just ended by itself
                    self._shells.end(shell, reason, max(1.0, left))
        self._ranks.end_all(left)
        if (self._shells.living or self._ranks.living) and now < until + 2 * AFTER_SECONDS:
            return False
        return self.stopping or self._remove_hosts()

    def _remove_hosts(self) -> bool:
        """Remove the host files and what marks their folder as ours; False while it is locked."""
        if self._hosts.give_back():
            return True
        if not self._waited("hosts"):
            return False
        self._hosts.remove()  # a claim without its cluster is void, so it may stay
        return True

    def _waited(self, what: str) -> bool:
        """Whether we have waited a minute for a lock: one that is never let go of keeps nothing."""
        return time.monotonic() >= self._lock_until.setdefault(
            what, time.monotonic() + LOCK_SECONDS
        )

    def remove_state(self, state_file: Any, lock_file: Any) -> bool:
        """Remove the state file under its lock; False while somebody else holds that.

        After a minute it is removed without. A cluster whose truth is elsewhere names neither.
        """
        if not (isinstance(state_file, str) and state_file):
            return True
        if not (isinstance(lock_file, str) and lock_file):
            files.remove(state_file)
            return True
        try:
            handle = files.try_lock(lock_file)
        except OSError:
            handle = None
        if handle is None and not self._waited("state"):
            return False
        files.remove(state_file)
        if handle is not None:
            os.close(handle)
        return True

    def answer(self) -> None:
        """Tell those who asked."""
        for done in self._waiting:
            done()
