"""``start PROGRAM -- ARGS``: runs the real launcher program as its child and records the run."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import sys
import time
from typing import Any, Sequence

from . import client, environment, files, frames, identity, launchers, paths, places, programs
from .pty_child import exit_code
from .tee import Tee

NOT_FOUND, REFUSED = 127, 2
POSITION_SECONDS = 2.0


def say(program: str, text: str) -> None:
    """Write one line to standard error."""
    print(f"{program}: {text}", file=sys.stderr, flush=True)


def run(program: str, arguments: Sequence[str]) -> int:
    """Run a program; returns its exit code, 128 + n when signal n ended it."""
    real = programs.find(program, os.environ.get("PATH"))
    if real is None:
        say(
            program,
            "not found behind the cluster's folder in PATH. "
            "Choose a Python environment that has it.",
        )
        return NOT_FOUND
    reading = launchers.read(program, arguments)
    argv = [program, *arguments]
    if not reading.runs or not programs.NAME.fullmatch(program):
        os.execv(real, [real, *arguments])  # noqa: S606 - a list of words, no shell reads it
    missing = _missing(reading.hosts)
    if missing:
        say(program, missing)
        return REFUSED
    return Starter(paths.own_folder(), program, real, argv, reading).run()


def _missing(path: str | None) -> str:
    """Say what is wrong with the host file that was named, if anything."""
    if path is None:
        return ""
    if not os.path.isfile(path):
        return f"the host file {path} does not exist. Is its cluster released? Nothing was started."
    if not os.access(path, os.R_OK):
        return f"the host file {path} cannot be read. Nothing was started."
    if os.path.getsize(path) == 0:
        return f"the host file {path} is empty. Nothing was started."
    return ""


class Starter:
    """One run and its record.

    Parameters
    ----------
    folder
        The keeper's own folder.
    real
        Path of the program behind our folder in PATH.
    argv
        The command as it was typed.
    """

    def __init__(
        self, folder: str, program: str, real: str, argv: list[str], reading: launchers.Reading
    ) -> None:
        self._folder = folder
        self._real = real
        self._argv = argv
        self._program = program
        self._interrupted = False
        self._child = 0
        now = time.time()
        self.id = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        self._base = os.path.join(folder, "runs", self.id)
        self._shell = self._keeper_shell()
        self._record: dict[str, Any] = {
            "id": self.id,
            "state": "running",
            "program": program,
            "text": shlex.join(argv),
            "argv": argv,
            "cwd": os.getcwd(),
            "started": now,
            "np": reading.np,
            "min_np": reading.min_np,
            "max_np": reading.max_np,
            "elastic": reading.elastic,
            "hosts": reading.hosts,
            "ended": None,
            "exit": None,
            "shell": self._shell,
            "starter": identity.me(),
            "boot": identity.boot_id(),
            "from": self._position(),
            "to": None,
        }

    def _keeper_shell(self) -> str | None:
        """Return the id of the shell of this keeper in whose terminal we run, if so."""
        shell = os.environ.get(environment.SHELL, "")
        if os.environ.get(environment.KEEPER) != self._folder or not shell or not os.isatty(1):
            return None
        return shell if programs.NAME.fullmatch(shell) and self._ask(shell) is not None else None

    def _ask(self, shell: str) -> int | None:
        """Return the shell's position in its output stream."""
        path = os.path.join(self._folder, "shells", f"{shell}.sock")
        try:
            with client.connect(path) as sock:
                sock.settimeout(POSITION_SECONDS)
                sock.sendall(frames.encode(frames.POSITION))
                decoder = frames.Decoder()
                while True:
                    data = sock.recv(4096)
                    if not data:
                        return None
                    for kind, payload in decoder.feed(data):
                        if kind == frames.POSITION:
                            return int(payload)
        except (OSError, ValueError):
            return None

    def _position(self) -> int | None:
        return None if self._shell is None else self._ask(self._shell)

    def _save(self) -> None:
        # A full disk must not stop a training; it is then shown from what was written before.
        with contextlib.suppress(OSError):
            files.write_json(self._base + ".json", self._record, sync=False)
        with contextlib.suppress(OSError), client.connect(
            os.path.join(self._folder, "keeper.sock")
        ) as sock:
            sock.settimeout(0.5)
            sock.sendall(b'{"id": 0, "op": "changed"}\n')

    def run(self) -> int:
        """Run it to its end."""
        inherited = {number: signal.getsignal(number) for number in _FORWARDED + _SHARED}
        self._save()
        tee = None if self._shell is not None or os.isatty(1) else Tee(self._base + ".out")
        begin, go = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(go)
            self._become(begin, inherited, tee)
        os.close(begin)
        self._watch_signals(inherited)
        start = identity.start_time(self._child)
        self._record.update(pid=self._child, start=start)
        self._save()
        # Only now: no process of ours may run that no record names.
        os.write(go, b"g")
        os.close(go)
        code = exit_code(self._wait(tee))
        stopped = self._interrupted and code != 0
        self._record.update(
            state="stopped" if stopped else "ended" if code == 0 else "failed",
            ended=time.time(),
            exit=code,
            to=self._position(),
        )
        self._save()
        return code

    def _become(self, begin: int, inherited: dict[signal.Signals, Any], tee: Tee | None) -> None:
        """In the child: wait for the word, then turn into the program."""
        try:
            for number, handler in inherited.items():
                # What nohup or a background job told us to ignore stays ignored.
                signal.signal(
                    number, signal.SIG_IGN if handler == signal.SIG_IGN else signal.SIG_DFL
                )
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            if not os.read(begin, 1):
                os._exit(NOT_FOUND)  # the starter was killed before it could record this
            if tee is not None:
                tee.redirect()
            os.execve(self._real, [self._real, *self._argv[1:]], self._environment())  # noqa: S606
        except OSError as error:
            say(self._program, f"{self._real}: {error.strerror}")
        finally:
            os._exit(126)

    def _environment(self) -> dict[str, str]:
        env = dict(os.environ)
        env[environment.RUN] = self.id
        env[environment.PROGRAM] = self._program
        env[environment.KEEPER] = self._folder
        if launchers.of(self._program).sets_devices:
            env.update(places.environment_of(places.launcher(self._folder)))
        return env

    def _watch_signals(self, inherited: dict[signal.Signals, Any]) -> None:
        for number in _SHARED:  # the terminal sends these to the child as well
            signal.signal(number, self._note)
        for number in _FORWARDED:
            if inherited[number] != signal.SIG_IGN:
                signal.signal(number, self._forward)

    def _note(self, *_: object) -> None:
        self._interrupted = True

    def _forward(self, number: int, _: object) -> None:
        self._interrupted = True
        with contextlib.suppress(OSError):
            os.kill(self._child, number)

    def _wait(self, tee: Tee | None) -> int:
        if tee is not None:
            return tee.copy(self._child)
        return os.waitpid(self._child, 0)[1]


_SHARED = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)
