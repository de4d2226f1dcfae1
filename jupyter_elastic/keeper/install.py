"""The folder of a keeper that is the main process of a container.

What the container was given (program and configuration) is read-only and may be replaced while the
keeper lives, so both are copied into a folder of our own.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from . import files, paths

CONFIG, PROGRAM = "config.json", "keeper.pyz"


def prepare(folder: str) -> None:
    """Make the folder, mode 0700, and bring program and configuration up to date.

    The folder above it may be anything that we can write: a volume of a pod belongs to root, has
    the pod's group and passes that on.

    Raises
    ------
    OSError
        It cannot be made or written, or belongs to somebody else.
    """
    os.makedirs(os.path.dirname(folder), mode=0o755, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        os.chmod(folder, 0o700)  # made by a start script or opened for the pod's group
    paths.check_private(folder)
    program = os.path.abspath(sys.argv[0])
    source = os.path.dirname(program)
    config = os.path.join(source, CONFIG)
    if os.path.realpath(source) == os.path.realpath(folder) or not os.path.isfile(config):
        return
    _copy(program, os.path.join(folder, PROGRAM))
    _copy(config, os.path.join(folder, CONFIG))


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as handle:
        data = handle.read()
    try:
        with open(target, "rb") as handle:
            if handle.read() == data:
                return
    except OSError:
        pass
    files.write_atomic(target, data, 0o600)
