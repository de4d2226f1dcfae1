"""The HTTP side of the fake API server."""

from __future__ import annotations

import contextlib
import email.utils
import http.server
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .faults import Fault, RefusedError, Request, expired, missing, status_object
from .store import Key

if TYPE_CHECKING:
    from .kube import FakeKube

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_REVIEWS = "selfsubjectaccessreviews"
_SELF = "selfsubjectreviews"
Json = dict[str, Any]


class Goodbye(Exception):
    """The end of this connection."""


class Target:
    """What a URL means."""

    def __init__(self, method: str, url: str, prefix: str) -> None:
        parts = urlsplit(url)
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query))
        words = [unquote(word) for word in parts.path.removeprefix(prefix).strip("/").split("/")]
        words = words[2:] if words[:1] == ["api"] else words[3:]
        self.namespace = ""
        if words[:1] == ["namespaces"] and len(words) > 2:
            self.namespace, words = words[1], words[2:]
        self.plural, self.name, self.part = [*words, "", "", ""][:3]
        self.resource = f"{self.plural}/{self.part}" if self.part else self.plural
        self.watch = self.query.get("watch") in ("true", "1")
        self.verb = _VERBS.get(method, "get" if self.name else "list")
        if self.watch:
            self.verb = "watch"
        if method == "DELETE" and not self.name:
            self.verb = "deletecollection"

    @property
    def key(self) -> Key:
        return Key(self.plural, self.namespace, self.name)


