"""The folders of this user on this machine, and the check that they are private."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import sys

RUNTIME_VARIABLE = "JUPYTER_ELASTIC_RUNTIME_DIR"
STATE_VARIABLE = "JUPYTER_ELASTIC_STATE_DIR"
#: Bytes of a Unix socket's path on Linux; other systems take a few less.
SOCKET_LIMIT = 107 if sys.platform == "linux" else 103


class UnsafeFolder(OSError):
    """A folder that is a link, belongs to somebody else or is open to others."""


def runtime_dir() -> str:
    """Return the machine-local folder of this user; nothing is made or checked."""
    return os.environ.get(RUNTIME_VARIABLE) or f"/tmp/jupyter-elastic-{os.getuid()}"  # noqa: S108


def state_dir() -> str:
    """Return the durable folder of this user for this machine; nothing is made or checked."""
    given = os.environ.get(STATE_VARIABLE)
    if given:
        return given
    return os.path.join(os.path.expanduser("~/.local/share/jupyter-elastic"), machine())


def machine() -> str:
    """Return a name for this machine that is safe in a path: machines may share a home."""
    known = ""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with contextlib.suppress(OSError), open(path) as handle:
            known = known or handle.read().strip()
    return hashlib.sha256(f"{known}\n{socket.gethostname()}".encode()).hexdigest()[:16]


def check_private(path: str) -> None:
    """Refuse a folder that others could have made or can enter.

    Raises
    ------
    UnsafeFolder
        With the folder and what is wrong with it.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolder(f"{path} is not a folder of its own but a link or a file: remove it.")
    if found.st_uid != os.geteuid():
        raise UnsafeFolder(
            f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}: "
            f"remove it, or set {RUNTIME_VARIABLE}."
        )
    if found.st_mode & 0o077:
        raise UnsafeFolder(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}): "
            f"make it 0700, or set {RUNTIME_VARIABLE}."
        )


def ensure_private(path: str) -> str:
    """Make a folder with mode 0700 where it is missing, and check it; returns it.

    Raises
    ------
    UnsafeFolder
        It exists and is not private.
    OSError
        It cannot be made.
    """
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        os.makedirs(parent, mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    check_private(path)
    return path


def own_folder() -> str:
    """Return the folder of the keeper that this program belongs to: it holds the ``.pyz``."""
    return os.path.dirname(os.path.abspath(sys.argv[0]))
