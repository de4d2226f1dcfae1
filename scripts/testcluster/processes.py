"""Starting the cluster's programs, and finding every one of them again, also after a crash."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from testcluster.faults import ClusterError

# In the environment of each program, with the state folder as its value; children inherit it.
MARK = "JUPYTER_ELASTIC_TEST_CLUSTER_STATE"
END_SECONDS = 20.0


def spawn(command: list[str], log: Path, state: Path, environment: Mapping[str, str]) -> int:
    """Start a program that outlives us, marked as one of this state folder.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    log : pathlib.Path
        File that its output is appended to.
    state : pathlib.Path
        The cluster's state folder.
    environment : mapping
        Variables added to our own.

    Returns
    -------
    int
        Its process id.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=state,
            env={**os.environ, **environment, MARK: str(state)},
            start_new_session=True,
        )
    # It is followed by its process id; without this the object complains when it is dropped.
    child.returncode = 0
    return child.pid


def birth(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it has ended."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # ours, ended and not yet collected
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def marked(state: Path) -> list[int]:
    """Return the process ids of all programs of this state folder, shims included."""
    wanted = f"{MARK}={state}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            values = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in values and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return [pid for pid in found if birth(pid) is not None]


def end(find: Callable[[], Iterable[int]], seconds: float = END_SECONDS) -> None:
    """Kill what ``find`` returns until it returns nothing: some may start others meanwhile.

    Raises
    ------
    ClusterError
        If some are still there after that time.
    """
    deadline = time.monotonic() + seconds
    while pids := list(find()):
        if time.monotonic() > deadline:
            raise ClusterError(f"Processes {pids} do not end")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def last_lines(log: Path, count: int = 15) -> str:
    """Return the end of a log."""
    if not log.exists():
        return "(no log)"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 20_000))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-count:])