class Server(http.server.ThreadingHTTPServer):
    """Listens for one `FakeKube`; knows its connections, so that it can cut them."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, kube: FakeKube, port: int, context: ssl.SSLContext | None) -> None:
        self.kube = kube
        self.context = context
        self.connections: set[socket.socket] = set()
        self.cuts = 0
        self._hard: set[socket.socket] = set()
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection; a client that leaves in the middle is nothing to report."""
        with contextlib.suppress(OSError, Goodbye):
            if self.context is not None:
                request = self.context.wrap_socket(request, server_side=True)
            with self.lock:
                self.connections.add(request)
            self.finish_request(request, client_address)
        self.shutdown_request(request)
        with self.lock:
            self.connections.discard(request)
            self._hard.discard(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; one that is to end by RST must not say FIN before."""
        if request in self._hard:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def cut(self, *, reset: bool) -> None:
        """End all connections, by RST or by FIN."""
        self.cuts += 1
        with self.lock:
            for connection in self.connections:
                if reset:
                    self.harden(connection)
                with contextlib.suppress(OSError):
                    # Wakes the thread that reads from it; of the plain class, also with TLS.
                    socket.socket.shutdown(connection, socket.SHUT_RD)

    def harden(self, connection: socket.socket) -> None:
        """Let a connection end by RST."""
        self._hard.add(connection)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do(self) -> None:
        """Answer one request."""
        kube = self.server.kube
        # Before anybody can know of the request: what comes later is meant for it too.
        self._cuts = self.server.cuts
        self._generation = kube.watch_generation
        target = Target(self.command, self.path, kube.prefix)
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length) if length else b""
        body = json.loads(data) if data else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        kube.note(
            Request(
                kube.clock(),
                self.command,
                target.path,
                target.verb,
                target.resource,
                target.name,
                target.query,
                headers,
                body,
            )
        )
        fault = kube.faults.take(target.verb, target.resource, target.name)
        try:
            if fault is not None and self._misbehave(fault, target, body):
                return
            if target.verb == "watch":
                self._watch(target)
            elif target.resource == "pods/log":
                self._log(target)
            else:
                self._send(*self._result(target, body))
        except RefusedError as refusal:
            self._send(refusal.code, refusal.status)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

    def _going(self) -> bool:
        """Whether nobody has cut this connection since the request came."""
        if self.server.cuts != self._cuts:
            raise Goodbye
        return True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Return the server's own time."""
        stamp = time.time() if timestamp is None else timestamp
        return email.utils.formatdate(stamp + self.server.kube.store.skew, usegmt=True)

    def _result(self, target: Target, body: Any) -> tuple[int, Json]:
        kube, rules = self.server.kube, self.server.kube.rules
        authorization = self.headers.get("Authorization")
        if target.path == f"{kube.prefix}/version":
            kube.check_token(authorization)
            return 200, {"gitVersion": "v1.34.4"}
        if target.resource in (_REVIEWS, _SELF):
            kube.check_token(authorization)
            return 201, kube.review(body) if target.resource == _REVIEWS else kube.self_review(body)
        kube.check(target.verb, target.resource, authorization)
        if target.plural == "namespaces" and not target.namespace:
            phase = rules.namespaces.get(target.name)
            if phase in (None, "Gone"):
                raise missing("namespaces", target.name)
            return 200, {"metadata": {"name": target.name}, "status": {"phase": phase}}
        dry_run = target.query.get("dryRun") == "All"
        key = target.key
        if target.verb == "list":
            return 200, rules.list(target.plural, target.namespace, target.query)
        if target.verb == "create":
            return 201, rules.create(target.plural, target.namespace, body, dry_run=dry_run)
        if target.verb == "patch":
            content = self.headers.get("Content-Type", "")
            return 200, rules.patch(key, body, content, dry_run=dry_run)
        if target.verb == "update":
            return 200, rules.update(key, body, dry_run=dry_run)
        if target.verb == "delete":
            return 200, rules.delete(key, body or {})
        if target.verb == "deletecollection":
            selector = target.query.get("labelSelector", "")
            return 200, rules.delete_collection(
                target.plural, target.namespace, selector, body or {}
            )
        return 200, rules.get(key)

    # Faults

    def _misbehave(self, fault: Fault, target: Target, body: Any) -> bool:
        """Do what a fault says, and return whether that was all."""
        ends = time.monotonic() + fault.delay
        while self._going() and time.monotonic() < ends:
            time.sleep(min(0.02, max(0.0, ends - time.monotonic())))
        if fault.action == "pass":
            return False
        if fault.action == "answer":
            data, content = fault.content()
            self._send_bytes(fault.status, data, content, fault.headers)
            return True
        if fault.action == "silent":
            self._stay_silent()
        if fault.action == "lost":
            with contextlib.suppress(RefusedError):
                self._result(target, body)
        if fault.action in ("drop", "lost"):
            raise Goodbye
        self._begin_stream()
        if fault.action == "hush":
            self._stay_silent()
        for line in _stream_of(fault):
            self._chunk(line)
        if fault.action == "rst":
            self.server.harden(self.connection)
            raise Goodbye
        if fault.action in ("half", "garbage"):
            raise Goodbye
        self._end_stream()
        return True

    def _stay_silent(self) -> None:
        self.connection.settimeout(0.05)
        while self._going():
            with contextlib.suppress(TimeoutError):
                if not self.connection.recv(1):
                    raise Goodbye

    # Watches and logs

    def _watch(self, target: Target) -> None:
        kube, store = self.server.kube, self.server.kube.store
        kube.check("watch", target.resource, self.headers.get("Authorization"))
        version = int(target.query.get("resourceVersion") or store.version)
        with store.lock:
            if version < store.oldest:
                raise expired()
            if version > store.version:
                raise _too_large(version, store.version)
            serial = store.serial_of(version)
        self._begin_stream()
        ends = time.monotonic() + float(target.query.get("timeoutSeconds") or 300)
        for event in self._events(target, serial, ends):
            self._chunk(json.dumps(event, ensure_ascii=False).encode() + b"\n")
        self._end_stream()

    def _events(self, target: Target, serial: int, ends: float) -> Iterator[Json]:
        kube, store = self.server.kube, self.server.kube.store
        selector = target.query.get("labelSelector", "")
        marked = time.monotonic()
        while self._going() and kube.watch_generation == self._generation:
            with store.lock:
                changes = store.since(serial)
                if not changes:
                    store.lock.wait(0.05)
            for change in changes:
                serial = change.serial
                kind = change.as_seen(selector)
                if kind and change.key[:2] == target.key[:2]:
                    yield {"type": kind, "object": change.object}
            now = time.monotonic()
            if kube.bookmark_seconds is not None and now - marked >= kube.bookmark_seconds:
                marked = now
                yield _bookmark(target.plural, store.version)
            if now >= ends or kube.pop_expired(target.plural):
                if now < ends:
                    yield {"type": "ERROR", "object": expired().status}
                return

    def _log(self, target: Target) -> None:
        kube = self.server.kube
        kube.check("get", "pods/log", self.headers.get("Authorization"))
        if kube.store.find(Key("pods", target.namespace, target.name)) is None:
            raise missing("pods", target.name)
        previous = target.query.get("previous") == "true"
        data = kube.logs.get((target.name, previous), b"")
        lines = target.query.get("tailLines")
        if lines:
            data = b"".join(data.splitlines(keepends=True)[-int(lines) :])
        self._begin_stream("text/plain")
        sent = len(kube.logs.get((target.name, previous), b""))
        self._chunk(data)
        while target.query.get("follow") == "true" and self._going():
            held = kube.logs.get((target.name, previous), b"")
            self._chunk(held[sent:])
            sent = len(held)
            if kube.store.find(Key("pods", target.namespace, target.name)) is None:
                break
            time.sleep(0.02)
        self._end_stream()

    # Bytes

    def _send(self, status: int, body: Json) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self._send_bytes(status, data, "application/json", {})

    def _send_bytes(self, status: int, data: bytes, content: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _begin_stream(self, content: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", content)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _stream_of(fault: Fault) -> list[bytes]:
    if fault.action == "half":
        return [b'{"type":"MODIFIED","object":{"metadata":{"uid":"half","name":"h\xc3']
    if fault.action == "garbage":
        return [b"\xff\xfe<html>not an event</html>\n"]
    if fault.action == "error":
        status = status_object(fault.status, **(fault.body or {}))
        return [json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"]
    return fault.lines


def _bookmark(plural: str, version: int) -> Json:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"type": "BOOKMARK", "object": {"kind": plural, "metadata": metadata}}


def _too_large(version: int, current: int) -> RefusedError:
    message = f"Too large resource version: {version}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return RefusedError(504, "Timeout", message, {"retryAfterSeconds": 1, "causes": causes})
