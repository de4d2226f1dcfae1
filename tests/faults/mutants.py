"""Faults put into the product on purpose, to see that the tests of the host file notice them.

The environment variable ``MUTANT`` names the one to install; nothing of this is part of the product.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

HALF_WRITTEN_SECONDS = 0.005


def _lines(source: str) -> list[str]:
    with open(source, encoding="ascii") as handle:
        return handle.read().splitlines(keepends=True)


def _cut(source: str, target: str) -> None:
    """Write in place, in two halves."""
    text = "".join(_lines(source))
    if os.path.exists(target):
        os.chmod(target, 0o644)  # as a writer would have left it that opens the file again
    with open(target, "w", encoding="ascii") as handle:
        handle.write(text[: len(text) // 2])
        handle.flush()
        time.sleep(HALF_WRITTEN_SECONDS)
        handle.write(text[len(text) // 2 :])
    os.chmod(target, 0o444)
    os.unlink(source)


def _reorder(source: str, target: str) -> None:
    """Put the newest worker first among the workers."""
    first, *workers = _lines(source)
    with open(source + ".mutant", "w", encoding="ascii") as handle:
        handle.write("".join([first, *reversed(workers)]))
    os.chmod(source + ".mutant", 0o444)
    os.unlink(source)
    os.rename(source + ".mutant", target)


WRITERS: dict[str, Callable[[str, str], None]] = {"cut": _cut, "reorder": _reorder}


def install_in_keeper() -> None:
    """Change how this process makes a written host file visible."""
    mutant = WRITERS.get(os.environ.get("MUTANT", ""))
    if mutant is None:
        return
    real = os.replace

    def replace(source: Any, target: Any, **kwargs: Any) -> None:
        if os.path.basename(os.fspath(target)) == "hostfile":
            mutant(os.fspath(source), os.fspath(target))
        else:
            real(source, target, **kwargs)

    os.replace = replace  # type: ignore[assignment]


def install_in_server() -> None:
    """Let a worker that is leaving stay in the list, when that is the mutant."""
    if os.environ.get("MUTANT") != "leaver":
        return
    from jupyter_elastic.hostfile import membership

    real = membership._stays

    def stays(container: Any, now: float, debounce: float) -> bool:
        return container.state == "draining" or real(container, now, debounce)

    membership._stays = stays
