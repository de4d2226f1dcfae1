"""The machine-local socket: same routes, no token, only for this user."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic import local_socket
from jupyter_elastic.errors import ElasticError


def ask(path: str, verb: str, route: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("localhost", timeout=5)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(path)
    try:
        connection.request(
            verb, f"/jupyter-elastic/{route}", None if body is None else json.dumps(body)
        )
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else None
    finally:
        connection.close()


async def test_whole_way(app, create, short_folders):
    card = json.loads((short_folders / "r" / "servers" / f"{os.getpid()}.json").read_text())
    assert card["pid"] == os.getpid()
    assert card["socket"] == str(app.local_socket.path)
    assert stat.S_IMODE(os.stat(card["socket"]).st_mode) == 0o600
    cid = (await create())["id"]
    status, state = await asyncio.to_thread(ask, card["socket"], "GET", "clusters")
    assert (status, state["clusters"][0]["id"]) == (200, cid)
    status, plan = await asyncio.to_thread(
        ask, card["socket"], "PUT", f"clusters/{cid}/target", {"size": 3}
    )
    assert (status, plan["target"]) == (202, 3)
    status, error = await asyncio.to_thread(ask, card["socket"], "GET", "clusters/none")
    assert (status, error["code"]) == (404, "not_found")
    await app.stop_extension()
    assert list((short_folders / "r" / "servers").iterdir()) == []


async def test_only_our_routes(app):
    for route in ("../api/contents", "nothing"):
        status, error = await asyncio.to_thread(ask, str(app.local_socket.path), "GET", route)
        assert (status, error["code"]) == (404, "no_route")


async def test_another_uid_is_refused(app, monkeypatch):
    monkeypatch.setattr(local_socket, "peer_uid", lambda connection: os.getuid() + 1)
    status, error = await asyncio.to_thread(ask, str(app.local_socket.path), "GET", "clusters")
    assert (status, error["code"]) == (403, "forbidden")


def test_dead_servers_are_swept(tmp_path):
    for pid, start in ((999_999_9, 1.0), (os.getpid(), 1.0), (os.getpid(), None)):
        true_start = start if start is not None else local_socket.process_start(pid)
        name = f"{pid}-{start}"
        (tmp_path / f"{name}.json").write_text(json.dumps({"pid": pid, "start": true_start}))
        (tmp_path / f"{name}.sock").write_text("")
    (tmp_path / "broken.json").write_text("{")
    local_socket.sweep(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f"{os.getpid()}-None.json", f"{os.getpid()}-None.sock", "broken.json"]


@pytest.mark.parametrize("wrong", ["open", "link"])
def test_a_folder_that_is_not_private_is_refused(tmp_path: Path, monkeypatch, wrong):
    folder = tmp_path / "r"
    if wrong == "open":
        folder.mkdir()
        folder.chmod(0o755)
    else:
        (tmp_path / "real").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "real")
    monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", str(folder))
    with pytest.raises(ElasticError):
        local_socket.runtime_folder()
