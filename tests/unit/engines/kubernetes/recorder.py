"""An HTTPS server that notes who asks, certificates for it, and a proxy before it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WHO = ("authorization", "impersonate-")


@dataclass
class Seen:
    """One request: headers that say who asks, the name in the client's certificate, the SNI."""

    headers: list[tuple[str, str]]
    subject: str | None
    sni: str | None


@dataclass
class Certificates:
    """Files of an authority, a server and a client."""

    folder: Path
    authority: Path = field(init=False)

    def __post_init__(self) -> None:
        self.authority = self.folder / "ca.crt"
        self._openssl(
            *("req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=ca"),
            *("-keyout", "ca.key", "-out", "ca.crt"),
        )

    def make(self, name: str, alternatives: str = "") -> None:
        """Make ``<name>.crt`` and ``<name>.key``."""
        extension = self.folder / f"{name}.ext"
        extension.write_text(f"subjectAltName={alternatives}\n" if alternatives else "")
        self._openssl(
            *("req", "-newkey", "ed25519", "-nodes", "-subj", f"/O=team/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.crt"),
        )

    def read(self, name: str) -> str:
        """Return one file."""
        return (self.folder / name).read_text()

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


class Recorder:
    """The server; `status` is what it answers."""

    def __init__(self, certificates: Certificates, server: str = "server") -> None:
        self.seen: list[Seen] = []
        self._sni: dict[int, str | None] = {}
        folder = certificates.folder
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / f"{server}.crt", folder / f"{server}.key")
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.load_verify_locations(folder / "ca.crt")
        self.context.sni_callback = self._note_name
        self._name: str | None = None

    def _note_name(self, _socket: Any, name: str | None, _context: Any) -> None:
        self._name = name

    def note(self, handler: BaseHTTPRequestHandler) -> None:
        """Keep what one request says."""
        who = [(k.lower(), v) for k, v in handler.headers.items() if k.lower().startswith(WHO)]
        certificate = handler.connection.getpeercert()
        names = dict(pair[0] for pair in certificate["subject"]) if certificate else {}
        self.seen.append(Seen(sorted(who), names.get("commonName"), self._name))


@contextmanager
def serving(recorder: Recorder) -> Iterator[str]:
    """Run it on a port of its own and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            recorder.note(self)
            body = json.dumps({"kind": "Thing"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_args: Any) -> None:
            pass  # a client that does not trust us hangs up

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = recorder.context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class Proxy:
    """A proxy that tunnels; it notes what it was asked for and with which password."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.refuse = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        """End it and its tunnels."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            one.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        lines = head.decode().split("\r\n")
        target = lines[0].split()[1]
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        self.asked.append((target, headers.get("proxy-authorization")))
        if self.refuse:
            client.sendall(b"HTTP/1.1 407 Who are you\r\n\r\n")
            client.close()
            return
        host, _, port = target.rpartition(":")
        server = socket.create_connection((host, int(port)))
        self._open.append(server)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=_copy, args=(server, client), daemon=True).start()
        _copy(client, server)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def by_kubectl(path: Path, environ: dict[str, str], context: str | None = None) -> bool:
    """Make one request by kubectl; False where there is none."""
    program = shutil.which("kubectl")
    if program is None:
        return False
    words = [program, "get", "--raw", "/x", *([f"--context={context}"] if context else [])]
    # Without a home it would keep its cache in the working folder.
    with tempfile.TemporaryDirectory(prefix="je-kubectl-") as home:
        environ = {"HOME": home, "PATH": os.environ["PATH"], "KUBECONFIG": str(path), **environ}
        done = subprocess.run(words, env=environ, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return True
