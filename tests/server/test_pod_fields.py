"""CPU, memory, environment and placement of a creation, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from .waiting import gone

NEW = {"name": "pods", "framework": "horovod", "size": 2}
GIVEN: dict[str, Any] = {
    "cpu": 0.5,
    "memory": 2**34,
    "env": {"LEVEL": "hidden-value"},
    "secret_env": [{"name": "TOKEN", "secret": "hub", "key": "token"}],
    "node_selector": {"disk": "fast"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "storage": [{"claim": "data", "path": "/data", "read_only": True}, "work"],
}


@pytest.fixture(params=[True, False])
def offered(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def engine() -> None:
    """No scripted engine here."""


@pytest.fixture
def elastic_config(offered: bool) -> dict[str, Any]:
    scenario: dict[str, Any] = {"phases": [], "storage": ["data", "work"], "pod_fields": offered}
    return {"engines": ["fake"], "default_engine": "fake", "fake_scenario": scenario}


@pytest.mark.parametrize("offered", [True], indirect=True)
async def test_all_of_them(app, call, caplog):
    caplog.set_level("DEBUG")
    options = (await call("GET", "options")).body
    assert options["engines"][0]["pod_fields"] is True
    answer = await call("POST", "clusters", {**NEW, **GIVEN})
    assert answer.status == 201, answer.text
    cid = answer.body["id"]
    for path in ("clusters", f"clusters/{cid}"):
        assert "hidden-value" not in (await call("GET", path)).text
    assert "hidden-value" not in answer.text + caplog.text
    await call("DELETE", f"clusters/{cid}")
    await gone(call, cid)


@pytest.mark.parametrize("field", [name for name in GIVEN if name != "storage"])
async def test_engine_without_pods_refuses(app, call, offered, field):
    answer = await call("POST", "clusters", {**NEW, field: GIVEN[field], "dry_run": True})
    if offered:
        assert answer.status == 200, answer.text
        return
    assert answer.status == 400
    assert answer.body["detail"]["field"] == field
    assert field.replace("_", " ") in answer.body["message"]
    assert answer.body["hint"]


@pytest.mark.parametrize("offered", [True], indirect=True)
@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("cpu", 0, "cpu"),
        ("cpu", "4", "cpu"),
        ("memory", 0, "memory"),
        ("memory", True, "memory"),
        ("env", {"A": 1}, "env.A"),
        ("env", ["A=1"], "env"),
        ("secret_env", [{"name": "A"}], "secret_env.0.secret"),
        ("node_selector", {"a": None}, "node_selector.a"),
        ("tolerations", [{"operator": "Maybe"}], "tolerations.0.operator"),
        ("tolerations", [{"other": 1}], "tolerations.0.other"),
        ("storage", [{"claim": "a"}], "storage.0.path"),
        ("storage", [3], "storage.0"),
    ],
)
async def test_bad_values(app, call, field, value, path):
    answer = await call("POST", "clusters", {**NEW, field: value})
    assert answer.status == 400, answer.text
    assert answer.body["detail"]["field"] == path
    assert "traceback" not in answer.text.lower()
    assert (await call("GET", "clusters")).body["clusters"] == []
