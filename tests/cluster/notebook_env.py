"""JupyterLab with the extension from the built wheel, and JupyterHub, in an environment that also works in the test image."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from steps import digest
from training_env import cache_root, default_python

from ..harness.training import REPO

LAB = "jupyterlab>=4.6.2,<4.7"
HUB = ("jupyterhub==6.1.1", "jupyterhub-kubespawner==7.1.0")
PROXY = "configurable-http-proxy"


@lru_cache(maxsize=1)
def notebook_env() -> Path:
    """Return the environment's folder; what it depends on is kept, the extension is always new.

    ``JUPYTER_ELASTIC_NOTEBOOK_ENV`` names another one, in which nothing is installed.
    """
    given = os.environ.get("JUPYTER_ELASTIC_NOTEBOOK_ENV")
    if given:
        return Path(given)
    env = cache_root() / f"notebook-{digest([REPO / 'pyproject.toml'], LAB, *HUB)[:12]}"
    pip = [str(env / "bin" / "pip"), "install", "--quiet", "--no-input"]
    with tempfile.TemporaryDirectory() as folder:
        wheel = _wheel(Path(folder))
        if not (env / "complete").exists():
            run([default_python(), "-m", "venv", "--clear", str(env)])
            run([*pip, wheel, LAB, *HUB])
            (env / "complete").touch()
        run([*pip, "--no-deps", "--force-reinstall", wheel])
    return env


def _wheel(folder: Path) -> str:
    """Build the wheel; the front end that is there goes into it."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HATCH_JUPYTER_BUILDER_SKIP_NPM": "1"}
    run([*command, str(REPO)], environment)
    return str(next(folder.glob("*.whl")))


@lru_cache(maxsize=1)
def proxy_program() -> Path:
    """Return the hub's proxy, installed by npm where the cache has none."""
    folder = cache_root() / "hub-proxy"
    program = folder / "node_modules" / ".bin" / PROXY
    if not program.exists():
        run(["npm", "install", "--silent", "--prefix", str(folder), PROXY])
    return program


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a command; fail with what it said."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
