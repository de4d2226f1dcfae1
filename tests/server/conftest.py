"""A Jupyter server in this process, with the scripted engine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tornado.httpclient import HTTPResponse

from ..scripted_engine import ScriptedEngine

Call = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def short_folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders of our own with short names: Unix socket paths have a limit."""
    folder = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    (folder / "r").mkdir(mode=0o700)
    monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", str(folder / "r"))
    monkeypatch.setenv("JUPYTER_ELASTIC_STATE_DIR", str(folder / "s"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """The engine of the server under test."""
    engine = ScriptedEngine()
    monkeypatch.setattr("jupyter_elastic.app.make_engines", lambda config: {"scripted": engine})
    return engine


@pytest.fixture
def elastic_config() -> dict[str, Any]:
    """Traits of the extension; a test module may override it."""
    return {}


@pytest.fixture
def jp_server_config(elastic_config: dict[str, Any], short_folders: Path) -> dict[str, Any]:
    traits = {
        "engines": ["fake"],
        "default_engine": "fake",
        "shared_folder": str(short_folders / "mpi"),
        **elastic_config,
    }
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyter_elastic": True, "jupyter_server_terminals": True},
            "allow_unauthenticated_access": False,
        },
        "ElasticExtensionApp": traits,
    }


# pytest-asyncio's automatic mode starts pytest-jupyter's own synchronous fixtures outside of the test's loop.
@pytest_asyncio.fixture
async def http_server(http_server_port: Any, jp_web_app: Any) -> AsyncIterator[Any]:
    from tornado.httpserver import HTTPServer

    server = HTTPServer(jp_web_app)
    server.add_socket(http_server_port[0])
    yield server
    server.stop()
    await server.close_all_connections()
    http_server_port[0].close()


@pytest_asyncio.fixture
async def http_server_client(http_server: Any) -> AsyncIterator[Any]:
    from pytest_jupyter.pytest_tornasync import AsyncHTTPServerClient

    client = AsyncHTTPServerClient(http_server=http_server)
    yield client
    client.close()


class Answer:
    """Status, decoded body and headers of an answer, errors included."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status = response.code
        self.headers = response.headers
        self.text = response.body.decode() if response.body else ""
        self.body: Any = json.loads(self.text) if self.text.startswith(("{", "[")) else None


@pytest_asyncio.fixture
async def app(engine: ScriptedEngine, jp_serverapp: Any) -> AsyncIterator[Any]:
    """The extension of a started server."""
    extension = next(iter(jp_serverapp.extension_manager.extension_apps["jupyter_elastic"]))
    await extension._start_jupyter_server_extension(jp_serverapp)
    yield extension
    await extension.stop_extension()


@pytest.fixture
def call(app: Any, jp_fetch: Any) -> Call:
    """Call one of our routes: ``await call("PUT", "clusters/c1/target", {"size": 3})``."""

    async def fetch(
        method: str, path: str, body: Any = None, raw: bytes | None = None, **options: Any
    ) -> Answer:
        data: Any = raw
        if raw is None and body is not None:
            data = json.dumps(body)
        if data is None and method in ("POST", "PUT", "PATCH"):
            data = ""
        response = await jp_fetch(
            "jupyter-elastic",
            *path.split("/"),
            method=method,
            body=data,
            allow_nonstandard_methods=True,
            raise_error=False,
            **options,
        )
        return Answer(response)

    return fetch


@pytest.fixture
def create(call: Call) -> Call:
    """Create a cluster and return its wire form."""

    async def create(**fields: Any) -> dict[str, Any]:
        body = {"name": "tthvd", "framework": "horovod", "size": 2, "engine": "scripted", **fields}
        answer = await call("POST", "clusters", body)
        assert answer.status == 201, answer.text
        return dict(answer.body)

    return create
