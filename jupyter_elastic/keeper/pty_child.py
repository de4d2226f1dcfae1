"""A process on a terminal of its own."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import signal
import struct
import termios
from typing import Sequence

#: What a terminal's shell expects to find at its default.
_DEFAULTS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGCHLD,
)


def start(
    argv: Sequence[str], env: dict[str, str], cwd: str, rows: int, columns: int
) -> tuple[int, int]:
    """Start a program as leader of a session; returns its pid and its terminal's other end.

    Raises
    ------
    OSError
        The folder or the program is not there.
    """
    os.stat(cwd)
    if not os.access(cwd, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cwd)
    if not os.access(argv[0], os.X_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    report, reporter = os.pipe()
    pid, master = pty.fork()
    if pid == 0:
        _become(argv, env, cwd, rows, columns, reporter)
    os.close(reporter)
    with os.fdopen(report, "rb") as stream:
        failed = stream.read()  # empty: the descriptor was closed by a successful exec
    if failed:
        os.close(master)
        os.waitpid(pid, 0)
        raise OSError(int(failed), os.strerror(int(failed)), argv[0])
    os.set_blocking(master, False)
    os.set_inheritable(master, False)
    return pid, master


def _become(
    argv: Sequence[str], env: dict[str, str], cwd: str, rows: int, columns: int, reporter: int
) -> None:
    try:
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        resize(0, rows, columns)
        os.chdir(cwd)
        os.execve(argv[0], list(argv), env)  # noqa: S606 - a list of words, no shell reads it
    except OSError as error:
        os.write(reporter, str(error.errno or errno.EIO).encode())
    finally:
        os._exit(127)


def resize(handle: int, rows: int, columns: int) -> None:
    """Tell a terminal its size; the kernel tells who runs in it."""
    try:
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    except OSError:
        return


def read(master: int, most: int) -> bytes | None:
    """Return what the terminal says: None for nothing now, empty when nobody has it open."""
    try:
        return os.read(master, most)
    except BlockingIOError:
        return None
    except OSError:  # Linux answers EIO once the last one has closed it
        return b""


def exit_code(status: int) -> int:
    """Turn a wait status into a shell's exit code: 128 + n for signal n."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)
