#!/usr/bin/env python3
"""Build the wheel, look into it, and install it into clean environments without Node.js.

The environment stays at ``JUPYTER_ELASTIC_CLEAN_ENV``: the tests run the story from it as an
unprivileged user. The number of checks that passed is written to ``test-results/wheel.json``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from stages import RESULTS
from steps import REPO, VENV, say

DIST = REPO / "dist"
# What a wheel must have, by the end of the name in it, and what it must not have, by a part.
NEEDED = [
    "data/share/jupyter/labextensions/jupyter-elastic/package.json",
    "data/share/jupyter/labextensions/jupyter-elastic/install.json",
    "data/share/jupyter/labextensions/jupyter-elastic/static/style.js",
    "data/share/jupyter/labextensions/jupyter-elastic/schemas/jupyter-elastic/plugin.json",
    "data/etc/jupyter/jupyter_server_config.d/jupyter_elastic.json",
    "jupyter_elastic/py.typed",
    "licenses/LICENSE",
    "entry_points.txt",
]
UNWANTED = ["build_log.json", ".orig", "tests/", "node_modules/", "__pycache__"]


class Checks:
    """Counts what held, and remembers what did not."""

    def __init__(self) -> None:
        self.passed = 0
        self.problems: list[str] = []

    def that(self, holds: bool, problem: str) -> None:
        """Take one check into account."""
        if holds:
            self.passed += 1
        else:
            self.problems.append(problem)
            say(f"  PROBLEM: {problem}")


def build() -> Path:
    """Build the front end as it is published, then the wheel, and return it."""
    shutil.rmtree(DIST, ignore_errors=True)
    # What is there may be a development build, and hatch takes what it finds.
    subprocess.run([str(VENV / "bin" / "jlpm"), "build:prod"], check=True, cwd=REPO)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(DIST)]
    subprocess.run([*command, str(REPO)], check=True)
    wheels: list[Path] = list(DIST.glob("*.whl"))
    return wheels[0]


def look_inside(wheel: Path, checks: Checks) -> None:
    """Check what is in the wheel, and that nothing in it names this machine's folders."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for end in NEEDED:
            checks.that(any(name.endswith(end) for name in names), f"the wheel lacks {end}")
        for part in UNWANTED:
            found = [name for name in names if part in name]
            checks.that(not found, f"the wheel has {found}")
        here = str(REPO).encode()
        named = [name for name in names if here in archive.read(name)]
        checks.that(not named, f"the path of this folder is in {named}")
        say(f"  {wheel.name}: {len(names)} files, {wheel.stat().st_size / 1024:.0f} kB")


def install(wheel: Path, folder: Path) -> None:
    """Make the environment anew and install JupyterLab and the wheel into it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    # Without Node.js on PATH: a wheel that wants to build something fails here.
    subprocess.run([*pip, "jupyterlab>=4.6.2,<4.7", str(wheel)], check=True, env=bare(folder))


def bare(folder: Path) -> dict[str, str]:
    """Return the environment variables of somebody who has this environment and nothing else."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "SSL_", "REQUESTS_", "LANG", "LC_")) or name.endswith("_proxy")
    }
    # A home of its own: a configuration of the machine's user must not make it work, or fail.
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {**kept, "PATH": str(folder / "bin"), "HOME": str(home)}


def output(command: list[str], folder: Path, code: int = 0) -> str:
    """Return what a command of the environment prints, on either stream, if it ends with `code`."""
    done = subprocess.run(
        [str(folder / "bin" / command[0]), *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=bare(folder),
        cwd=folder,
    )
    print(done.stdout, flush=True)
    return done.stdout if done.returncode == code else f"exit code {done.returncode}"


def try_out(folder: Path, checks: Checks) -> None:
    """Check that JupyterLab finds both halves, and that the package imports."""
    checks.that(shutil.which("node", path=bare(folder)["PATH"]) is None, "Node.js is on PATH")
    server = output(["jupyter", "server", "extension", "list"], folder)
    lines = [line for line in server.splitlines() if "jupyter_elastic" in line]
    enabled = any("enabled" in line for line in lines) and any("OK" in line for line in lines)
    checks.that(enabled, f"the server half is not enabled and OK: {lines}")
    lab = output(["jupyter", "labextension", "list"], folder)
    found = [line for line in lab.splitlines() if "jupyter-elastic" in line]
    fine = any("enabled" in line and "OK" in line for line in found)
    checks.that(fine, f"the front end is not enabled and OK: {found}")
    code = "import jupyter_elastic; print('version', jupyter_elastic.__version__)"
    checks.that("version" in output(["python", "-c", code], folder), "the package does not import")
    help_text = output(["jupyter", "elastic", "--help"], folder)
    checks.that("scale" in help_text, "the command `jupyter elastic` does not work")
    checks.that(
        "No broken requirements" in output(["python", "-m", "pip", "check"], folder),
        "the requirements do not fit together",
    )


def try_in_a_kernel(wheel: Path, folder: Path, checks: Checks) -> None:
    """Check that the magics work where a kernel has IPython and nothing else of ours."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    for wanted in (["ipython"], ["--no-deps", str(wheel)]):
        subprocess.run([*pip, *wanted], check=True, env=bare(folder))
    lines = ("%load_ext jupyter_elastic", "%elastic_status")
    said = output(["ipython", "--colors=NoColor", "--no-banner", "-c", "\n".join(lines)], folder, 1)
    # There is no server above this process, and that is all that may be wrong.
    checks.that("No Jupyter server" in said, f"the magics do not work without requirements: {said}")
    checks.that("Traceback" not in said, f"the magics show a traceback: {said}")


def main() -> int:
    """Run all checks."""
    folder = Path(os.environ["JUPYTER_ELASTIC_CLEAN_ENV"])
    checks = Checks()
    wheel = build()
    look_inside(wheel, checks)
    install(wheel, folder)
    try_out(folder, checks)
    try_in_a_kernel(wheel, folder.with_name(f"{folder.name}-kernel"), checks)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "wheel.json").write_text(json.dumps(checks.passed), encoding="utf-8")
    say(f"  {checks.passed} checks passed, {len(checks.problems)} failed")
    return 1 if checks.problems else 0


if __name__ == "__main__":
    sys.exit(main())
