"""Who may do what: every route and verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jupyter_server.auth.authorizer import Authorizer
from tornado.httpclient import HTTPClientError

import jupyter_elastic
from jupyter_elastic.routes.table import TABLE

SPECIFICATION = yaml.safe_load(
    (Path(jupyter_elastic.__file__).parent / "openapi.yaml").read_text("utf-8")
)
VERBS = ("get", "post", "put", "patch", "delete")
MATRIX = [
    (verb, path, operation["x-action"])
    for path, item in SPECIFICATION["paths"].items()
    for verb, operation in item.items()
    if verb in VERBS
]


class RecordingAuthorizer(Authorizer):
    """Remembers what was asked and refuses it."""

    asked: list[tuple[str, str]] = []

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        self.asked.append((action, resource))
        return False


@pytest.fixture
def recorder(jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch) -> RecordingAuthorizer:
    authorizer = RecordingAuthorizer(parent=jp_serverapp)
    authorizer.asked = []
    monkeypatch.setitem(jp_serverapp.web_app.settings, "authorizer", authorizer)
    return authorizer


def concrete(path: str) -> str:
    return path.strip("/").format(cluster="c1", run="r1", name="n1")


@pytest.mark.parametrize(("verb", "path", "action"), MATRIX)
async def test_anonymous_is_refused(app, http_server_client, jp_base_url, verb, path, action):
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(
            f"{jp_base_url}jupyter-elastic/{concrete(path)}",
            method=verb.upper(),
            body="{}" if verb in ("post", "put", "patch") else None,
            follow_redirects=False,
        )
    assert caught.value.code == 403
    assert caught.value.response is not None
    body = json.loads(caught.value.response.body)
    assert body["code"] == "forbidden"


@pytest.mark.parametrize(("verb", "path", "action"), MATRIX)
async def test_authorizer_is_asked(call, recorder, verb, path, action):
    answer = await call(verb.upper(), concrete(path))
    assert (answer.status, answer.body["code"]) == (403, "forbidden")
    assert recorder.asked == [(action, "elastic")]


def test_every_verb_is_described():
    described = {(path, verb) for verb, path, _ in MATRIX}
    served = {
        (f"/{path}", verb)
        for path, handler in TABLE
        for verb in VERBS
        if getattr(handler, verb) is not getattr(handler.__mro__[-3], verb, None)
        and verb in handler.__dict__
    }
    assert described == served
