"""A stand-in server in this process, and kernels below it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..unit.client.standin import StandIn, make_cluster
from .kernels import REPOSITORY, Kernel, kernel


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    # Unix socket paths have a limit of 107 bytes, so the folder is short and not pytest's.
    folder = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    (folder / "r").mkdir(mode=0o700)
    yield folder / "r"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def environment(runtime: Path) -> dict[str, str]:
    """What the kernels get."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return {
        "JUPYTER_ELASTIC_RUNTIME_DIR": str(runtime),
        "JUPYTER_ELASTIC_STATE_DIR": str(runtime.parent / "s"),
        "IPYTHONDIR": str(runtime.parent / "ipython"),
        "PYTHONPATH": path.rstrip(os.pathsep),
    }


@pytest.fixture
def standin(runtime: Path) -> Iterator[StandIn]:
    server = StandIn(runtime, pid=os.getpid())
    server.add(make_cluster())
    yield server
    server.close()


@pytest.fixture(scope="module")
def shared_notebook(environment: dict[str, str]) -> Iterator[Kernel]:
    """One kernel for the tests of a module: a start costs seconds."""
    with kernel(environment) as found:
        yield found


@pytest.fixture
def notebook(shared_notebook: Kernel, standin: StandIn) -> Kernel:
    """A kernel that remembers nothing of the test before."""
    shared_notebook.run("%reload_ext jupyter_elastic")
    return shared_notebook
