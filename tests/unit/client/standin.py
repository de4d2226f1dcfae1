"""A tiny server on a Unix socket that answers like ours, so that callers are tested alone."""

from __future__ import annotations

import json
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jupyter_elastic.ancestry import start_time
from jupyter_elastic.models import (
    Cluster,
    Container,
    EngineStatus,
    Gpu,
    Health,
    HostFile,
    Launch,
    Limit,
    Plan,
    Reason,
    Revision,
    Run,
    Settings,
    State,
    to_json,
)

LIMIT = 8


def make_cluster(name: str = "tthvd", size: int = 2, folder: str = "/nowhere") -> Cluster:
    """A ready cluster."""
    return Cluster(
        id=f"{name.replace(' ', '-')}-abc123",
        name=name,
        owner="me",
        engine="local",
        framework="horovod",
        framework_title="Horovod",
        launcher_mode="here",
        state="ready",
        created=1.0,
        target=size,
        ready=size,
        np=size,
        slots=1,
        gpus_per_container=1,
        gpu_kind=None,
        containers=containers(name, size),
        hostfile=HostFile(folder, f"{folder}/hostfile", f"{folder}/discover_hosts.sh", 1, 1, True),
        settings=Settings(),
        limit=Limit(LIMIT, "8 CPU places on this machine"),
        growth="live",
        shrink="live",
    )


def containers(name: str, size: int, ready: int | None = None) -> tuple[Container, ...]:
    """The first `ready` of `size` containers are ready."""
    ready = size if ready is None else ready
    return tuple(
        Container(
            uid=f"u{n}",
            name=f"{name}-{n}",
            role="launcher" if n == 0 else "worker",
            state="ready" if n < ready else "pending",
            since=1.0,
            host=f"127.0.0.{n + 1}",
            gpus=(Gpu(n, "P4"),),
            reason=None if n < ready else Reason("pulling", "pulling image <b>"),
        )
        for n in range(size)
    )


@contextmanager
def sleeper() -> Iterator[int]:
    """A process that only lives."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


class StandIn:
    """Answers the routes from a dict of clusters; growth takes `delay` seconds, None: for ever."""

    def __init__(self, runtime: Path, *, pid: int, name: str = "standin", url: str = "") -> None:
        self.clusters: dict[str, Cluster] = {}
        self.delay: float | None = 0.0
        self.requests: list[tuple[str, str, Any]] = []
        self.full_states = 0
        self.name = name
        self.n = 1
        self.lock = threading.RLock()
        self._grown: dict[str, float] = {}
        folder = runtime / "servers"
        runtime.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.socket = folder / f"{name}.sock"
        self.url = url or f"http://127.0.0.1:8888/{name}/"
        self.pid = pid
        self.card = folder / f"{name}.json"
        entry = {
            "pid": pid,
            "start": start_time(pid),
            "socket": str(self.socket),
            "url": self.url,
            "version": "1",
        }
        self.card.write_text(json.dumps(entry))
        self._server = _Server(str(self.socket), _Handler)
        self._server.standin = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.socket.unlink(missing_ok=True)
        self.card.unlink(missing_ok=True)

    def add(self, cluster: Cluster) -> Cluster:
        with self.lock:
            self.clusters[cluster.id] = cluster
            self.n += 1
        return cluster

    def remove(self, key: str) -> None:
        with self.lock:
            del self.clusters[key]
            self.n += 1

    def state(self) -> State:
        with self.lock:
            for key, since in list(self._grown.items()):
                if self.delay is not None and time.monotonic() >= since + self.delay:
                    del self._grown[key]
                    found = self.clusters[key]
                    grown = containers(found.name, found.target)
                    np = found.target * found.slots
                    self.add(
                        replace(found, ready=found.target, np=np, containers=grown, state="ready")
                    )
            engine = EngineStatus("local", "This machine", Health("live", 1.0))
            return State(
                Revision(self.name, self.n), "9.9", (engine,), tuple(self.clusters.values())
            )

    def scale(self, key: str, size: int) -> None:
        with self.lock:
            found = self.clusters[key]
            waiting = containers(found.name, size, min(found.ready, size))
            self._grown[key] = time.monotonic()
            ready = min(found.ready, size)
            self.add(replace(found, target=size, containers=waiting, ready=ready, state="scaling"))

    def start_run(self, key: str) -> Run:
        run = Run("r1", "running", "horovodrun", "horovodrun -np 2", (), "/", 1.0)
        self.add(replace(self.clusters[key], runs=(run,)))
        return run


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    standin: StandIn


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        route = self.path.removeprefix("/jupyter-elastic/")
        standin = self.server.standin
        with standin.lock:
            standin.requests.append((method, route, body))
            status, answer, etag = self._answer(method, route, body)
        data = b"" if status == 304 else json.dumps(to_json(answer)).encode()
        self.send_response(status)
        if etag:
            self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data:
            self.wfile.write(data)

    def _answer(self, method: str, route: str, body: Any) -> tuple[int, Any, str]:
        standin = self.server.standin
        parts = urlsplit(route)
        words = parts.path.split("/")
        if route == "clusters" and method == "GET":
            state = standin.state()
            etag = f'"{state.revision}"'
            if self.headers.get("If-None-Match") == etag:
                return 304, None, etag
            standin.full_states += 1
            return 200, state, etag
        if route == "clusters":
            if body.get("dry_run"):
                return 200, _plan("new", 0, body["size"]), ""
            made = make_cluster(body["name"], body["size"])
            standin.add(replace(made, ready=0, containers=containers(made.name, made.target, 0)))
            standin.scale(made.id, made.target)
            return 201, standin.clusters[made.id], ""
        if route == "options":
            return 200, OPTIONS, ""
        found = standin.clusters.get(words[1])
        if found is None:
            return 404, _error("not_found", "No such cluster."), ""
        if method == "DELETE":
            live = [run.id for run in found.runs]
            if live and parse_qs(parts.query)["stop_runs"] != ["true"]:
                return 409, _error("live_run", "A run lives.", "Stop it with --stop-runs."), ""
            standin.remove(found.id)
            return 202, {}, ""
        if words[2] == "launch":
            text = f"horovodrun -np {found.np} python train.py"
            argv = tuple(text.split())
            rev = Revision("e", 1)
            return 200, Launch(found.id, rev, "horovodrun", argv, text, "/work", True), ""
        size = body["size"]
        if size > LIMIT:
            return 422, _error("limit", f"size {size} is over {LIMIT}.", "Ask your admin."), ""
        if words[2] == "target":
            standin.scale(found.id, size)
        return 202, _plan(found.id, found.target, size), ""


def _plan(cluster: str, now: int, size: int) -> Plan:
    add = max(0, size - now)
    return Plan(cluster, now, size, add, (), add, 0, add, "live", False, f"+{add} <now>.", ("w",))


def _error(code: str, message: str, hint: str = "") -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "detail": {"field": "size"}}


OPTIONS: dict[str, Any] = {
    "version": "9.9",
    "engines": [],
    "default_engine": "local",
    "frameworks": [],
    "kernels": [{"name": "python3", "title": "Python 3", "python": sys.executable}],
    "default_kernel": None,
    "passable_env": [],
    "terminals": True,
}
