"""The story once more as a user without rights, from the wheel: unwritable folders and key modes show up only here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ..harness import processes
from ..harness.lab import HttpError, LabServer
from ..harness.training import sizes_seen
from .conftest import prepare
from .test_static_story import launch

USER = 12345  # has no entry in /etc/passwd, as in many containers


async def test_story_without_rights(training: Path) -> None:
    clean = os.environ.get("JUPYTER_ELASTIC_CLEAN_ENV")
    if os.getuid() != 0 or not clean or not shutil.which("setpriv"):
        pytest.fail("needs root, setpriv and JUPYTER_ELASTIC_CLEAN_ENV (`make test` sets it)")
    server = LabServer(
        options={"shared_folder": "/etc/mpi"},
        python=f"{clean}/bin/python",
        prefix=("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        environment={"PYTHONPATH": "", "USER": "nobody-here"},
    )
    try:
        prepare(server, training)
        server.command()  # writes the configuration, so that it is handed over as well
        server.give_to(USER)
        server.start()
        with pytest.raises(HttpError) as refused:
            server.post("clusters", {"name": "x", "framework": "horovod", "size": 1})
        assert refused.value.status in (400, 422)
        script = str(server.work / "tensorflow2_mnist.py")
        cluster = server.create(script=script, kernelspec="training")
        folder = Path(cluster["hostfile"]["folder"])
        assert folder.is_relative_to(server.runtime), "a folder of its own where /etc/mpi is closed"
        assert folder.stat().st_uid == USER
        terminal, text = await launch(server, cluster)
        assert f"--hostfile {folder}/hostfile " in text
        await terminal.type("\r")
        await terminal.expect(r"of 2[\s\S]*accuracy", seconds=180)
        assert sorted(sizes_seen(terminal.text)) == [(5000, 0, 2), (5000, 1, 2)]
        server.wait(
            lambda: [r["exit"] for r in server.cluster(cluster["id"])["runs"]] == [0],
            seconds=30,
            what="exit 0",
        )
        await terminal.close()
        server.delete(f"clusters/{cluster['id']}")
        server.close_terminals()
        assert server.process is not None
        left = processes.wait_until_none(server.runtime, seconds=20, but=(server.process.pid,))
        assert not left, [p.cmdline() for p in left]
        assert not folder.exists()
    finally:
        server.close()
