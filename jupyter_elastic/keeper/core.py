"""The keeper of one cluster: puts its parts together and looks after them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from . import files, found, places, programs, rcfiles
from .channel import LINE_LIMIT, Channel, Refused
from .ending import AFTER_SECONDS, Ending
from .hostfile import HOSTFILE, SCRIPT
from .hosts import Hosts
from .loop import Loop
from .ranks import Ranks
from .release import Release
from .requests import Requests
from .runs import Runs
from .shells import Shells

TICK_SECONDS = 1.0
BUSY_TICK_SECONDS = 0.1
TIDY_SECONDS = 60.0
GRACE_SECONDS = 10.0
TERMINATION_SECONDS = 30.0  # from TERM to KILL, as Kubernetes gives it where nobody said otherwise
END_SECONDS = 2 * AFTER_SECONDS + 2.0  # what ending takes beyond the grace


class Keeper:
    """One cluster's keeper.

    Parameters
    ----------
    folder
        Its own folder.
    config
        What the engine wrote into ``config.json``.
    main
        Whether it is the main process of a container: what runs ends with it, so it goes on as long
        as it can, and ends by TERM only after the runs.
    """

    def __init__(self, folder: str, config: dict[str, Any], *, main: bool = False) -> None:
        self.folder = folder
        self._main = main
        self._code = 0
        self._config = config
        self.cluster = str(config["cluster"])
        host_folder = str(config["host_folder"])
        names = (str(name) for name in config.get("programs") or ())
        self.programs = [name for name in names if programs.NAME.fullmatch(name)]
        programs.write(folder, self.programs)
        rcfiles.write(folder, self.programs)
        if isinstance(config.get("ssh_config"), str):
            path = os.path.join(folder, places.SSH_CONFIG)
            files.write_atomic(path, config["ssh_config"].encode(), sync=False)
        self.loop = Loop()
        paths = [os.path.join(host_folder, name) for name in (HOSTFILE, SCRIPT)]
        self.hosts = Hosts(folder, host_folder, self.cluster)
        self.ranks = Ranks(folder)
        self.runs = Runs(folder, self.ranks, found.Finder(self.programs, paths))
        allowed = [str(name) for name in config.get("allow_env") or ()]
        idle = config.get("shell_idle_seconds")
        self.shells = Shells(folder, allowed, self.loop, self.changed, idle)
        self.release = Release(folder)
        self.ending = Ending(
            os.path.join(folder, "ending.json"), self.hosts, self.runs, self.shells, self.ranks
        )
        self.said = ""
        self._next_tidy = 0.0
        self.requests = Requests(self)
        self.channel = Channel(os.path.join(folder, "keeper.sock"), self.loop, self.requests.handle)

    # -- life ---------------------------------------------------------------------------------

    def serve(self) -> int:
        """Go on until the cluster is given back, or this process is told to end.

        Returns
        -------
        int
            Exit code: 0, or for a main process that did not give the cluster back another one.
        """
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.loop.wake_on(signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, handler=self._signal)
        self._tick()
        self.loop.run()
        self.channel.close()
        return self._code

    def _signal(self, number: int) -> None:
        if number != signal.SIGCHLD and self._main:
            self._told_to_stop(number)
            return
        if number != signal.SIGCHLD:
            self.loop.stop()
            return
        # Also whose parent has ended, where we are process 1. Who starts a child and wants to know
        # how it ended waits for it at once: this is only called between other work.
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return

    def _told_to_stop(self, number: int) -> None:
        """End the runs before the container ends; told twice: at once."""
        limit = self._config.get("termination_seconds")
        seconds = float(limit) if isinstance(limit, (int, float)) else TERMINATION_SECONDS
        grace = min(self.grace(None), max(1.0, seconds - END_SECONDS))
        if not self.ending.begun:
            log(f"told to end by signal {number}: runs have {grace:g} s")
        self._code = 128 + number
        self.ending.stop(0.0 if self.ending.stopping else grace)
        self.end_step()

    def _tick(self) -> None:
        try:
            busy = self._work()
        except Exception as error:
            # Out of descriptors, a full disk, the folder taken away, or a mistake of ours: the host
            # file and the runs are better off with a keeper that tries again.
            log(f"{type(error).__name__}: {error}")
            busy = False
            if not os.path.isdir(self.folder):
                self._code = int(self._main)
                self.loop.stop()
        self.loop.later(BUSY_TICK_SECONDS if busy else TICK_SECONDS, self._tick)

    def _work(self) -> bool:
        """Look after everything once; whether something is going on that must not wait a second."""
        if not self.channel.there and self._main:
            self.channel.restore()
        elif not self.channel.there:
            self.loop.stop()  # nobody can reach us: the next one starts with what is on disk
        self.hosts.check()
        self.changed()
        self.runs.look()
        stopping = self.runs.stopping()
        live = self.runs.live()
        self.ranks.sweep({record["id"] for record in live})
        self.requests.answer_starts()
        if time.monotonic() >= self._next_tidy:
            self._next_tidy = time.monotonic() + TIDY_SECONDS
            self.runs.tidy()
            self.shells.tidy(self.runs.shells_needed())
        if not self.ending.begun:
            why = self.release.due(self._offer(), bool(live or self.shells.attached))
            if why is not None:
                log(f"giving the cluster back: {why}")
                self.ending.begin(self.grace(None), own=True)
        self.end_step()
        return stopping or self.ending.begun or self.requests.waiting

    def end_step(self) -> None:
        """Go on with giving the cluster back, when that has begun."""
        if not self.ending.begun or not self.ending.step():
            return
        state, lock = self._config.get("state_file"), self._config.get("lock_file")
        if self.ending.own and not self.ending.remove_state(state, lock):
            return
        # Who is answered may remove the folder at once, so ours must be done with it.
        self.channel.close()
        files.remove(os.path.join(self.folder, "keeper.json"))
        if not self.ending.stopping:
            self._code = 0
        if self.ending.own:
            files.remove_tree(self.folder)
        self.ending.answer()
        self.loop.stop()

    # -- the status ---------------------------------------------------------------------------

    def changed(self) -> None:
        """Look again, and tell those who subscribed what is new."""
        self.ranks.scan()
        self.runs.scan()
        status = self._status()
        text = json.dumps(status)
        if text != self.said:
            self.said = text
            self.channel.publish(status)

    def _offer(self) -> dict[str, Any] | None:
        return self.release.offer(self.runs.newest_ended(), bool(self.runs.live()))

    def _status(self) -> dict[str, Any]:
        live = self.runs.live()
        busy = self.ranks.busy()
        if live and self.hosts.launcher is not None:
            busy.add(self.hosts.launcher)
        offer = None if self.ending.begun else self._offer()
        of_shell = {record.get("shell"): record["id"] for record in live}
        shells = self.shells.living.items()
        status = {
            **self.hosts.status(),
            "busy_hosts": sorted(busy),
            "runs": self.runs.status(),
            "shells": [one.status(of_shell.get(name)) for name, one in sorted(shells)],
            "offers": [] if offer is None else [offer],
        }
        while len(status["runs"]) > 1 and len(json.dumps(status)) > LINE_LIMIT * 3 // 4:
            status["runs"].pop()  # the oldest: a line of the channel is limited
        return status

    def grace(self, message: dict[str, Any] | None) -> float:
        """Return the seconds between TERM and KILL that a request asks for, else the configured.

        Raises
        ------
        Refused
            It is not a number from 0 to 3600.
        """
        value = (message or {}).get(
            "grace_seconds", self._config.get("grace_seconds", GRACE_SECONDS)
        )
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 3600:
            raise Refused("bad_input", f"grace_seconds must be 0 to 3600, not {value!r:.80}.")
        return float(value)


def log(text: str) -> None:
    """Write one line to the keeper's log."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)
