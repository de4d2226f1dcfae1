"""Giving the folder of the host files back: files, claim, and the folder where that is ours.

A folder that clusters of a machine share is claimed by a file in it, made and taken over under a
lock on the folder itself. Nothing is touched where another cluster has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Callable

from . import files

CLAIM = ".jupyter-elastic.json"


def give_back(folder: str, cluster: str, remove_files: Callable[[], None]) -> bool:
    """Remove the host files, then the claim and the folder of a cluster.

    Parameters
    ----------
    remove_files
        Removes the host files; called under the lock.

    Returns
    -------
    bool
        False, and nothing is done, while somebody else holds the lock.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return True
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # this file system has no locks, so nobody can have claimed by one
        _give_back(folder, cluster, remove_files)
    finally:
        os.close(handle)
    return True


def _give_back(folder: str, cluster: str, remove_files: Callable[[], None]) -> None:
    path = os.path.join(folder, CLAIM)
    claim = files.read_json(path)
    if claim is not None and claim.get("cluster") != cluster:
        return  # another one has it by now, and what is in it
    remove_files()
    # A folder that was there before us stays; one of our own goes when nothing else is in it.
    own = os.path.basename(folder) == cluster
    if claim is not None:
        files.remove(path)
        own = claim.get("made_folder") is True
    if own:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
