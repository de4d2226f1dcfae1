"""Running the steps of a set-up: signs of life, a log, and stamps that spare finished work."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
VENV = REPO / ".venv"
HEARTBEAT = 20.0  # seconds between two signs of life of a long step
SHOWN_LINES = 40  # of the log, when a step fails


def say(text: str) -> None:
    """Write one line of progress."""
    print(text, file=sys.stderr, flush=True)


def step(
    title: str,
    command: list[str],
    log: Path,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one command with its output in the log, and show that it is alive.

    Parameters
    ----------
    title : str
        What to call the step.
    command : list of str
        The command; never a shell line.
    log : pathlib.Path
        File that gets the output.
    cwd : pathlib.Path, optional
        Folder to run in; this one by default.
    environment : mapping, optional
        Variables added to our own environment.

    Raises
    ------
    SystemExit
        If the command fails; the end of the log is shown first.
    """
    say(f"  {title} ...")
    started = time.monotonic()
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
        )
        code = _wait(child, log, started)
    if code:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        say("\n".join(lines[-SHOWN_LINES:]))
        raise SystemExit(f"{title} failed with exit code {code}; the whole log is {log}")
    say(f"    done in {time.monotonic() - started:.0f} s")


def _wait(child: subprocess.Popen[bytes], log: Path, started: float) -> int:
    """Wait for the end of a step, with a line now and then; an interrupt ends the step too."""
    while True:
        try:
            return child.wait(timeout=HEARTBEAT)
        except subprocess.TimeoutExpired:
            say(f"    still at it, {time.monotonic() - started:.0f} s (log: {log})")
        except BaseException:
            child.terminate()
            raise


def digest(paths: Iterable[Path], *more: str) -> str:
    """Return a hash of the content of files, and of all files below folders."""
    result = hashlib.sha256("\n".join(more).encode())
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file():
                result.update(str(file.relative_to(REPO)).encode())
                result.update(file.read_bytes())
    return result.hexdigest()


def is_done(stamp: Path, wanted: str) -> bool:
    """Tell whether a step was finished with the same inputs."""
    return stamp.exists() and stamp.read_text(encoding="utf-8") == wanted


def path_with(folder: Path) -> str:
    """Return a PATH on which the programs of one folder come first."""
    return f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
