"""Which Jupyter server this process belongs to: the one above it, or the one its keeper names.

No token and no address in the environment: ranks and terminals inherit those. Instead a caller
walks up its parent processes. A kernel and a terminal's shell have the server above them; a launch
shell has its keeper's shell process, and the keeper knows the servers that are attached to it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ancestry import alive, ancestors
from .errors import Unreachable
from .keeper.paths import runtime_dir

_PATIENCE = 2.0  # seconds for the keeper's answer
_MAX_LINE = 1 << 20
_NOT_CLUSTERS = ("servers",)


@dataclass(frozen=True)
class Server:
    """A Jupyter server that has the extension."""

    pid: int
    socket: str
    url: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.url or self.socket} (process {self.pid})"


class NoServer(Unreachable):
    """No Jupyter server was found, or several were; the message lists them."""

    code = "no_server"


def find_server(which: str | None = None) -> Server:
    """Find the server of this process.

    Parameters
    ----------
    which
        Socket path, process id or URL of a server; None: look upwards.

    Raises
    ------
    NoServer
        None or several fit; the message lists what was found.
    """
    runtime = Path(runtime_dir())
    servers = list(living_servers(runtime))
    if which is not None:
        return _named(which, servers)
    chain = ancestors()
    for pid in chain:
        for server in servers:
            if server.pid == pid:
                return server
    attached = _attached(runtime, chain)
    if attached is None:
        raise _none(servers)
    if len(attached) == 1:
        return attached[0]
    if attached:
        raise NoServer(
            f"{len(attached)} Jupyter servers are attached here: {_list(attached)}.",
            hint="Say which with --server.",
        )
    raise _none(servers, "This launch shell's cluster has no Jupyter server attached now.")


def living_servers(runtime: Path) -> Iterator[Server]:
    """Yield the servers of this user and machine that are alive."""
    for file in sorted((runtime / "servers").glob("*.json")):
        entry = read_json(file)
        if _is_alive(entry):
            yield _server(entry)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file, empty when it is not there or no object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_alive(entry: dict[str, Any]) -> bool:
    return alive(entry.get("pid"), entry.get("start"))


def _server(entry: dict[str, Any]) -> Server:
    return Server(
        pid=int(entry["pid"]),
        socket=str(entry.get("socket", "")),
        url=str(entry.get("url", "")),
        version=str(entry.get("version", "")),
    )


def _named(which: str, servers: list[Server]) -> Server:
    plain = which.rstrip("/")
    for server in servers:
        if which in (str(server.pid), server.socket) or plain == server.url.rstrip("/"):
            return server
    if os.path.isabs(which) and _is_socket(which):
        return Server(pid=0, socket=which, url="")
    raise _none(servers, f"No living Jupyter server with this extension is {which[:200]!r}.")


def _is_socket(path: str) -> bool:
    try:
        return Path(path).is_socket()
    except OSError:
        return False


def _none(servers: list[Server], message: str = "") -> NoServer:
    message = message or "No Jupyter server with jupyter_elastic is above this process."
    if servers:
        return NoServer(
            f"{message} Running: {_list(servers)}.",
            hint="Say which with --server PID, URL or socket path.",
        )
    return NoServer(
        f"{message} None is running for this user on this machine.",
        hint="Start JupyterLab with the extension, or see: jupyter elastic doctor",
    )


def _list(servers: list[Server]) -> str:
    return ", ".join(str(server) for server in servers)


def _attached(runtime: Path, chain: list[int]) -> list[Server] | None:
    """Ask the keeper above us for its servers; None when no keeper is above us."""
    above = set(chain)
    for folder in sorted(runtime.glob("*")):
        if folder.name in _NOT_CLUSTERS or not folder.is_dir():
            continue
        marks = [folder / "keeper.json", *folder.glob("shells/*.json")]
        if any(_is_above(read_json(mark), above) for mark in marks):
            entries = _ask_keeper(folder / "keeper.sock")
            return [_server(entry) for entry in entries if _is_alive(entry)]
    return None


def _is_above(entry: dict[str, Any], above: set[int]) -> bool:
    return entry.get("pid") in above and _is_alive(entry)


def _ask_keeper(path: Path) -> list[dict[str, Any]]:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.settimeout(_PATIENCE)
            channel.connect(str(path))
            channel.sendall(b'{"id": 1, "op": "servers"}\n')
            with channel.makefile("rb") as lines:
                answer = json.loads(lines.readline(_MAX_LINE))
    except (OSError, ValueError):
        return []
    servers = answer.get("servers") if isinstance(answer, dict) else None
    return [item for item in servers or [] if isinstance(item, dict)]
