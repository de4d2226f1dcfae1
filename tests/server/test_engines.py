"""The real engines over HTTP: create, launch text, scale, host file in time, release."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from jupyter_elastic.engine_choice import make_engines
from jupyter_elastic.manager import ElasticService

from .waiting import eventually, gone

FILE_SECONDS = 0.3


@pytest.fixture(params=["fake", "local"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine() -> None:
    """No scripted engine here."""


@pytest.fixture
def elastic_config(kind: str) -> dict[str, Any]:
    return {"engines": [kind], "default_engine": kind}


@pytest_asyncio.fixture
async def tthvd(app: Any, call: Any, tmp_path: Path) -> AsyncIterator[dict[str, Any]]:
    """A cluster of two containers, given back at the end."""
    script = tmp_path / "tensorflow2_mnist.py"
    script.write_text("print('x')\n")
    body = {"name": "tthvd", "framework": "horovod", "size": 2, "script": str(script)}
    answer = await call("POST", "clusters", body)
    assert answer.status == 201, answer.text
    cid = answer.body["id"]
    try:
        yield await eventually(call, cid, state="ready")
    finally:
        await call("DELETE", f"clusters/{cid}", params={"stop_runs": "true"})
        await gone(call, cid)


def lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


async def file_has(path: str, count: int) -> float:
    """Wait until the host file has `count` lines; return the seconds that took."""
    begin = time.monotonic()
    while len(lines(path)) != count:
        assert time.monotonic() - begin < 10, lines(path)
        await asyncio.sleep(0.005)
    return time.monotonic() - begin


async def test_story(call, tthvd, kind):
    cid, hostfile = tthvd["id"], tthvd["hostfile"]["hostfile"]
    assert [item["role"] for item in tthvd["containers"]] == ["launcher", "worker"]
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    text = f"horovodrun -np 2 --hostfile {hostfile} python tensorflow2_mnist.py"
    assert launch["text"] == text
    first = lines(hostfile)
    for size in (4, 2, 3):
        answer = await call("PUT", f"clusters/{cid}/target", {"size": size})
        assert answer.status == 202, answer.text
        assert await file_has(hostfile, size) < FILE_SECONDS
        await eventually(call, cid, state="ready", np=size, ready=size)
        assert lines(hostfile)[:2] == first
        await asyncio.sleep(0.2)
    if kind == "local":
        assert first == ["127.0.0.1 slots=1", "127.0.0.2 slots=1"]


async def test_target_is_answered_quickly(call, tthvd):
    took = []
    for number in range(60):
        begin = time.monotonic()
        answer = await call("PUT", f"clusters/{tthvd['id']}/target", {"size": 2 + number % 3})
        took.append(time.monotonic() - begin)
        assert answer.status == 202, answer.text
    assert sorted(took)[int(len(took) * 0.95)] < 0.1, sorted(took)
    await eventually(call, tthvd["id"], target=4, state="ready")


@pytest.mark.parametrize("kind", ["local"])  # a fake cluster lives in one process only
async def test_second_server_sees_and_changes_the_same_cluster(app, call, tthvd, kind):
    cid = tthvd["id"]
    config = app.service.config
    second = ElasticService(make_engines(config), config)
    await second.start()
    try:
        await second.manager.first_look()
        assert second.manager.cluster(cid).name == "tthvd"
        answers = await asyncio.gather(
            call("PUT", f"clusters/{cid}/target", {"size": 4}),
            second.scaling.set_target(cid, request(3)),
            return_exceptions=True,
        )
        assert any(getattr(item, "status", 202) == 202 for item in answers)
        view = await eventually(call, cid, state="ready")
        for _ in range(200):
            if second.manager.cluster(cid).target == view["target"]:
                break
            await asyncio.sleep(0.01)
        assert second.manager.cluster(cid).target == view["target"]
        assert len(lines(view["hostfile"]["hostfile"])) == view["target"]
    finally:
        await second.stop()


def request(size: int) -> Any:
    from jupyter_elastic.manager.changes import TargetRequest

    return TargetRequest(size, by="second")


@pytest.mark.parametrize("kind", ["local"])
async def test_restart_of_the_manager(app, call, tthvd, kind):
    cid = tthvd["id"]
    config = app.service.config
    await call("PUT", f"clusters/{cid}/target", {"size": 3})
    second = ElasticService(make_engines(config), config)
    begin = time.monotonic()
    await second.start()
    try:
        for _ in range(600):
            views = second.manager.state().clusters
            if views and views[0].state == "ready" and views[0].target == 3:
                break
            await asyncio.sleep(0.005)
        assert time.monotonic() - begin < 3
        names = [item.name for item in second.manager.cluster(cid).containers]
        assert names[:2] == [item["name"] for item in tthvd["containers"]]
    finally:
        await second.stop()


@pytest.fixture
def training(tmp_path: Path, jp_env_jupyter_path: Path) -> Path:
    """A kernel environment whose horovodrun says what it was given and waits."""
    binaries = tmp_path / "env" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").symlink_to(sys.executable)
    program = binaries / "horovodrun"
    program.write_text('#!/bin/sh\necho "got $*"\nexec sleep 300\n')
    program.chmod(0o755)
    folder = jp_env_jupyter_path / "kernels" / "training"
    folder.mkdir(parents=True)
    spec = {"argv": [str(binaries / "python")], "display_name": "T", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    return binaries


async def runs_are(call: Any, cid: str, *states: str) -> list[dict[str, Any]]:
    for _ in range(1000):
        runs = (await call("GET", f"clusters/{cid}/runs")).body["runs"]
        if [run["state"] for run in runs] == list(states):
            return list(runs)
        await asyncio.sleep(0.02)
    raise AssertionError(runs)


@pytest.mark.parametrize("kind", ["local"])
async def test_run(training, call, tthvd):
    cid = tthvd["id"]
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert launch["ready"], launch
    started = await call("POST", f"clusters/{cid}/runs")
    assert started.status == 201, started.text
    run = (await runs_are(call, cid, "running"))[0]
    assert (run["text"], run["np"], run["found"]) == (launch["text"], 2, False)
    refused = await call("DELETE", f"clusters/{cid}")
    assert (refused.status, refused.body["code"]) == (409, "live_run")
    below = await call("PUT", f"clusters/{cid}/target", {"size": 1})
    assert (below.status, below.body["code"]) == (409, "below_run_minimum")
    for _ in range(200):
        output = (await call("GET", f"clusters/{cid}/runs/{run['id']}/log")).body["output"]
        if "got" in output:
            break
        await asyncio.sleep(0.02)
    assert f"got -np 2 --hostfile {tthvd['hostfile']['hostfile']}" in output
    assert (await call("DELETE", f"clusters/{cid}/runs/{run['id']}")).status == 202
    assert (await runs_are(call, cid, "stopped"))[0]["ended"]


@pytest.mark.parametrize("kind", ["local"])
async def test_run_outlives_its_terminal(training, app, call, tthvd, jp_serverapp):
    cid = tthvd["id"]
    opened = await call("POST", f"clusters/{cid}/terminals", {"rows": 30, "columns": 100})
    assert opened.status == 201, opened.text
    terminals = jp_serverapp.web_app.settings["terminal_manager"]
    client = Screen()
    terminal = terminals.get_terminal(opened.body["name"])
    terminal.clients.append(client)
    await client.shows("# " if os.getuid() == 0 else "$ ")
    terminal.ptyproc.write("echo $((40+2)) $(command -v python)\n")
    await client.shows("42 ")
    assert str(training) in client.text
    shells = (await call("GET", f"clusters/{cid}")).body["shells"]
    assert [item["id"] for item in shells] == [opened.body["shell"]]
    launch = opened.body["launch"]["text"]
    terminal.ptyproc.write(f"{launch}\n")
    await runs_are(call, cid, "running")
    await terminals.terminate_all()
    await asyncio.sleep(1.1)
    run = (await runs_are(call, cid, "running"))[0]
    assert (run["text"], run["shell"]) == (launch, opened.body["shell"])
    again = await call("POST", f"clusters/{cid}/terminals", {"shell": opened.body["shell"]})
    assert again.status == 201, again.text
    assert again.body["shell"] == opened.body["shell"]
    fresh = Screen()
    terminals.get_terminal(again.body["name"]).clients.append(fresh)
    await fresh.shows("got -np 2")
    await terminals.terminate_all()


class Screen:
    """A client of a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def on_pty_read(self, text: str) -> None:
        self.text += text

    def on_pty_died(self) -> None:
        self.text += "<died>"

    async def shows(self, wanted: str) -> None:
        for _ in range(500):
            if wanted in self.text.replace("$((40+2))", ""):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(self.text)
