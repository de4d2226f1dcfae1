"""Running one short command of the system."""

from __future__ import annotations

import os
import subprocess

from testcluster import packages
from testcluster.faults import ClusterError


def run(*command: str, stdin: str | None = None, timeout: float = 120) -> str:
    """Return the output of a command.

    Parameters
    ----------
    *command : str
        The program and its arguments.
    stdin : str, optional
        Text for its standard input.
    timeout : float
        Seconds it may take.

    Raises
    ------
    ClusterError
        If it is missing, fails, or takes too long.
    """
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{packages.SYSTEM_PATH}"}
    try:
        done = subprocess.run(
            command,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise ClusterError(f"{command[0]} is not on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{' '.join(command)} did not end within {timeout:.0f} s") from error
    if done.returncode:
        raise ClusterError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
