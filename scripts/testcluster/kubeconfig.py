"""Writing kubeconfig files."""

from __future__ import annotations

import base64
import json
from pathlib import Path


def write(
    path: Path, server: str, authority: bytes, token: str, *, namespace: str = "default"
) -> None:
    """Write a kubeconfig with one context that authenticates by a token.

    Parameters
    ----------
    path : pathlib.Path
        The file; only its owner can read it.
    server : str
        URL of the API server.
    authority : bytes
        The certificate authority, PEM.
    token : str
        The bearer token.
    namespace : str
        Namespace of the context.
    """
    data = base64.b64encode(authority).decode()
    name = "jupyter-elastic-test"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": data}}
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}
        ],
        "current-context": name,
    }
    private = path.with_name(f".{path.name}.new")
    private.touch(mode=0o600)
    private.write_text(json.dumps(content, indent=1), encoding="utf-8")  # JSON is YAML too
    private.replace(path)
