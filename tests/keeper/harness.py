"""A keeper with its folder, and terminals on its shells, for tests that run real processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jupyter_elastic.keeper import build, client, files, frames, identity

FAKE = r"""#!/bin/sh
# Stands for horovodrun: says what it got, then does what its last word says.
echo "real $0 devices=${CUDA_VISIBLE_DEVICES-unset} args: $*"
for last; do :; done
case $last in
  sleep) exec sleep 60 ;;
  stubborn) trap '' TERM HUP INT; echo deaf; while :; do sleep 0.2; done ;;
  polite) trap 'exit 0' TERM; echo polite; while :; do sleep 0.2; done ;;
  rank) ssh 127.0.0.2 -o ConnectTimeout=10 'echo rank on $JUPYTER_ELASTIC_PLACE; exec sleep 60' ;;
  code*) exit "${last#code}" ;;
  count) i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo step $i; sleep 0.05; done ;;
  signal) kill -SEGV $$ ;;
esac
"""


def host(number: int, slots: int = 1, devices: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return place `number` as the channel carries it."""
    return {
        "uid": f"u{number}",
        "name": f"c-{number}",
        "host": f"127.0.0.{number}",
        "slots": slots,
        "devices": list(devices),
    }


def wait_for(found: Callable[[], Any], seconds: float = 10.0, what: str = "it") -> Any:
    """Wait until `found` returns something true, and return that."""
    end = time.monotonic() + seconds
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.03)


