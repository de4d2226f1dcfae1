"""The keeper of one cluster: puts its parts together and answers requests."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from . import VERSION, files, found, preflight, programs, rcfiles
from .channel import LINE_LIMIT, Channel, Connection, Refused, Reply
from .ending import Ending
from .hostfile import HOSTFILE, SCRIPT
from .hosts import Hosts
from .loop import Loop
from .ranks import Ranks
from .release import Release
from .runs import Runs
from .shells import Shells

TICK_SECONDS = 1.0
BUSY_TICK_SECONDS = 0.1
TIDY_SECONDS = 60.0
START_SECONDS = 9.0
GRACE_SECONDS = 10.0


class Keeper:
    """One cluster's keeper.

    Parameters
    ----------
    folder
        Its own folder.
    config
        What the engine wrote into ``config.json``.
    """

    def __init__(self, folder: str, config: dict[str, Any]) -> None:
        self._folder = folder
        self._config = config
        self.cluster = str(config["cluster"])
        host_folder = str(config["host_folder"])
        names = [
            name for name in config.get("programs") or () if programs.NAME.fullmatch(str(name))
        ]
        self._programs = [str(name) for name in names]
        programs.write(folder, self._programs)
        rcfiles.write(folder, self._programs)
        self._loop = Loop()
        paths = [os.path.join(host_folder, name) for name in (HOSTFILE, SCRIPT)]
        self._hosts = Hosts(folder, host_folder, self.cluster)
        self._ranks = Ranks(folder)
        self._runs = Runs(folder, self._ranks, found.Finder(self._programs, paths))
        allowed = [str(name) for name in config.get("allow_env") or ()]
        idle = config.get("shell_idle_seconds")
        self._shells = Shells(folder, allowed, self._loop, self.changed, idle)
        self._release = Release(folder)
        self._ending = Ending(
            os.path.join(folder, "ending.json"), self._hosts, self._runs, self._shells, self._ranks
        )
        self._said = ""
        self._next_tidy = 0.0
        self._starts: dict[str, tuple[float, Reply]] = {}
        self._channel = Channel(os.path.join(folder, "keeper.sock"), self._loop, self._handle)

    # -- life ---------------------------------------------------------------------------------

    def serve(self) -> None:
        """Go on until the cluster is given back, or this process is told to end."""
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._loop.wake_on(signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, handler=self._signal)
        self._tick()
        self._loop.run()
        self._channel.close()

    def _signal(self, number: int) -> None:
        if number != signal.SIGCHLD:
            self._loop.stop()
            return
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return

    def _tick(self) -> None:
        try:
            busy = self._work()
        except (
            OSError
        ) as error:  # out of descriptors, or the folder was taken away: the next round may do
            print(
                f"{time.strftime('%F %T')} {type(error).__name__}: {error}",
                file=sys.stderr,
                flush=True,
            )
            busy = False
            if not os.path.isdir(self._folder):
                self._loop.stop()
        self._loop.later(BUSY_TICK_SECONDS if busy else TICK_SECONDS, self._tick)

    def _work(self) -> bool:
        """Look after everything once; whether something is going on that must not wait a second."""
        if not self._channel.there:
            self._loop.stop()  # nobody can reach us: the next one starts with what is on disk
        self._hosts.check()
        self.changed()
        self._runs.look()
        stopping = self._runs.stopping()
        live = self._runs.live()
        self._ranks.sweep({record["id"] for record in live})
        self._answer_starts()
        if time.monotonic() >= self._next_tidy:
            self._next_tidy = time.monotonic() + TIDY_SECONDS
            self._runs.tidy()
            self._shells.tidy(self._runs.shells_needed())
        if not self._ending.begun:
            why = self._release.due(self._offer(), bool(live or self._shells.attached))
            if why is not None:
                print(
                    f"{time.strftime('%F %T')} giving the cluster back: {why}",
                    file=sys.stderr,
                    flush=True,
                )
                self._ending.begin(self._grace(None), own=True)
        if self._ending.begun:
            self._end()
        return stopping or self._ending.begun or bool(self._starts)

    def _end(self) -> None:
        if not self._ending.step():
            return
        state, lock = self._config.get("state_file"), self._config.get("lock_file")
        if self._ending.own and not self._ending.remove_state(state, lock):
            return
        # Who is answered may remove the folder at once, so ours must be done with it.
        self._channel.close()
        files.remove(os.path.join(self._folder, "keeper.json"))
        if self._ending.own:
            files.remove_tree(self._folder)
        self._ending.answer()
        self._loop.stop()

    # -- the status ---------------------------------------------------------------------------

    def changed(self) -> None:
        """Look again, and tell those who subscribed what is new."""
        self._ranks.scan()
        self._runs.scan()
        status = self._status()
        text = json.dumps(status)
        if text != self._said:
            self._said = text
            self._channel.publish(status)

    def _offer(self) -> dict[str, Any] | None:
        return self._release.offer(self._runs.newest_ended(), bool(self._runs.live()))

    def _status(self) -> dict[str, Any]:
        live = self._runs.live()
        busy = self._ranks.busy()
        if live and self._hosts.launcher is not None:
            busy.add(self._hosts.launcher)
        offer = None if self._ending.begun else self._offer()
        of_shell = {record.get("shell"): record["id"] for record in live}
        shells = self._shells.living.items()
        status = {
            **self._hosts.status(),
            "busy_hosts": sorted(busy),
            "runs": self._runs.status(),
            "shells": [one.status(of_shell.get(name)) for name, one in sorted(shells)],
            "offers": [] if offer is None else [offer],
        }
        while len(status["runs"]) > 1 and len(json.dumps(status)) > LINE_LIMIT * 3 // 4:
            status["runs"].pop()  # the oldest: a line of the channel is limited
        return status

    # -- requests -----------------------------------------------------------------------------

    def _handle(self, connection: Connection, message: dict[str, Any], reply: Reply) -> None:
        op = message["op"]
        handler = (
            getattr(self, "_op_" + op.replace(".", "_"), None)
            if op.replace(".", "").isalpha()
            else None
        )
        if handler is None:
            raise Refused("bad_input", f"There is no op {op!r:.80}.")
        if self._ending.begun and op in ("hosts", "shell.open", "run.start"):
            raise Refused("conflict", "The cluster is being released.")
        handler(connection, message, reply)

    def _op_hello(self, connection: Connection, message: dict[str, Any], reply: Reply) -> None:
        server = message.get("server")
        connection.server = server if isinstance(server, dict) else None
        reply(version=VERSION, cluster=self.cluster)

    def _op_servers(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        reply(servers=self._channel.servers())

    def _op_changed(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        self.changed()
        self._answer_starts()
        reply()

    def _op_hosts(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(generation=self._hosts.take(message.get("generation"), message.get("hosts")))
        self.changed()

    def _op_status(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        self.changed()
        reply(status=json.loads(self._said))

    def _op_subscribe(self, connection: Connection, _: dict[str, Any], reply: Reply) -> None:
        self.changed()
        reply(status=json.loads(self._said))
        connection.subscribed = True
        connection.send({"event": "status", "status": json.loads(self._said)})

    def _op_shell_open(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._shells.open(
            message, lambda refused, shell: reply(refused, **({"shell": shell} if shell else {}))
        )

    def _op_shell_output(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(output=self._shells.output(message.get("shell")))

    def _op_shell_close(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._shells.end(message.get("shell"), "closed", self._grace(message))
        reply()

    def _op_run_start(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        argv = message.get("argv")
        texts = isinstance(argv, list) and all(
            isinstance(word, str) and "\0" not in word for word in argv
        )
        if not texts or not argv or argv[0] not in self._programs:
            known = ", ".join(self._programs)
            raise Refused(
                "bad_input", f"argv must be a list of texts that starts with one of: {known}."
            )

        def opened(refused: Refused | None, shell: dict[str, Any] | None) -> None:
            if shell is None:
                reply(refused)
                return
            self._starts[shell["id"]] = (time.monotonic() + START_SECONDS, reply)
            self._answer_starts()

        command = programs.command(self._folder, argv)
        self._shells.open(message, opened, command)

    def _answer_starts(self) -> None:
        """Answer ``run.start`` once the starter has written its record, or will not any more."""
        for shell, (until, reply) in list(self._starts.items()):
            record = self._runs.in_shell(shell)
            if record is not None:
                del self._starts[shell]
                reply(run=self._runs.shown(record))
            elif shell not in self._shells.living or time.monotonic() > until:
                del self._starts[shell]
                lines = self._shells.output(shell, most=2000).strip().splitlines() or [
                    "it said nothing"
                ]
                reply(Refused("conflict", f"The command did not start: {lines[-1][:300]}"))

    def _op_run_stop(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._runs.stop(message.get("run"), self._grace(message))
        reply()
        self._loop.later(0, self._soon)

    def _soon(self) -> None:
        self.changed()
        if self._runs.stopping():
            self._loop.later(BUSY_TICK_SECONDS, self._soon)

    def _op_run_log(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(output=self._runs.log(message.get("run"), message.get("max_bytes")))

    def _op_rules(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._release.set(message)
        reply()
        self.changed()

    def _op_offer_answer(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        record = self._runs.get(message.get("run"))
        choice = message.get("choice")
        if choice not in ("keep", "release"):
            raise Refused("bad_input", f"choice must be keep or release, not {choice!r:.80}.")
        if choice == "keep":
            self._release.keep(record["id"])
        else:
            self._ending.begin(self._grace(message), own=True)
        reply()
        self.changed()

    def _op_preflight(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        name = message.get("program")
        if not isinstance(name, str) or not programs.NAME.fullmatch(name):
            raise Refused("bad_input", f"program must be the name of a program, not {name!r:.80}.")
        request = self._shells.request({**message, "program": None})
        try:
            preflight.look(self._folder, request, name, self._loop, lambda answer: reply(**answer))
        except OSError as error:
            raise Refused("conflict", f"No shell can be started: {error.strerror}.") from None

    def _op_end(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._ending.begin(self._grace(message), own=False, done=reply)
        self._loop.later(0, self._tick_once)

    def _tick_once(self) -> None:
        if self._ending.begun:
            self._end()

    def _grace(self, message: dict[str, Any] | None) -> float:
        value = (message or {}).get(
            "grace_seconds", self._config.get("grace_seconds", GRACE_SECONDS)
        )
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 3600:
            raise Refused("bad_input", f"grace_seconds must be 0 to 3600, not {value!r:.80}.")
        return float(value)
