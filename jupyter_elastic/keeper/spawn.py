"""Starting a process in a session of its own."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from typing import BinaryIO, Mapping, Sequence


def own_program(folder: str) -> list[str]:
    """Return the words that start another process of this program."""
    return [sys.executable or "python3", "-I", "-S", os.path.join(folder, "keeper.pyz")]


def _memory() -> BinaryIO:
    """Return a file that nobody else can open, in memory: a container may have no writable /tmp."""
    try:
        return os.fdopen(os.memfd_create("input"), "w+b")
    except (AttributeError, OSError):  # not Linux, or an old one
        return tempfile.TemporaryFile()


def detached(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    data: bytes = b"",
    errors: bool = True,
) -> tuple[int, int]:
    """Start a program that a terminal cannot reach.

    Parameters
    ----------
    data
        Its standard input; never a file that another process could open.
    errors
        Whether its standard error is ours; else it is thrown away.

    Returns
    -------
    tuple of int
        Its pid, and a descriptor with its standard output.

    Raises
    ------
    OSError
        There is no room for its input, or no process can be made.
    """
    with _memory() as source:
        source.write(data)
        source.seek(0)
        output, end = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become(
                argv, dict(os.environ if env is None else env), cwd, source.fileno(), end, errors
            )
        os.close(end)
    os.set_blocking(output, False)
    return pid, output


def _become(
    argv: Sequence[str], env: dict[str, str], cwd: str | None, source: int, end: int, errors: bool
) -> None:
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (
            signal.SIGPIPE,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGTERM,
            signal.SIGCHLD,
        ):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(source, 0)
        os.dup2(end, 1)
        if not errors:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if cwd is not None:
            os.chdir(cwd)
        os.execve(argv[0], list(argv), env)  # noqa: S606 - a list of words, no shell reads it
    finally:
        os._exit(127)
