#!/usr/bin/env python3
"""Print the path of a Python that can carry both JupyterLab and TensorFlow 2.15.

TensorFlow 2.15 has wheels up to Python 3.11 and JupyterLab 4.6 starts at 3.10, so only
3.10 and 3.11 serve. ``PYTHON`` in the environment is tried first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROBE = (
    "import ensurepip, os, sys, sysconfig, venv;"
    "header = os.path.join(sysconfig.get_paths()['include'], 'Python.h');"
    "print('%d.%d' % sys.version_info[:2], int(os.path.exists(header)), sys.executable)"
)


def candidates() -> list[str]:
    """Return the interpreters to try, best first."""
    names = [os.environ.get("PYTHON", ""), "python3.11", "python3.10", "python3", sys.executable]
    paths = [found for name in names if name and (found := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in ("3.11", "3.10"):
        paths += [
            str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python3"), reverse=True)
        ]
    # A pyenv shim on PATH may stand for a version that is not selected, and hide Debian's own.
    paths += [f"/usr/bin/python{version}" for version in ("3.11", "3.10")]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


def probe(path: str) -> tuple[str, bool, str] | None:
    """Return version, whether headers are there, and the real path; None if it cannot run."""
    try:
        answer = subprocess.run(
            [path, "-c", PROBE], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version, headers, executable = answer.stdout.strip().split(" ", 2)
    return version, headers == "1", executable


def reachable(path: str) -> bool:
    """Tell whether another user could run this file: every folder above it lets them through."""
    real = Path(path).resolve()
    return all(folder.stat().st_mode & 0o001 for folder in (real, *real.parents))


def main() -> int:
    """Print the first usable interpreter, or say on stderr what is missing."""
    seen = []
    found = candidates()
    if os.geteuid() == 0 and not os.environ.get("PYTHON"):
        # Root's private interpreter would shut out the unprivileged user of the tests.
        found.sort(key=lambda path: not reachable(path))
    for path in found:
        result = probe(path)
        if result is None:
            seen.append(f"{path}: does not run, or lacks the venv module")
            continue
        version, headers, executable = result
        if version not in ("3.10", "3.11"):
            seen.append(f"{path}: Python {version}")
        elif not headers:
            seen.append(f"{path}: Python {version} without headers (Debian: python{version}-dev)")
        else:
            print(executable)
            return 0
    print("No usable Python 3.10 or 3.11 found. Tried:", file=sys.stderr)
    for line in seen:
        print(f"  {line}", file=sys.stderr)
    print(
        "On Debian 12: apt-get install python3.11 python3.11-venv python3.11-dev\n"
        "Elsewhere: pyenv install 3.11, then set PYTHON to its path.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
