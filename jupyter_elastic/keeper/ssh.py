"""``ssh ARGS``: a place of this machine runs its command right here, else it is the real ssh."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any, NamedTuple, Sequence

from . import client, environment, files, identity, launchers, paths, places, processes, programs
from .hostfile import Host
from .pty_child import exit_code

FAILED = 255  # what ssh answers when it could not run the command
GRACE_SECONDS = 8.0  # a rank that got TERM; Horovod's own grace is 5 s
LEFT_SECONDS = 2.0  # what a command left behind in its session
_DEFAULTS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE)
_WITH_VALUE = frozenset("BbcDEeFIiJLlmOoPpQRSWw")


class Call(NamedTuple):
    """A command line of ssh. ``command`` is one text, as ssh hands it to the other end's shell."""

    host: str | None
    command: str
    null_input: bool


def parse(words: Sequence[str]) -> Call:
    """Read options before and after the host: ``ssh HOST -o ConnectTimeout=10 true``."""
    host: str | None = None
    null = False
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--" and host is None:
            at += 1
            host = words[at] if at < len(words) else None
            at += 1
            break
        if len(word) < 2 or not word.startswith("-") or word == "--":
            if host is not None:
                break
            host = word
            at += 1
            continue
        at += 1
        for index, letter in enumerate(word[1:], start=1):
            null = null or letter == "n"
            if letter in _WITH_VALUE:
                at += index == len(word) - 1  # the value is the next word
                break
    rest = list(words[at:])
    if rest[:1] == ["--"]:
        rest = rest[1:]
    return Call(None if host is None else _name(host), " ".join(rest), null)


def _name(host: str) -> str:
    if host.startswith("ssh://"):
        host = host[6:].rstrip("/").rpartition("@")[2].partition(":")[0]
    return host.rpartition("@")[2]


def run(words: Sequence[str]) -> int:
    """Do what ssh does; returns the command's exit code, or 255."""
    folder = paths.own_folder()
    call = parse(words)
    if call.host is None:
        return _real(folder, words)
    place = places.find(folder, call.host)
    if not places.is_loopback(call.host):
        return _real(folder, words)
    if place is None:
        return _refuse(f"{call.host} is not in the host list of this cluster (any more).")
    if not call.command:
        return _refuse(f"{call.host} is a place of this machine: give the command to run there.")
    return Session(folder, place, call).run()


def _refuse(text: str) -> int:
    print(f"ssh: {text}", file=sys.stderr, flush=True)
    return FAILED


def _real(folder: str, words: Sequence[str]) -> int:
    real = programs.find("ssh", os.environ.get("PATH"))
    if real is None:
        return _refuse(
            "not found. Install an OpenSSH client (Debian: apt-get install openssh-client)."
        )
    config = os.path.join(folder, "ssh_config")
    ours = ["-F", config] if os.path.isfile(config) else []
    os.execv(real, [real, *ours, *words])  # noqa: S606 - a list of words, no shell reads it


class Session:
    """A command in a session of its own, recorded while it lives."""

    def __init__(self, folder: str, place: Host, call: Call) -> None:
        self._folder = os.path.join(folder, "ranks", place.host)
        self._socket = os.path.join(folder, "keeper.sock")
        self._place = place
        self._call = call
        self._record = ""
        self._child = 0
        self._kill_at: float | None = None

    def run(self) -> int:
        """Run it to its end."""
        begin, go = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(go)
            self._become(begin)
        os.close(begin)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, self._forward)
        signal.signal(signal.SIGALRM, self._alarm)
        try:
            self._register()
        except OSError as error:
            # A rank that nobody knows of could never be waited for or ended: rather none.
            os.close(go)
            os.waitpid(self._child, 0)
            return _refuse(f"{self._folder}: {error.strerror}")
        os.write(go, b"g")
        os.close(go)
        self._wait_for_leader()
        # Its pid names the session until it is collected: nobody else gets that number meanwhile.
        self._end_left()
        code = exit_code(os.waitpid(self._child, 0)[1])
        files.remove(self._record)
        self._changed()
        return code

    def _become(self, begin: int) -> None:
        try:
            os.setsid()
            for number in (
                _DEFAULTS
            ):  # as at the other end of a real ssh: what our parent ignored is no matter
                signal.signal(number, signal.SIG_DFL)
            if self._call.null_input:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if not os.read(begin, 1):
                os._exit(FAILED)
            env = dict(os.environ)
            own = places.environment_of(self._place)
            launcher = places.launcher(os.path.dirname(os.path.dirname(self._folder)))
            program = env.get(environment.PROGRAM, "")
            if launcher == self._place and not launchers.of(program).sets_devices:
                own.pop("CUDA_VISIBLE_DEVICES", None)
            env.update(own)
            os.execve("/bin/sh", ["sh", "-c", self._call.command], env)  # noqa: S606
        finally:
            os._exit(FAILED)

    def _register(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._record = os.path.join(self._folder, f"{self._child}.json")
        value: dict[str, Any] = {
            "pid": self._child,
            "start": identity.start_time(self._child),
            "host": self._place.host,
            "uid": self._place.uid,
            "stub": identity.me(),
            "run": os.environ.get(environment.RUN),
            "boot": identity.boot_id(),
            "started": time.time(),
        }
        files.write_json(self._record, value, sync=False)
        self._changed()

    def _changed(self) -> None:
        with contextlib.suppress(OSError), client.connect(self._socket) as sock:
            sock.settimeout(0.5)
            sock.sendall(b'{"id": 0, "op": "changed"}\n')

    def _wait_for_leader(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
            return
        while identity.start_time(self._child) is not None:
            time.sleep(0.05)

    def _members(self) -> set[processes.Known]:
        among = processes.table()
        return processes.known(processes.session(self._child, among), among)

    def _forward(self, number: int, _: object) -> None:
        processes.send(self._members(), number)
        if self._kill_at is None:
            self._kill_at = time.monotonic() + GRACE_SECONDS
            signal.alarm(int(GRACE_SECONDS))

    def _alarm(self, *_: object) -> None:
        processes.send(self._members(), signal.SIGKILL)
        signal.alarm(1)

    def _end_left(self) -> None:
        """End what the command left behind: its parent is gone, so it trains for nobody."""
        left = self._members()
        processes.send(left, signal.SIGTERM)
        end = time.monotonic() + LEFT_SECONDS
        while left and time.monotonic() < end:
            time.sleep(0.02)
            left = self._members()
        processes.send(left, signal.SIGKILL)
        signal.alarm(0)
