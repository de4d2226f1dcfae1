"""The oldest `kubernetes` package that is allowed; all other tests have the newest one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from testcluster.cluster import Cluster
from training_env import cache_root

from .bare import BareLab

REPO = Path(__file__).parents[2]
UNIT = "tests/unit/engines/kubernetes"
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def oldest() -> Path:
    """A folder that holds the oldest release which `pyproject.toml` allows."""
    text = (REPO / "pyproject.toml").read_text()
    found = re.search(r'"kubernetes>=(\d+)', text)
    assert found is not None
    folder = cache_root() / f"kubernetes-client-{found[1]}"
    if not (folder / "kubernetes" / "__init__.py").exists():
        wanted = f"kubernetes=={found[1]}.*"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), wanted]
        subprocess.run(pip, check=True)
    show = "import kubernetes; print(kubernetes.__version__)"
    shown = subprocess.run(
        [sys.executable, "-c", show],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith(f"{found[1]}.")
    return folder


def test_connections(oldest: Path) -> None:
    tests = [f"{UNIT}/test_connection.py", f"{UNIT}/test_login.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {
        "PYTHONPATH": f"{oldest}:{REPO}",
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
    }
    ran = subprocess.run(
        command, cwd=REPO, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    assert re.search(r"\d+ passed", ran.stdout)


def test_a_cluster(oldest: Path, cluster: Cluster, namespace: str) -> None:
    lab = BareLab(cluster, namespace)
    lab._extra["PYTHONPATH"] = f"{oldest}:{REPO}"
    try:
        lab.start()
        before = lab.objects()
        made = lab.create()
        lab.put(f"clusters/{made['id']}/target", {"size": 3})
        lab.wait_ready(made["id"], 3)
        lab.delete(f"clusters/{made['id']}")
        lab.wait(lambda: lab.objects() == before, seconds=60, what="all given back")
    finally:
        lab.close()
