"""Certificates, a server that notes who asks, and kubeconfig files that lead to it."""

from __future__ import annotations

import base64
import http.client
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from jupyter_elastic.engines.kubernetes.connection import connect
from jupyter_elastic.keeper.kube.access import Access

from .recorder import Certificates, Proxy, Recorder, Seen, by_kubectl, serving

SECRET = "s3cr3t-canary"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, two servers (one by another name), two clients."""
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    made.make("server", "IP:127.0.0.1,DNS:localhost")
    made.make("elsewhere", "DNS:api.internal")
    made.make("ann")
    made.make("bob")
    return made


@pytest.fixture
def recorder(certificates: Certificates) -> Recorder:
    """The server, not yet running."""
    return Recorder(certificates)


@pytest.fixture
def api(recorder: Recorder) -> Iterator[str]:
    """Address of the running server."""
    with serving(recorder) as address:
        yield address


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A running proxy."""
    made = Proxy()
    yield made
    made.close()


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, api: str, certificates: Certificates) -> Write:
    """Write a kubeconfig (JSON is YAML) for the server; what is given is added to its parts."""

    def make(
        user: dict[str, Any] | None = None,
        cluster: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        name: str = "config",
        label: str = "c",
        **top: Any,
    ) -> Path:
        authority = encoded(certificates.read("ca.crt"))
        base = {"server": api, "certificate-authority-data": authority}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": label,
            "contexts": [
                {"name": label, "context": {"cluster": label, "user": label, **(context or {})}}
            ],
            "clusters": [{"name": label, "cluster": _kept({**base, **(cluster or {})})}],
            "users": [{"name": label, "user": {"token": "tok-1"} if user is None else user}],
            **top,
        }
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_kept(content)))
        return path

    return make


def encoded(text: str) -> str:
    """Return text as a kubeconfig holds it."""
    return base64.b64encode(text.encode()).decode()


def _kept(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value is not None}


def ask(access: Access) -> int:
    """Make one request by an access, with the standard library only."""
    parts = urlsplit(access.server)
    host, port = str(parts.hostname), int(parts.port or 0)
    context = access.context()
    assert context is not None
    connection = http.client.HTTPSConnection(host, port, timeout=10, context=context)
    if access.proxy:
        before = urlsplit(access.proxy)
        connection = http.client.HTTPSConnection(
            str(before.hostname), before.port, timeout=10, context=context
        )
        connection.set_tunnel(host, port)
    if access.server_name:
        _connect_by_name(connection, access.server_name)
    try:
        connection.request("GET", "/x", headers=access.headers())
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _connect_by_name(connection: http.client.HTTPSConnection, name: str) -> None:
    context = connection._context  # type: ignore[attr-defined]
    http.client.HTTPConnection.connect(connection)
    connection.sock = context.wrap_socket(connection.sock, server_hostname=name)


def environ(path: Path | str, **more: str) -> dict[str, str]:
    """What this process would have; nothing of the machine's own kubeconfig."""
    return {"PATH": os.environ["PATH"], "KUBECONFIG": str(path), **more}


def both(recorder: Recorder, path: Path | str, **options: Any) -> Seen:
    """Ask by our access and by kubectl: the same has to arrive."""
    variables = environ(path, **options.pop("variables", {}))
    assert ask(connect(environ=variables, **options)) == 200
    ours = recorder.seen[-1]
    if by_kubectl(Path(path), variables, options.get("context")):
        # Some kubectl also ask for the version of the server.
        assert recorder.seen[1:] == [ours] * (len(recorder.seen) - 1) != []
    return ours
