"""Folders of one test, and a stand-in server above the test process."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .standin import StandIn


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Unix socket paths have a limit of 107 bytes, so the folder is short and not pytest's.
    folder = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", str(folder / "r"))
    monkeypatch.setenv("JUPYTER_ELASTIC_STATE_DIR", str(folder / "s"))
    (folder / "r").mkdir(mode=0o700)
    yield folder / "r"
    shutil.rmtree(folder)


@pytest.fixture
def standin(runtime: Path) -> Iterator[StandIn]:
    server = StandIn(runtime, pid=os.getppid())
    yield server
    server.close()