class Terminal:
    """A client of a shell's socket."""

    def __init__(self, path: Path, rows: int = 24, columns: int = 200) -> None:
        self._socket = client.connect(str(path))
        self._decoder = frames.Decoder()
        self.output = b""
        self.exit: dict[str, Any] | None = None
        self.resize(rows, columns)

    def resize(self, rows: int, columns: int) -> None:
        self._socket.sendall(frames.encode(frames.RESIZE, f"{rows} {columns}".encode()))

    def type(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        for at in range(0, len(data), 4096):
            self._socket.sendall(frames.encode(frames.DATA, data[at : at + 4096]))

    def read(self, seconds: float) -> None:
        """Take what comes for this long, or until the last frame."""
        end = time.monotonic() + seconds
        while self.exit is None and (left := end - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                return
            if not data:
                return
            for kind, payload in self._decoder.feed(data):
                if kind == frames.DATA:
                    self.output += payload
                elif kind == frames.EXIT:
                    self.exit = json.loads(payload)

    def expect(self, text: str, seconds: float = 10.0) -> str:
        """Wait for a text and return everything so far."""

        def there() -> bool:
            self.read(0.05)
            return text.encode() in self.output

        try:
            wait_for(there, seconds, f"{text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}; the terminal shows {self.output[-2000:]!r}") from None
        return self.output.decode(errors="replace")

    def wait_exit(self, seconds: float = 10.0) -> dict[str, Any]:
        """Wait for the last frame."""
        self.read(seconds)
        assert self.exit is not None, self.output[-2000:]
        return self.exit

    def close(self) -> None:
        self._socket.close()


class Kept:
    """One keeper and everything around it, in folders of its own."""

    def __init__(self, python: str = sys.executable, **config: Any) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="jek-", dir="/tmp"))
        self.folder = self.base / "c1"
        self.host_folder = self.base / "mpi"
        self.home = self.base / "home"
        self.home.mkdir()
        self.python_folder = self.base / "env" / "bin"
        self.python_folder.mkdir(parents=True)
        self.script("horovodrun", FAKE, self.python_folder)
        self._python = python
        self._clients: list[client.Client] = []
        self._terminals: list[Terminal] = []
        self.config = {
            "cluster": "c1",
            "name": "c1",
            "host_folder": str(self.host_folder),
            "programs": ["horovodrun"],
            "allow_env": [],
            "grace_seconds": 2,
            "state_file": str(self.base / "state.json"),
            "lock_file": str(self.base / "lock"),
            **config,
        }
        files.make_private(self.folder)
        (self.folder / "config.json").write_text(json.dumps(self.config))
        build.build(str(self.folder / "keeper.pyz"))
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "JUPYTER_ELASTIC_RUNTIME_DIR": str(self.base),
            "JUPYTERHUB_API_TOKEN": "hub-secret",
            "JUPYTER_TOKEN": "server-secret",
            "JPY_API_TOKEN": "old-secret",
            "AWS_SECRET_ACCESS_KEY": "cloud-secret",
        }

    def script(self, name: str, text: str, folder: Path) -> Path:
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def configure(self, **fields: object) -> None:
        """Change the configuration of the next start; None takes a field away."""
        path = self.config_file
        config = {**json.loads(path.read_text()), **fields}
        path.write_text(json.dumps({key: one for key, one in config.items() if one is not None}))

    @property
    def config_file(self) -> Path:
        return self.folder / "config.json"

    # -- the keeper ---------------------------------------------------------------------------

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run one command of the program."""
        return subprocess.run(
            [self._python, "-I", str(self.folder / "keeper.pyz"), *words],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=30,
            check=False,
            **options,
        )

    def start(self) -> Kept:
        done = self.run("serve", str(self.folder))
        assert done.returncode == 0, done.stderr + self.log()
        return self

    def log(self) -> str:
        path = self.folder / "keeper.log"
        return path.read_text() if path.exists() else ""

    @property
    def pid(self) -> int:
        return int(json.loads((self.folder / "keeper.json").read_text())["pid"])

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        pid = self.pid
        for one in self._clients:
            one.close()
        self._clients.clear()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: identity.start_time(pid) is None, what="the keeper's end")

    def client(self) -> client.Client:
        one = client.Client(str(self.folder))
        self._clients.append(one)
        return one

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Ask once over a connection of its own."""
        with client.Client(str(self.folder)) as one:
            return one.request(op, **fields)

    def status(self) -> dict[str, Any]:
        value: dict[str, Any] = self.ask("status")["status"]
        return value

    def hosts(self, generation: int, *numbers: int) -> int:
        """Hand over a list of places."""
        answer = self.ask("hosts", generation=generation, hosts=[host(one) for one in numbers])
        return int(answer["generation"])

    @property
    def hostfile(self) -> Path:
        return self.host_folder / "hostfile"

    # -- shells and runs ----------------------------------------------------------------------

    def open(self, program: str = "/bin/bash", **fields: Any) -> dict[str, Any]:
        shell: dict[str, Any] = self.ask("shell.open", **self.where(program=program, **fields))[
            "shell"
        ]
        return shell

    def where(self, **fields: Any) -> dict[str, Any]:
        """Return the fields of ``shell.open``."""
        return {
            "cwd": str(self.base),
            "env": {},
            "python_folder": str(self.python_folder),
            "rows": 24,
            "columns": 200,
            **fields,
        }

    def terminal(self, shell: dict[str, Any], **size: int) -> Terminal:
        one = Terminal(self.folder / "shells" / f"{shell['id']}.sock", **size)
        self._terminals.append(one)
        return one

    def start_run(self, last: str) -> dict[str, Any]:
        argv = ["horovodrun", "-np", "2", "--hostfile", str(self.hostfile), last]
        run: dict[str, Any] = self.ask("run.start", argv=argv, **self.where(program="/bin/bash"))[
            "run"
        ]
        return run

    def stubborn(self) -> dict[str, Any]:
        """Start a run that ignores every polite signal, and wait until it does."""
        run = self.start_run("stubborn")
        wait_for(lambda: "deaf" in self.ask("run.log", run=run["id"], max_bytes=1000)["output"])
        return run

    def polite(self) -> dict[str, Any]:
        """Start a run that ends well when it is asked to, and wait until it listens."""
        run = self.start_run("polite")
        wait_for(lambda: "polite\n" in self.log_lines(run["id"]))
        return run

    def log_lines(self, run: str) -> str:
        """Return the output of a run with plain line ends."""
        output: str = self.ask("run.log", run=run, max_bytes=1000)["output"]
        return output.replace("\r\n", "\n")

    def state(self, run: str) -> dict[str, Any]:
        return next(one for one in self.status()["runs"] if one["id"] == run)

    def wait_state(self, run: str, *states: str, seconds: float = 10.0) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            one = self.state(run)
            return one if one["state"] in states else None

        found: dict[str, Any] = wait_for(there, seconds, f"run {run} in {states}")
        return found

    # -- the end ------------------------------------------------------------------------------

    def processes(self) -> list[int]:
        """Return everything that was started for these folders."""
        mark = str(self.base).encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with contextlib.suppress(OSError):
                    told = Path(f"/proc/{name}/cmdline").read_bytes()
                    told += Path(f"/proc/{name}/environ").read_bytes()
                    if mark in told and identity.start_time(int(name)) is not None:
                        found.append(int(name))
        return found

    def close(self) -> None:
        for one in self._clients:
            one.close()
        for terminal in self._terminals:
            terminal.close()
        for _ in range(50):
            left = self.processes()
            if not left:
                break
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def tmpfs(path: Path, size: str) -> Iterator[None]:
    """Mount a small file system, for a disk that can be full or read-only."""
    path.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(path)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
