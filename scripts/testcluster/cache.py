"""Where built things are kept, and how two builders stay out of each other's way."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steps import say
from training_env import cache_root


def folder() -> Path:
    """Return the folder of everything that is built for the cluster; it is made if absent."""
    path = cache_root() / "cluster"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock that ends with this process.

    Parameters
    ----------
    path : pathlib.Path
        The lock's file.
    what : str
        What another process is doing when it holds the lock, for the line that says so.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another process is {what}; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
