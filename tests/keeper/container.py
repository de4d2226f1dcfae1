"""A keeper as the main process of a container: process 1 of a pid namespace of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from .harness import Kept, wait_for

UNSHARE = ("unshare", "--fork", "--pid", "--mount-proc", "--kill-child")


@functools.lru_cache
def missing() -> str:
    """Say why no pid namespace can be made here; empty when one can."""
    if shutil.which("unshare") is None:
        return "no unshare here"
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no pid namespace here: {done.stderr.strip()}"


class Contained(Kept):
    """What a container has: a read-only folder with program and configuration, a volume, a keeper."""

    def __init__(self, *before: str, **config: Any) -> None:
        super().__init__(**config)
        self.given = self.base / "opt"
        self.given.mkdir()
        for name in ("keeper.pyz", "config.json"):
            (self.folder / name).rename(self.given / name)
            (self.given / name).chmod(0o644)
        self.folder.rmdir()
        self.volume = self.base / "run"
        self.volume.mkdir()
        self.volume.chmod(0o2777)  # as a volume with the pod's group: root's, passed on, open
        self.folder = self.volume / "keeper"
        self.container: subprocess.Popen[bytes] | None = None
        self._before = before

    @property
    def config_file(self) -> Path:
        return self.given / "config.json"

    def boot(self) -> Contained:
        """Start the container, and wait until its keeper answers."""
        log = (self.base / "container.log").open("ab")
        words = [*self._before, self._python, "-I", str(self.given / "keeper.pyz")]
        words += ["serve", "--foreground", str(self.folder)]
        with log:
            self.container = subprocess.Popen(
                [*UNSHARE, *words], env=self.environment, stdout=log, stderr=log
            )

        def answers() -> bool:
            assert self.container is not None
            assert self.container.poll() is None, self.said()
            with contextlib.suppress(OSError):
                return bool(self.status())
            return False

        wait_for(answers, what="the container's keeper")
        return self

    def said(self) -> str:
        return (self.base / "container.log").read_text()

    @property
    def init(self) -> int:
        """Pid of process 1, as it is seen from here."""
        assert self.container is not None
        path = Path(f"/proc/{self.container.pid}/task/{self.container.pid}/children")
        return int(path.read_text().split()[0])

    def signal(self, number: int) -> None:
        os.kill(self.init, number)

    def wait(self, seconds: float = 20.0) -> int:
        """Wait for the container's end; its exit code."""
        assert self.container is not None
        return self.container.wait(seconds)

    def crash(self) -> None:
        """End the container as the kernel would, for memory."""
        for one in self._clients:
            one.close()
        self._clients.clear()
        self.signal(signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        if self.container is not None and self.container.poll() is None:
            self.container.kill()
        super().close()
        if self.container is not None:
            self.container.wait(10)
