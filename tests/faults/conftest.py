"""A server whose points can be armed, and a reader of its host file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..harness.lab import LabServer

HERE = Path(__file__).parent
REPO = HERE.parents[1]


class KillableServer(LabServer):
    """A server, and keepers, that end themselves at an armed point."""

    def __init__(self, mutant: str = "", **options: Any) -> None:
        super().__init__(
            options={
                "drain_grace": 3.0,
                **options,
            },
            environment={"PYTHONPATH": str(REPO)},
        )
        self._config["ElasticExtensionApp"]["keeper_command"] = [
            sys.executable,
            str(HERE / "run_keeper.py"),
        ]
        self.kill_file = self.folder / "kill"
        self._extra["KILL_FILE"] = str(self.kill_file)
        self._extra["MUTANT"] = mutant

    def command(self) -> list[str]:
        """Start through the wrapper that installs the points."""
        words = super().command()
        at = words.index("-m")
        return [*words[:at], str(HERE / "run_server.py"), *words[at + 2 :]]

    def arm(self, point: str) -> None:
        """Let the next process that reaches `point` end itself."""
        self.kill_file.write_text(point)

    @property
    def fired(self) -> bool:
        """Whether the armed point was reached."""
        return not self.kill_file.exists()


def leaver_listed(server: KillableServer, cluster: str, hostfile: Path) -> str | None:
    """Compare the file with states read around it: who is leaving or gone must not be in it.

    A leaver gets half a second, in which the list is agreed on and written. Who came between the
    first state and the file is in the second one.
    """
    members = _members(server, cluster)
    listed = {line.split()[0] for line in hostfile.read_text().splitlines()}
    if listed - members:
        members |= _members(server, cluster)
    return f"listed, though leaving or gone: {listed - members}" if listed - members else None


def _members(server: KillableServer, cluster: str) -> set[str]:
    before = time.time()
    return {
        item["host"]
        for item in server.cluster(cluster)["containers"]
        if item["state"] != "draining" or item["since"] > before - 0.5
    }


class Reader:
    """The reading process of ``reader.py``."""

    def __init__(self, hostfile: Path, folder: Path) -> None:
        self._stop = folder / "stop-reading"
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(HERE / "reader.py"), str(hostfile), str(self._stop)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> Any:
        """Stop reading and return what was seen."""
        self._stop.touch()
        out, _ = self._process.communicate(timeout=30)
        self._stop.unlink()
        return json.loads(out)


@pytest.fixture
def killable() -> Iterator[KillableServer]:
    """A running server with points."""
    server = KillableServer()
    server.start()
    try:
        yield server
    finally:
        server.close()
