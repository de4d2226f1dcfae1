"""What the keeper is asked: one method for each op of the channel."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from . import VERSION, preflight, programs
from .channel import Connection, Refused, Reply

if TYPE_CHECKING:
    from .core import Keeper

START_SECONDS = 9.0
RELEASED = "cluster is being released"
STEP_SECONDS = 0.1


class Requests:
    """Answers the requests to one keeper; what takes time is answered later."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._starts: dict[str, tuple[float, Reply]] = {}

    @property
    def waiting(self) -> bool:
        """Whether a run is being started, so that its record must be looked for often."""
        return bool(self._starts)

    def handle(self, connection: Connection, message: dict[str, Any], reply: Reply) -> None:
        """Answer one request.

        Raises
        ------
        Refused
            It is not done, and why.
        """
        op = message["op"]
        known = op.replace(".", "").isalpha()
        handler = getattr(self, "_op_" + op.replace(".", "_"), None) if known else None
        if handler is None:
            raise Refused("bad_input", f"There is no op {op!r:.80}.")
        if self._keeper.ending.begun and op in ("hosts", "shell.open", "run.start"):
            what = "launcher is being stopped" if self._keeper.ending.stopping else RELEASED
            raise Refused("conflict", f"The {what}.")
        handler(connection, message, reply)

    def _op_hello(self, connection: Connection, message: dict[str, Any], reply: Reply) -> None:
        server = message.get("server")
        connection.server = server if isinstance(server, dict) else None
        reply(version=VERSION, cluster=self._keeper.cluster)

    def _op_servers(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        reply(servers=self._keeper.channel.servers())

    def _op_changed(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        self._keeper.changed()
        self.answer_starts()
        reply()

    def _op_hosts(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(generation=self._keeper.hosts.take(message.get("generation"), message.get("hosts")))
        self._keeper.changed()

    def _op_status(self, _: Connection, __: dict[str, Any], reply: Reply) -> None:
        self._keeper.changed()
        reply(status=json.loads(self._keeper.said))

    def _op_subscribe(self, connection: Connection, _: dict[str, Any], reply: Reply) -> None:
        self._keeper.changed()
        reply(status=json.loads(self._keeper.said))
        connection.subscribed = True
        connection.send({"event": "status", "status": json.loads(self._keeper.said)})

    def _op_shell_open(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._keeper.shells.open(
            message, lambda refused, shell: reply(refused, **({"shell": shell} if shell else {}))
        )

    def _op_shell_output(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(output=self._keeper.shells.output(message.get("shell")))

    def _op_shell_close(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._keeper.shells.end(message.get("shell"), "closed", self._keeper.grace(message))
        reply()

    def _op_run_start(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        argv = message.get("argv")
        texts = isinstance(argv, list) and all(
            isinstance(word, str) and "\0" not in word for word in argv
        )
        if not texts or not argv or argv[0] not in self._keeper.programs:
            known = ", ".join(self._keeper.programs)
            raise Refused(
                "bad_input", f"argv must be a list of texts that starts with one of: {known}."
            )

        def opened(refused: Refused | None, shell: dict[str, Any] | None) -> None:
            if shell is None:
                reply(refused)
                return
            self._starts[shell["id"]] = (time.monotonic() + START_SECONDS, reply)
            self.answer_starts()

        command = programs.command(self._keeper.folder, argv)
        self._keeper.shells.open(message, opened, command)

    def answer_starts(self) -> None:
        """Answer ``run.start`` once the starter has written its record, or will not any more."""
        for shell, (until, reply) in list(self._starts.items()):
            record = self._keeper.runs.in_shell(shell)
            if record is not None:
                del self._starts[shell]
                reply(run=self._keeper.runs.shown(record))
            elif shell not in self._keeper.shells.living or time.monotonic() > until:
                del self._starts[shell]
                said = self._keeper.shells.last_line(shell)
                reply(Refused("conflict", f"The command did not start: {said}"))

    def _op_run_stop(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._keeper.runs.stop(message.get("run"), self._keeper.grace(message))
        reply()
        self._keeper.loop.later(0, self._soon)

    def _soon(self) -> None:
        self._keeper.changed()
        if self._keeper.runs.stopping():
            self._keeper.loop.later(STEP_SECONDS, self._soon)

    def _op_run_log(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        reply(output=self._keeper.runs.log(message.get("run"), message.get("max_bytes")))

    def _op_rules(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._keeper.release.set(message)
        reply()
        self._keeper.changed()

    def _op_offer_answer(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        record = self._keeper.runs.get(message.get("run"))
        choice = message.get("choice")
        if choice not in ("keep", "release"):
            raise Refused("bad_input", f"choice must be keep or release, not {choice!r:.80}.")
        if choice == "keep":
            self._keeper.release.keep(record["id"])
        else:
            self._keeper.ending.begin(self._keeper.grace(message), own=True)
        reply()
        self._keeper.changed()

    def _op_preflight(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        name = message.get("program")
        if not isinstance(name, str) or not programs.NAME.fullmatch(name):
            raise Refused("bad_input", f"program must be the name of a program, not {name!r:.80}.")
        request = self._keeper.shells.request({**message, "program": None})
        try:
            preflight.look(
                self._keeper.folder,
                request,
                name,
                self._keeper.loop,
                lambda answer: reply(**answer),
            )
        except OSError as error:
            raise Refused("conflict", f"No shell can be started: {error.strerror}.") from None

    def _op_end(self, _: Connection, message: dict[str, Any], reply: Reply) -> None:
        self._keeper.ending.begin(self._keeper.grace(message), own=False, done=reply)
        self._keeper.loop.later(0, self._keeper.end_step)
