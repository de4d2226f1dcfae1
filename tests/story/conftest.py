"""One real server per test, with the training environment as a kernelspec."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..harness.lab import LabServer
from ..harness.training import EXAMPLES, training_env


def install_kernel(server: LabServer, env: Path) -> None:
    """Make the training environment a kernelspec of this server's user."""
    folder = server.home / "data" / "kernels" / "training"
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [
            str(env / "bin" / "python"),
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": "Training",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))


def prepare(server: LabServer, env: Path) -> None:
    """Put the examples, the user's own script and the kernelspec in place."""
    install_kernel(server, env)
    for source in [*EXAMPLES.glob("*.py"), Path(__file__).with_name("own_elastic.py")]:
        shutil.copy(source, server.work)


@pytest.fixture(scope="session")
def training() -> Path:
    """The environment with Horovod."""
    return training_env()


@pytest.fixture
def server(training: Path) -> Iterator[LabServer]:
    """A running server with everything a user of the example has."""
    server = LabServer()
    prepare(server, training)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def static(server: LabServer) -> Any:
    """Cluster ``tthvd`` of two containers with the tutorial's script."""
    return server.create(script=str(server.work / "tensorflow2_mnist.py"), kernelspec="training")
