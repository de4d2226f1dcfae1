"""``GET doctor`` looks at the Kubernetes that the administrator's traits name, off the loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes.kube import FakeKube


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube("of-the-admin") as server:
        yield server


@pytest.fixture
def elastic_config(kube: FakeKube, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "kubeconfig"
    user = {"name": "u", "user": {"token": "t"}}
    contexts = [
        {"name": "a", "context": {"cluster": "a", "user": "u"}},
        {"name": "b", "context": {"cluster": "b", "user": "u"}},
    ]
    clusters = [
        {"name": "a", "cluster": {"server": "http://127.0.0.1:9"}},
        {"name": "b", "cluster": {"server": kube.url}},
    ]
    content = {"contexts": contexts, "clusters": clusters, "users": [user], "current-context": "a"}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **content}))
    return {
        "engines": ["kubernetes", "fake"],
        "kubernetes_kubeconfig": str(path),
        "kubernetes_context": "b",
        "kubernetes_namespace": "of-the-admin",
        "kubernetes_gpus": [{"resource": "example.com/npu"}],
    }


async def test_the_traits_say_where(call: Any, kube: FakeKube) -> None:
    answer = await call("GET", "doctor")
    assert answer.status == 200
    found = {item["name"]: item for item in answer.body["checks"]}
    assert found["Kubernetes"]["ok"] is True
    assert "namespace of-the-admin, by context b" in found["Kubernetes"]["text"]
    assert "example.com/npu" in found["GPUs of Kubernetes"]["text"]
    assert "loopback addresses" in found


async def test_the_server_answers_others_meanwhile(call: Any, kube: FakeKube) -> None:
    fault = kube.fail(action="answer", status=500, resource="limitranges", delay=1.0)
    looking = asyncio.ensure_future(call("GET", "doctor"))
    while not kube.asked("list", "limitranges"):
        await asyncio.sleep(0.01)
    assert (await call("GET", "clusters")).status == 200
    assert not looking.done()
    assert (await looking).status == 200
    assert fault is not None
