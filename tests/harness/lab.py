"""A real Jupyter server in a process of its own, with folders of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import processes

TOKEN = "story-token"


class HttpError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LabServer:
    """One Jupyter server; may be killed and started again on the same folders.

    Parameters
    ----------
    options
        ``ElasticExtensionApp`` traits.
    python
        Interpreter that has the package installed.
    environment
        Variables added to the server's environment.
    prefix
        Words put before the command, e.g. to run as another user.
    """

    def __init__(
        self,
        *,
        options: Mapping[str, Any] | None = None,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        # Unix socket paths have a limit of 107 bytes, so the folder is short and not pytest's.
        self.folder = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
        self.runtime = self.folder / "r"
        self.work = self.folder / "work"
        self.home = self.folder / "home"
        for folder in (self.work, self.home):
            folder.mkdir()
        self.log = self.folder / "server.log"
        self.host, self.port = "127.0.0.1", free_port()
        self.base = "/"
        self.process: subprocess.Popen[bytes] | None = None
        self._python = python
        self._prefix = prefix
        traits = {"shared_folder": str(self.folder / "mpi"), **(options or {})}
        self._config = {
            "ElasticExtensionApp": traits,
            "ServerApp": {"jpserver_extensions": {"jupyter_elastic": True}},
        }
        self._extra = dict(environment or {})

    @property
    def environment(self) -> dict[str, str]:
        """The server's environment."""
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "JPY", "PYTEST"))
        }
        return {
            **kept,
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "JUPYTER_ELASTIC_RUNTIME_DIR": str(self.runtime),
            "JUPYTER_ELASTIC_STATE_DIR": str(self.folder / "s"),
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.home / "runtime"),
            **self._extra,
        }

    def command(self) -> list[str]:
        """Return the command line of the server."""
        config = self.folder / "config.json"
        config.write_text(json.dumps(self._config))
        return [
            *self._prefix,
            self._python,
            "-m",
            "jupyter_server",
            f"--config={config}",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1",
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={self.work}",
            "--ServerApp.open_browser=False",
            "--ServerApp.allow_root=True",
        ]

    def start(self) -> LabServer:
        """Start and wait until our routes answer."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd=self.work,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait(lambda: self._answers(), seconds=60, what="the server to answer")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"server ended with {self.process.returncode}:\n{self.log_text()}")
        try:
            self.get("clusters")
        except (urllib.error.URLError, HttpError, ConnectionError):
            return False
        return True

    def log_text(self) -> str:
        """Return the end of the server's log."""
        return self.log.read_text(errors="replace")[-8000:]

    def give_to(self, user: int) -> None:
        """Make a user, and the group of the same number, the owner of everything prepared so far."""
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def kill(self) -> None:
        """SIGKILL: no handler runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM: the clean way."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(timeout=20)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process = None

    def close(self) -> None:
        """End everything of this test and remove its folder."""
        try:
            if self.process is not None and self.process.poll() is None:
                for cluster in self.get("clusters")["clusters"]:
                    self.delete(f"clusters/{cluster['id']}?stop_runs=true")
                self.wait(lambda: not self.get("clusters")["clusters"], seconds=30, what="release")
        except (AssertionError, urllib.error.URLError, HttpError, ConnectionError):
            pass  # what is left is killed below
        finally:
            self.kill()
            processes.end_all(self.runtime)
            shutil.rmtree(self.folder, ignore_errors=True)

    def close_terminals(self) -> None:
        """Close every tab's terminal, as File > Close does; a shell it shows lives on."""
        for terminal in self.request("GET", "../api/terminals"):
            self.request("DELETE", f"../api/terminals/{terminal['name']}")

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Call one of our routes, or with ``../`` one of the server's own; return its JSON."""
        base = f"http://{self.host}:{self.port}{self.base}"
        url = base + (path[3:] if path.startswith("../") else f"jupyter-elastic/{path}")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
        call = urllib.request.Request(url, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(call, timeout=20) as answer:
                raw = answer.read()
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                parsed = json.loads(text)
            except ValueError:
                parsed = text
            raise HttpError(error.code, parsed) from None
        return json.loads(raw) if raw else None

    def get(self, path: str) -> Any:
        """GET one of our routes."""
        return self.request("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        """POST to one of our routes."""
        return self.request("POST", path, body if body is not None else {})

    def put(self, path: str, body: Any) -> Any:
        """PUT to one of our routes."""
        return self.request("PUT", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """PATCH one of our routes."""
        return self.request("PATCH", path, body)

    def delete(self, path: str) -> Any:
        """DELETE one of our routes."""
        return self.request("DELETE", path)

    def cluster(self, cluster_id: str) -> Any:
        """Return one cluster."""
        return self.get(f"clusters/{cluster_id}")

    def create(self, name: str = "tthvd", size: int = 2, **fields: Any) -> Any:
        """Create a cluster and wait until all of it is ready."""
        made = self.post("clusters", {"name": name, "framework": "horovod", "size": size, **fields})
        self.wait_ready(made["id"], size)
        return self.cluster(made["id"])

    def wait_ready(self, cluster_id: str, size: int, seconds: float = 20) -> None:
        """Wait until `size` containers are ready and the host file shows them and nobody else."""

        def settled() -> bool:
            cluster = self.cluster(cluster_id)
            path = Path(cluster["hostfile"]["hostfile"])
            lines = path.read_text().splitlines() if path.exists() else []
            return (
                cluster["ready"] == size
                and len(cluster["containers"]) == size
                and len(lines) == size
                and bool(cluster["hostfile"]["in_sync"])
            )

        self.wait(settled, seconds=seconds, what=f"{size} ready containers")

    def wait(self, check: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Wait for a condition, and fail with the server's log."""
        end = time.monotonic() + seconds
        while not check():
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s for {what}\n{self.log_text()}")
            time.sleep(0.1)
