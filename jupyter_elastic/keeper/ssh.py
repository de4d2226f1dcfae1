"""``ssh ARGS``: what is for this machine runs right here, everything else is the real ssh.

A host of the list that is a machine or pod of its own gets our configuration and a record while a
command runs there. One that has left the list is refused: its address may be somebody else's by
now. Any other host is none of our business.
"""

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
_IDENTITY = ("stricthostkeychecking", "hostkeyalias", "userknownhostsfile", "globalknownhostsfile")
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
        return _real(words)
    place = places.find(folder, call.host)
    if place is None:
        if places.is_loopback(call.host) or places.has_left(folder, call.host):
            return _refuse(f"{call.host} is not in the host list of this cluster (any more).")
        return _real(words)
    if not _is_here(folder, place):
        return _far(folder, place, call, words)
    if not call.command:
        return _refuse(f"{call.host} is this machine itself: give the command to run here.")
    return Session(folder, place, call).run()


def _is_here(folder: str, place: Host) -> bool:
    """Whether it is a place, or the launcher itself: some frameworks go there by ssh too."""
    if places.is_loopback(place.host):
        return True
    return place == places.launcher(folder) and places.is_own_address(place.host)


def _refuse(text: str) -> int:
    print(f"ssh: {text}", file=sys.stderr, flush=True)
    return FAILED


def _real(words: Sequence[str]) -> int:
    """Turn into the real ssh."""
    real = programs.find("ssh", os.environ.get("PATH"))
    if real is None:
        return _refuse(
            "not found. Install an OpenSSH client (Debian: apt-get install openssh-client)."
        )
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that would be inherited
    try:
        os.execv(real, [real, *words])  # noqa: S606 - a list of words, no shell reads it
    except OSError as error:
        return _refuse(f"{real}: {error.strerror}.")


def _far(folder: str, place: Host, call: Call, words: Sequence[str]) -> int:
    """Turn into the real ssh to another machine or pod; with a command its host counts as busy."""
    config = os.path.join(folder, places.SSH_CONFIG)
    ours = [*_enforced(config), "-F", config] if os.path.isfile(config) else []
    if not call.command:
        return _real([*ours, *words])
    try:
        record = register(folder, place, os.getpid(), far=True)
    except OSError as error:
        return _refuse(f"{os.path.join(folder, 'ranks')}: {error.strerror}")
    code = _real([*ours, *words])  # it came back, so it did not become the real one
    files.remove(record)
    return code


def _enforced(config: str) -> list[str]:
    """Return the options about the other end's identity, for the front of the command line.

    There the first one counts, so what a framework adds to switch the check off comes too late.
    """
    found = []
    with open(config, encoding="utf-8", errors="surrogateescape") as handle:
        for line in handle:
            words = line.split(None, 1)
            if len(words) == 2 and words[0].lower() in _IDENTITY:
                found += ["-o", f"{words[0]}={words[1].strip()}"]
    return found


def register(folder: str, place: Host, pid: int, *, far: bool = False) -> str:
    """Write the record of a rank; returns its path.

    Parameters
    ----------
    far
        The process is the ssh to another machine, and no session of ours holds the rank.

    Raises
    ------
    OSError
        It cannot be written.
    """
    target = os.path.join(folder, "ranks", place.host)
    os.makedirs(target, mode=0o700, exist_ok=True)
    path = os.path.join(target, f"{pid}.json")
    value: dict[str, Any] = {
        "pid": pid,
        "start": identity.start_time(pid),
        "host": place.host,
        "uid": place.uid,
        "stub": identity.me(),
        "run": os.environ.get(environment.RUN),
        "boot": identity.boot_id(),
        "started": time.time(),
        "far": far,
    }
    files.write_json(path, value, sync=False)
    tell(folder)
    return path


def tell(folder: str) -> None:
    """Tell the keeper that a record has changed; it would see that by itself a little later."""
    with contextlib.suppress(OSError), client.connect(os.path.join(folder, "keeper.sock")) as sock:
        sock.settimeout(0.5)
        sock.sendall(b'{"id": 0, "op": "changed"}\n')


class Session:
    """A command in a session of its own, recorded while it lives."""

    def __init__(self, folder: str, place: Host, call: Call) -> None:
        self._folder = folder
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
            self._record = register(self._folder, self._place, self._child)
        except OSError as error:
            # A rank that nobody knows of could never be waited for or ended: rather none.
            os.close(go)
            os.waitpid(self._child, 0)
            return _refuse(f"{os.path.join(self._folder, 'ranks')}: {error.strerror}")
        os.write(go, b"g")
        os.close(go)
        self._wait_for_leader()
        # Its pid names the session until it is collected: nobody else gets that number meanwhile.
        self._end_left()
        code = exit_code(os.waitpid(self._child, 0)[1])
        files.remove(self._record)
        tell(self._folder)
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
            launcher = places.launcher(self._folder)
            program = env.get(environment.PROGRAM, "")
            if launcher == self._place and not launchers.of(program).sets_devices:
                own.pop("CUDA_VISIBLE_DEVICES", None)
            env.update(own)
            os.execve("/bin/sh", ["sh", "-c", self._call.command], env)  # noqa: S606
        finally:
            os._exit(FAILED)

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
