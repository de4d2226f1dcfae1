"""The description agrees with what is served."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import jupyter_elastic
from jupyter_elastic import models
from jupyter_elastic.routes import schemas

from .waiting import eventually

TEXT = (Path(jupyter_elastic.__file__).parent / "openapi.yaml").read_text("utf-8")
DOCUMENT: dict[str, Any] = yaml.safe_load(TEXT)
SCHEMAS = DOCUMENT["components"]["schemas"]


def check(name: str, value: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(value)


@pytest.mark.parametrize(
    "name", ["CREATE", "CONFIGURE", "TARGET", "PLAN", "TERMINAL", "OFFER", "EMPTY"]
)
def test_request_schemas_are_the_ones_that_are_checked(name):
    assert SCHEMAS[f"{name.capitalize()}Request"] == getattr(schemas, name)


def test_models_have_the_described_fields():
    for name, schema in SCHEMAS.items():
        model = getattr(models, name, None)
        if model is not None:
            names = [field.name for field in dataclasses.fields(model)]
            assert list(schema["properties"]) == names, name


async def test_real_answers(call, create, engine, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("")
    cluster = await create(script=str(script))
    cid = cluster["id"]
    check("Cluster", cluster)
    await eventually(call, cid, state="ready")
    engine.channels[cid].offer()
    check("Plan", (await call("PUT", f"clusters/{cid}/target", {"size": 3})).body)
    check("Plan", (await call("POST", f"clusters/{cid}/plan", {"size": 2})).body)
    check("Launch", (await call("GET", f"clusters/{cid}/launch")).body)
    terminal = await call("POST", f"clusters/{cid}/terminals")
    check("Terminal", terminal.body)
    run = await call("POST", f"clusters/{cid}/runs")
    check("Run", run.body)
    check("Runs", (await call("GET", f"clusters/{cid}/runs")).body)
    check("Output", (await call("GET", f"clusters/{cid}/runs/{run.body['id']}/log")).body)
    name = cluster["containers"][0]["name"]
    check("Output", (await call("GET", f"clusters/{cid}/containers/{name}/log")).body)
    check("Checks", (await call("POST", f"clusters/{cid}/preflight")).body)
    check("Samples", (await call("GET", f"clusters/{cid}/metrics")).body)
    check("Options", (await call("GET", "options")).body)
    check("State", (await call("GET", "clusters")).body)
    check("Cluster", (await call("PATCH", f"clusters/{cid}", {"min_size": 1})).body)
    check("Error", (await call("GET", "clusters/none")).body)
    check("Error", (await call("POST", f"clusters/{cid}/plan", {"size": 99})).body)
    offer = {"kind": "release", "choice": "keep", "run": "r1"}
    check("Cluster", (await call("POST", f"clusters/{cid}/offers", offer)).body)
    assert (await call("POST", "refresh")).status == 204
    answer = await call("GET", "openapi.yaml")
    assert answer.text == TEXT
    check("Nothing", (await call("DELETE", f"clusters/{cid}", params={"stop_runs": "true"})).body)
