"""The shells of this cluster: opening them, knowing how many terminals show each, ending them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from typing import Any, Callable

from . import client, environment, files, frames, identity, processes, rcfiles, ring, spawn
from .channel import Refused
from .loop import Loop

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
OPEN_SECONDS = 9.0
KEPT_SECONDS = 3600.0  # for the record of a shell that has ended
RESTARTED = "This shell has ended: its machine or container was restarted."
Opened = Callable[["Refused | None", "dict[str, Any] | None"], None]


class Shell:
    """One shell that lives, as its host's record and the connection to it say."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.attached = 0

    def status(self, run: str | None) -> dict[str, Any]:
        """Return it as the status carries it."""
        fields = {key: self.record.get(key) for key in ("id", "cwd", "started", "pid")}
        return {**fields, "attached": self.attached, "run": run}


class Shells:
    """The registry; the records on disk are its truth.

    Parameters
    ----------
    folder
        The keeper's own folder.
    allowed
        Names of variables that come in from the keeper's environment.
    idle_seconds
        How long a shell lives that nobody shows and where nothing runs; None: the default.
    changed
        Called when a shell came, went, or got or lost a terminal.
    """

    def __init__(
        self,
        folder: str,
        allowed: list[str],
        loop: Loop,
        changed: Callable[[], None],
        idle_seconds: float | None = None,
    ) -> None:
        self.living: dict[str, Shell] = {}
        self._folder = folder
        self._path = os.path.join(folder, "shells")
        self._allowed = allowed
        self._idle_seconds = idle_seconds
        self._loop = loop
        self._changed = changed
        self._opening = 0
        files.make_private(self._path)
        for name in sorted(os.listdir(self._path)):
            if name.endswith(".json") and not name.startswith("."):
                self._adopt(name[: -len(".json")])

    def file(self, shell: str, ending: str) -> str:
        """Return the path of one of a shell's files."""
        return os.path.join(self._path, f"{shell}.{ending}")

    def _adopt(self, shell: str) -> bool:
        """Take up a shell whose host lives; tidy up after one that was killed."""
        record = files.read_json(self.file(shell, "json"))
        host = (record or {}).get("host")
        same_boot = record is not None and record.get("boot") == identity.boot_id()
        lives = (
            same_boot
            and isinstance(host, dict)
            and identity.alive(host.get("pid"), host.get("start"))
        )
        if record is not None and not lives and record.get("ended") is None:
            self._lost(shell, record, same_boot)
        if record is None or not lives or record.get("ended") is not None:
            files.remove(self.file(shell, "sock"))
            return False
        one = Shell(record)
        try:
            sock = client.connect(self.file(shell, "sock"))
            sock.sendall(frames.encode(frames.WATCH))
        except OSError:
            return False
        sock.setblocking(False)
        decoder = frames.Decoder()
        self.living[shell] = one

        def came(_: int) -> None:
            try:
                data = sock.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            for kind, payload in decoder.feed(data):
                if kind == frames.WATCH:
                    one.attached = int(json.loads(payload)["attached"])
            if not data:
                self._loop.drop(sock)
                sock.close()
                self.living.pop(shell, None)
            self._changed()

        self._loop.add(sock, came)
        return True

    def _lost(self, shell: str, record: dict[str, Any], same_boot: bool) -> None:
        """Write into the record of a shell that its own host cannot finish it any more."""
        text = "This shell was killed." if same_boot else RESTARTED
        record.update(ended=time.time(), exit=None, reason="lost", text=text)
        with contextlib.suppress(OSError):  # its socket goes, which says nearly as much
            files.write_json(self.file(shell, "json"), record, sync=False)

    # -- opening ------------------------------------------------------------------------------

    def request(self, message: dict[str, Any], shell: str = "") -> tuple[str, dict[str, str], str]:
        """Read the fields of ``shell.open``: folder, environment and program.

        Raises
        ------
        Refused
            A field is wrong, or names something that is not there.
        """
        cwd, python, program = (message.get(key) for key in ("cwd", "python_folder", "program"))
        for field, value in (("cwd", cwd), ("python_folder", python)):
            if field == "python_folder" and value is None:
                continue
            if not isinstance(value, str) or not os.path.isabs(value) or "\0" in value:
                raise Refused("bad_input", f"{field} must be a full path, not {value!r:.80}.")
            if not os.path.isdir(value):
                raise Refused("not_found", f"{field}: there is no folder {value}.")
        if python is not None and ":" in python:
            raise Refused("bad_input", "python_folder must not hold a colon: it goes into PATH.")
        try:
            passed = environment.check_passed(message.get("env") or {})
            chosen = rcfiles.choose(program if isinstance(program, str) and program else None)
        except environment.BadEnvironment as error:
            raise Refused("bad_input", str(error)) from None
        except FileNotFoundError as error:
            raise Refused("not_found", str(error)) from None
        env = environment.launch(self._folder, self._allowed, passed, python, shell)
        return str(cwd), env, chosen

    def open(self, message: dict[str, Any], done: Opened, command: str | None = None) -> str:
        """Start a shell, or one command on a terminal; `done` hears when it is there or failed."""
        shell = secrets.token_hex(4)
        cwd, env, program = self.request(message, shell)
        argv, more = rcfiles.command(self._folder, program, command)
        rows, columns = frames.size(f"{message.get('rows')} {message.get('columns')}".encode())
        spec = {
            "argv": argv,
            "env": {**env, **more, "SHELL": program},
            "cwd": cwd,
            "rows": rows,
            "columns": columns,
            "command": command is not None,
            "idle_seconds": self._idle_seconds,
        }
        words = [*spawn.own_program(self._folder), "shell", self._folder, shell]
        try:
            _, output = spawn.detached(words, data=json.dumps(spec).encode())
        except OSError as error:
            raise Refused("conflict", f"No shell can be started: {error.strerror}.") from None
        said = bytearray()
        self._opening += 1

        def finish(refused: Refused | None, opened: Shell | None = None) -> None:
            if output in waiting:
                waiting.clear()
                self._opening -= 1
                self._loop.drop(output)
                os.close(output)
                done(refused, None if opened is None else opened.status(None))

        def came(_: int) -> None:
            data = os.read(output, 4096)
            said.extend(data)
            if data:
                return
            if bytes(said) == b"ok":
                finish(*self._started(shell, command is not None))
            else:
                text = said.decode(errors="replace") or "its host ended at once"
                finish(Refused("conflict", f"The shell did not start: {text}."))

        waiting = {output}
        self._loop.add(output, came)
        late = Refused("conflict", f"The shell did not start within {OPEN_SECONDS:g} s.")
        self._loop.later(OPEN_SECONDS, lambda: finish(late))
        return shell

    def _started(self, shell: str, command: bool) -> tuple[Refused | None, Shell | None]:
        if self._adopt(shell):
            return None, self.living[shell]
        record = files.read_json(self.file(shell, "json"))
        if command and record is not None:
            return None, Shell(record)  # a short command is over already
        return Refused("conflict", f"The shell ended at once: {self.last_line(shell)}"), None

    # -- asking and ending --------------------------------------------------------------------

    def output(
        self, shell: Any, start: int = 0, end: int | None = None, most: int = 256 * 1024
    ) -> str:
        """Return what is kept of a shell's output, also of one that has ended."""
        if not isinstance(shell, str) or not ID.fullmatch(shell):
            return ""
        return ring.read(self.file(shell, "out"), start, end, most).decode(errors="replace")

    def last_line(self, shell: str) -> str:
        """Return the last line that a shell said, for an error."""
        lines = self.output(shell, most=2000).strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing."

    def end(self, shell: Any, reason: str, grace_seconds: float) -> None:
        """Ask a shell's host to end it and what runs in it.

        Raises
        ------
        Refused
            There is no such shell.
        """
        one = self.living.get(shell) if isinstance(shell, str) else None
        if one is None:
            raise Refused("not_found", f"There is no shell {shell!r:.80}; it may have ended.")
        text = json.dumps({"reason": reason, "grace_seconds": grace_seconds})
        try:
            with client.connect(self.file(str(shell), "sock")) as sock:
                sock.settimeout(1.0)
                sock.sendall(frames.encode(frames.END, text.encode()))
        except OSError:
            among = processes.table()  # its host does not answer: end what it holds
            members = processes.session(int(one.record["pid"]), among)
            processes.send(processes.known(members, among), 9)

    def tidy(self, needed: set[str]) -> None:
        """Remove the files of shells that have ended and that no run's output is kept in.

        How one ended stays for a while: its terminal may have been cut off and come back to ask.
        """
        if self._opening:
            return
        for name in os.listdir(self._path):
            shell, _, ending = name.partition(".")
            path = os.path.join(self._path, name)
            if not shell or shell in self.living or shell in needed:
                continue
            if ending == "json" and _ended_lately(files.read_json(path)):
                continue
            files.remove(path)

    @property
    def attached(self) -> int:
        """How many terminals show a shell."""
        return sum(one.attached for one in self.living.values())


def _ended_lately(record: dict[str, Any] | None) -> bool:
    ended = (record or {}).get("ended")
    return isinstance(ended, (int, float)) and time.time() - ended < KEPT_SECONDS
