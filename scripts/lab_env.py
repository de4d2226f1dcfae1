#!/usr/bin/env python3
"""Make ``.venv``: JupyterLab, the development tools, the built front end and this package.

Each part is left alone while what it is made from has not changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from steps import REPO, VENV, digest, is_done, path_with, say, step

HERE = Path(__file__).resolve().parent
PYTHON = VENV / "bin" / "python"
# What builds the front end and the package; needed before the package itself can be installed.
BUILD_TOOLS = [
    "editables>=0.5",
    "hatchling>=1.5.0",
    "hatch-nodejs-version>=0.3.2",
    "hatch-jupyter-builder>=0.9",
    "jupyter-builder>=1.2.0,<2",
]
FRONT_END = ["src", "style", "schema", "package.json", "yarn.lock", "tsconfig.json"]
BUILT = REPO / "jupyter_elastic" / "labextension" / "static" / "style.js"


def make_venv(log: Path) -> None:
    """Create the environment; one whose Python has gone or does not run is made again."""
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", ""], check=False).returncode == 0:
        return
    found = subprocess.run(
        [sys.executable, str(HERE / "find_python.py")], stdout=subprocess.PIPE, text=True
    )
    if found.returncode:
        raise SystemExit(found.returncode)
    shutil.rmtree(VENV, ignore_errors=True)
    step("creating .venv", [found.stdout.strip(), "-m", "venv", str(VENV)], log)


def build_front_end(log: Path) -> None:
    """Install the npm packages and build the extension that is served to the browser."""
    stamp = VENV / ".front-end"
    wanted = digest(REPO / name for name in FRONT_END)
    if BUILT.exists() and is_done(stamp, wanted):
        return
    jlpm = str(VENV / "bin" / "jlpm")
    venv_first = {"PATH": path_with(VENV / "bin")}
    title = "installing the npm packages (about 2 minutes the first time)"
    step(title, [jlpm, "install", "--immutable"], log, cwd=REPO, environment=venv_first)
    step("building the front end", [jlpm, "build:prod"], log, cwd=REPO, environment=venv_first)
    stamp.write_text(wanted, encoding="utf-8")


def install(log: Path) -> None:
    """Install this package so that edits count at once, with the development tools."""
    stamp = VENV / ".installed"
    wanted = digest([REPO / "pyproject.toml", REPO / "jupyter-config"], str(PYTHON))
    if is_done(stamp, wanted):
        return
    link = VENV / "share" / "jupyter" / "labextensions" / "jupyter-elastic"
    if link.is_symlink():
        # pip would follow our own link and remove or add files in the folder that was built.
        link.unlink()
    pip = [str(PYTHON), "-m", "pip", "install", "--no-input"]
    venv_first = {"PATH": path_with(VENV / "bin")}
    step(
        "installing JupyterLab, the tools and jupyter_elastic (about 1 minute)",
        [*pip, "--no-build-isolation", "--editable", f"{REPO}[dev,widget]"],
        log,
        # The front end is built already, and only once.
        environment={**venv_first, "HATCH_JUPYTER_BUILDER_SKIP_NPM": "1"},
    )
    # An editable install brings neither the front end nor the server's configuration.
    tool = VENV / "bin"
    develop = [str(tool / "jupyter-builder"), "develop", str(REPO), "--overwrite"]
    step("linking the front end", develop, log, cwd=REPO, environment=venv_first)
    enable = [str(tool / "jupyter"), "server", "extension", "enable", "jupyter_elastic"]
    step("enabling the server half", [*enable, "--sys-prefix"], log, environment=venv_first)
    stamp.write_text(wanted, encoding="utf-8")


def main() -> int:
    """Bring the environment up to date."""
    say(f"Lab environment: {VENV}")
    log = REPO / ".venv.log"
    log.write_bytes(b"")
    make_venv(log)
    tools = VENV / ".build-tools"
    if not is_done(tools, digest([], *BUILD_TOOLS)):
        pip = [str(PYTHON), "-m", "pip", "install", "--no-input", *BUILD_TOOLS]
        step("installing the build tools", pip, log)
        tools.write_text(digest([], *BUILD_TOOLS), encoding="utf-8")
    build_front_end(log)
    install(log)
    log.replace(VENV / "setup.log")
    return 0


if __name__ == "__main__":
    sys.exit(main())
