"""Our folder of starters, and the real programs behind it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import Iterable, Sequence

from . import files

MARK = b"# jupyter_elastic starter"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_TEXT = """#!/bin/sh
# jupyter_elastic starter
python=@PYTHON@
[ -x "$python" ] || python=python3
exec "$python" -I -S @PROGRAM@ @WORDS@ "$@"
"""


def write(folder: str, programs: Iterable[str]) -> None:
    """Write a starter for each program, and ``ssh``, below ``folder/bin``."""
    target = os.path.join(folder, "bin")
    files.make_private(target)
    pyz = shlex.quote(os.path.join(folder, "keeper.pyz"))
    for name in programs:
        _put(os.path.join(target, name), pyz, f"start {shlex.quote(name)} --")
    _put(os.path.join(target, "ssh"), pyz, "ssh")


def _put(path: str, pyz: str, words: str) -> None:
    text = _TEXT.replace("@PYTHON@", shlex.quote(sys.executable or "python3"))
    data = text.replace("@PROGRAM@", pyz).replace("@WORDS@", words).encode()
    try:
        with open(path, "rb") as handle:
            if handle.read() == data and os.access(path, os.X_OK):
                return
    except OSError:
        pass
    files.write_atomic(path, data, 0o700, sync=False)


def _ours(path: str) -> bool:
    try:
        with open(path, "rb") as handle:
            return MARK in handle.read(256)
    except OSError:
        return False


def find(name: str, path: str | None) -> str | None:
    """Return the real program of this name in a PATH: the first that is no starter of a keeper."""
    for folder in (path or os.defpath).split(os.pathsep):
        candidate = os.path.join(folder or os.curdir, name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK) and not _ours(candidate):
            return candidate
    return None


def command(folder: str, argv: Sequence[str]) -> str:
    """Return the text with which a shell turns into the starter of this command."""
    return f"exec {shlex.quote(os.path.join(folder, 'bin', argv[0]))} {shlex.join(argv[1:])}"
