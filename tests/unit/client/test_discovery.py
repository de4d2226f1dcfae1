"""Which server: by walking up, by the keeper, by name."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic import ancestry
from jupyter_elastic.discovery import NoServer, find_server

from .standin import StandIn, sleeper


def card(runtime: Path, name: str, pid: int, start: float | None = None) -> dict[str, Any]:
    entry = {
        "pid": pid,
        "start": ancestry.start_time(pid) if start is None else start,
        "socket": str(runtime / "servers" / f"{name}.sock"),
        "url": f"http://localhost:1/{name}/",
        "version": "1",
    }
    (runtime / "servers").mkdir(exist_ok=True)
    (runtime / "servers" / f"{name}.json").write_text(json.dumps(entry))
    return entry


@contextmanager
def keeper(folder: Path, servers: list[dict[str, Any]]) -> Iterator[None]:
    """A keeper whose launch shell is above this process."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            request = json.loads(self.rfile.readline())
            answer = {"id": request["id"], "ok": True, "servers": servers}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    (folder / "shells").mkdir(parents=True)
    pid = os.getppid()
    mark = {"pid": pid, "start": ancestry.start_time(pid)}
    (folder / "shells" / "a.json").write_text(json.dumps(mark))
    server = socketserver.ThreadingUnixStreamServer(str(folder / "keeper.sock"), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_one_above(runtime: Path) -> None:
    card(runtime, "above", os.getppid())
    with sleeper() as other:
        card(runtime, "other", other)
        assert find_server().url.endswith("/above/")


def test_nearest_wins(runtime: Path) -> None:
    chain = ancestry.ancestors()
    assert chain[0] == os.getppid()
    assert len(chain) > 1
    card(runtime, "far", chain[1])
    card(runtime, "near", chain[0])
    assert find_server().url.endswith("/near/")


def test_none_and_others_are_listed(runtime: Path) -> None:
    with pytest.raises(NoServer, match="None is running"):
        find_server()
    with sleeper() as one, sleeper() as two:
        card(runtime, "one", one)
        card(runtime, "two", two)
        with pytest.raises(NoServer) as caught:
            find_server()
        assert "/one/" in caught.value.message
        assert "/two/" in caught.value.message
        assert "--server" in caught.value.hint


def test_by_name(runtime: Path) -> None:
    with sleeper() as one, sleeper() as two:
        first = card(runtime, "one", one)
        card(runtime, "two", two)
        for which in (str(one), first["socket"], first["url"], first["url"].rstrip("/")):
            assert find_server(which).pid == one
        with pytest.raises(NoServer, match="'nonsense'"):
            find_server("nonsense")


def test_socket_path_without_a_card(standin: StandIn) -> None:
    standin.card.unlink()
    assert find_server(str(standin.socket)).socket == str(standin.socket)


def test_a_reused_pid_is_no_server(runtime: Path) -> None:
    card(runtime, "old", os.getppid(), start=12345.0)
    with pytest.raises(NoServer):
        find_server()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "1"}', '{"pid": true, "start": 1}'])
def test_a_broken_card_is_no_server(runtime: Path, text: str) -> None:
    (runtime / "servers").mkdir()
    (runtime / "servers" / "1.json").write_text(text)
    with pytest.raises(NoServer):
        find_server()


def test_the_keeper_above_names_its_server(runtime: Path) -> None:
    with sleeper() as pid, sleeper() as other:
        card(runtime, "other", other)
        entry = card(runtime, "attached", pid)
        with keeper(runtime / "c1", [entry]):
            assert find_server().pid == pid


def test_the_keeper_has_none_or_several(runtime: Path) -> None:
    with sleeper() as one, sleeper() as two:
        entries = [card(runtime, "one", one), card(runtime, "two", two)]
        with keeper(runtime / "c1", entries), pytest.raises(NoServer, match="2 Jupyter servers"):
            find_server()
        (runtime / "c1" / "shells" / "a.json").unlink()
        with keeper(runtime / "c2", []), pytest.raises(NoServer, match="no Jupyter server att"):
            find_server()


def test_start_and_parents_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    with_proc = ancestry.start_time(os.getpid())
    chain = ancestry.ancestors()
    monkeypatch.setattr(ancestry, "_has_proc", lambda: False)
    assert with_proc is not None
    assert ancestry.alive(os.getpid(), with_proc)
    assert ancestry.ancestors() == chain
    assert ancestry.start_time(2**22 + 1) is None
