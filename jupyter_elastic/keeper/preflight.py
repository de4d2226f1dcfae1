"""Which programs a launch shell would find: its start files are run, then its PATH is searched."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, Callable

from . import programs, rcfiles, spawn
from .loop import Loop

SECONDS = 9.0
_MARK = "elastic-path="
_TEXT = f'printf "\\n{_MARK}%s\\n" "$PATH"'


def look(
    folder: str,
    request: tuple[str, dict[str, str], str],
    name: str,
    loop: Loop,
    done: Callable[[dict[str, Any]], None],
) -> None:
    """Resolve `name` and ``python``; `done` gets ``program`` and ``python`` (paths) or ``error``.

    Parameters
    ----------
    request
        Folder, environment and program of the shell.

    Raises
    ------
    OSError
        No process can be made.
    """
    cwd, env, shell = request
    argv, more = rcfiles.command(folder, shell, _TEXT)
    pid, output = spawn.detached(argv, env={**env, **more}, cwd=cwd, errors=False)
    said = bytearray()
    over: list[bool] = []

    def finish(answer: dict[str, Any]) -> None:
        if not over:
            over.append(True)
            loop.drop(output)
            os.close(output)
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            done(answer)

    def came(_: int) -> None:
        data = os.read(output, 65536)
        said.extend(data)
        path = _path(bytes(said))
        # A start file may leave something running that holds the pipe, so do not wait for its end.
        if path is not None:
            finish(_answer(name, path))
        elif not data:
            text = f"The start files of {shell} ended the shell. Open a terminal to see why."
            finish({"error": text})

    loop.add(output, came)
    late = f"The start files of {shell} did not end within {SECONDS:g} s."
    loop.later(SECONDS, lambda: finish({"error": late}))


def _path(said: bytes) -> str | None:
    _, mark, rest = said.rpartition(b"\n" + _MARK.encode())
    path, newline, _ = rest.partition(b"\n")
    return os.fsdecode(path) if mark and newline else None


def _answer(name: str, path: str) -> dict[str, Any]:
    found, python = programs.find(name, path), programs.find("python", path)
    answer: dict[str, Any] = {"program": found, "python": python}
    if found is None:
        answer["error"] = f"{name} was not found in PATH. Choose a Python environment that has it."
    return answer
