"""Makes ``keeper.pyz`` from this package's own files; only the engine's side uses it."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Iterator

from . import files

MAIN = b"""import sys
if sys.version_info < (3, 8):
    sys.exit("The keeper needs Python 3.8 or newer, this is %s." % sys.version.split()[0])
from keeper.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
_STAMP = (1980, 1, 1, 0, 0, 0)  # the oldest a zip file can hold: equal sources make equal bytes


def packed() -> bytes:
    """Return the program; the same bytes for the same sources."""
    top = os.path.dirname(os.path.abspath(__file__))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", MAIN)
        for path in sorted(_sources(top)):
            with open(path, "rb") as handle:
                _add(archive, f"keeper/{os.path.relpath(path, top)}", handle.read())
    return buffer.getvalue()


def _sources(folder: str) -> Iterator[str]:
    """Yield the modules of a package and of the packages in it."""
    for entry in os.scandir(folder):
        if entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield from _sources(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _STAMP)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def build(target: str) -> None:
    """Write the program to `target` where it is not there already.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    data = packed()
    try:
        with open(target, "rb") as handle:
            if handle.read() == data:
                return
    except OSError:
        pass
    files.write_atomic(target, data, 0o600)
