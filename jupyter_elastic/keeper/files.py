"""Files that are read whole or not at all, and locks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import time
from typing import Any, Iterator, Sequence, Union

from .paths import ensure_private

Path = Union[str, "os.PathLike[str]"]
LOCK_POLL_SECONDS = 0.01
_numbers = itertools.count()


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Write a file so that a reader sees the old content or the new, also after a crash.

    Parameters
    ----------
    mode
        The file's mode, whatever the umask is.
    sync
        False where losing the newest content in a crash of the machine does no harm.

    Raises
    ------
    OSError
        The disk is full or the folder cannot be written; the old file is intact.
    """
    target = os.fspath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{next(_numbers)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # left by a process of the same pid that was killed
    handle = os.open(temporary, flags, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fchmod(handle, mode)
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        _sync_folder(folder or ".")


def _sync_folder(folder: str) -> None:
    # Some file systems cannot do this; the content itself is on disk by now.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, value: Any, mode: int = 0o600, *, sync: bool = True) -> None:
    """Write a value as one line of JSON with :func:`write_atomic`."""
    write_atomic(path, json.dumps(value).encode() + b"\n", mode, sync=sync)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a file; None for no such file, or one that holds no whole object."""
    try:
        with open(path, "rb") as handle:
            value = json.loads(handle.read())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def sweep(folder: Path, names: Sequence[str]) -> None:
    """Remove the temporary files that a killed writer of `names` left in a folder.

    Only the one writer of these files may do this.
    """
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if entry.endswith(".new") and any(entry.startswith(f".{name}.") for name in names):
                remove(os.path.join(folder, entry))


def remove(path: Path) -> None:
    """Remove a file; one that is gone already, or cannot be removed, is no error."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def remove_tree(path: str) -> None:
    """Remove a folder and what is in it, without following links; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(path)):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                remove(entry.path)
        os.rmdir(path)


def make_private(path: Path) -> None:
    """Make a folder of mode 0700, its missing parents too, and check that it is ours alone.

    Raises
    ------
    UnsafeFolder
        It exists and is a link, somebody else's, or open to others.
    """
    ensure_private(os.fspath(path))


def try_lock(path: Path) -> int | None:
    """Take a lock without waiting: return the handle that holds it until it is closed, or None."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        raise
    return handle


@contextlib.contextmanager
def locked(path: Path, timeout: float | None = None) -> Iterator[None]:
    """Hold a lock that ends with this process at the latest.

    Parameters
    ----------
    timeout
        Seconds to wait for it; None: for ever.

    Raises
    ------
    TimeoutError
        Somebody else held it all the time.
    """
    end = None if timeout is None else time.monotonic() + timeout
    handle = try_lock(path)
    while handle is None:
        if end is not None and time.monotonic() >= end:
            raise TimeoutError(f"{os.fspath(path)} is held by another process.")
        time.sleep(LOCK_POLL_SECONDS)
        handle = try_lock(path)
    try:
        yield
    finally:
        os.close(handle)
