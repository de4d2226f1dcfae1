"""Terminals on keeper shells, runs, and the environment they get."""

from __future__ import annotations

import asyncio
import json
import os

from .waiting import eventually


async def cluster_with_script(call, create, tmp_path, **fields):
    (tmp_path / "train.py").write_text("")
    cid = (await create(script=str(tmp_path / "train.py"), **fields))["id"]
    await eventually(call, cid, state="ready")
    return cid


async def test_terminal(call, create, engine, tmp_path, jp_serverapp, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf")
    monkeypatch.setenv("OTHER", "o")
    cid = await cluster_with_script(call, create, tmp_path, pass_env=["HF_TOKEN", "NOT_SET"])
    answer = await call("POST", f"clusters/{cid}/terminals", {"rows": 30, "columns": 100})
    assert answer.status == 201, answer.text
    assert answer.body["launch"]["text"].endswith("python train.py")
    request = engine.channels[cid].requests[0]
    assert (request.cwd, request.rows, request.columns) == (str(tmp_path), 30, 100)
    assert request.env == (("HF_TOKEN", "hf"),)
    manager = jp_serverapp.web_app.settings["terminal_manager"]
    assert answer.body["name"] in manager.terminals
    again = await call("POST", f"clusters/{cid}/terminals", {"shell": answer.body["shell"]})
    assert again.body["name"] == answer.body["name"]
    assert again.body["launch"] is None
    await manager.terminate_all()
    await asyncio.sleep(1.1)
    fresh = await call("POST", f"clusters/{cid}/terminals", {"shell": answer.body["shell"]})
    assert fresh.status == 201
    assert len(engine.channels[cid].requests) == 1
    await manager.terminate_all()


async def test_double_click_is_one_terminal(call, create, engine, tmp_path, jp_serverapp):
    cid = await cluster_with_script(call, create, tmp_path)
    first, second = await asyncio.gather(
        *(call("POST", f"clusters/{cid}/terminals") for _ in range(2))
    )
    assert first.body == second.body
    assert len(engine.channels[cid].requests) == 1
    await jp_serverapp.web_app.settings["terminal_manager"].terminate_all()


async def test_terminals_switched_off(app, call, create, tmp_path):
    cid = await cluster_with_script(call, create, tmp_path)
    app.service.launching.use_terminals(None)
    answer = await call("POST", f"clusters/{cid}/terminals")
    assert (answer.status, answer.body["code"]) == (409, "terminals_unavailable")
    assert (await call("GET", "options")).body["terminals"] is False
    assert (await call("GET", f"clusters/{cid}/launch")).body["ready"]


async def test_run_without_a_terminal(call, create, engine, tmp_path):
    cid = await cluster_with_script(call, create, tmp_path)
    run = await call("POST", f"clusters/{cid}/runs")
    assert run.status == 201, run.text
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert run.body["argv"] == launch["argv"]
    assert "A run lives on this cluster already." in launch["warnings"]
    second = await call("POST", f"clusters/{cid}/runs")
    assert (second.status, second.body["code"]) == (409, "live_run")
    log = await call("GET", f"clusters/{cid}/runs/r1/log", params={"max_bytes": "4"})
    assert log.body == {"output": "p 1\n"}
    assert (await call("DELETE", f"clusters/{cid}/runs/r1")).status == 202
    assert engine.record[-1] == ("stop_run", "r1")
    assert (await call("DELETE", f"clusters/{cid}/runs/r1")).status == 202  # idempotent


async def test_static_script_in_elastic_mode_is_warned_about(call, create, tmp_path):
    cid = await cluster_with_script(call, create, tmp_path, framework="horovod-elastic")
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert launch["ready"]
    assert "no elastic code" in launch["warnings"][0]
    (tmp_path / "train.py").write_text(
        "import horovod.tensorflow as hvd\n@hvd.elastic.run\ndef f(s): ...\n"
    )
    assert (await call("GET", f"clusters/{cid}/launch")).body["warnings"] == []


async def test_kernelspec_decides_the_python(call, create, engine, tmp_path, jp_env_jupyter_path):
    folder = jp_env_jupyter_path / "kernels" / "training"
    folder.mkdir(parents=True)
    binaries = tmp_path / "env" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", "horovodrun"):
        (binaries / name).write_text("#!/bin/sh\n")
        (binaries / name).chmod(0o755)
    spec = {
        "argv": [str(binaries / "python"), "-m", "x"],
        "display_name": "T",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    options = (await call("GET", "options")).body
    assert "training" in [item["name"] for item in options["kernels"]]
    assert options["default_kernel"] == "training"
    cid = await cluster_with_script(call, create, tmp_path)
    assert (await call("GET", f"clusters/{cid}")).body["settings"]["kernelspec"] == "training"
    await call("POST", f"clusters/{cid}/runs")
    assert engine.channels[cid].requests[0].python_folder == str(binaries)


async def test_preflight(call, create, engine, tmp_path):
    cid = await cluster_with_script(call, create, tmp_path)
    checks = {
        c["name"]: c for c in (await call("POST", f"clusters/{cid}/preflight")).body["checks"]
    }
    assert all(checks[name]["ok"] for name in ("horovodrun", "script", "host file"))
    engine.channels[cid].program = ""
    checks = {
        c["name"]: c for c in (await call("POST", f"clusters/{cid}/preflight")).body["checks"]
    }
    assert checks["horovodrun"]["ok"] is False
    assert checks["horovodrun"]["fix"]


async def test_no_keeper(call, create, engine, tmp_path):
    cid = await cluster_with_script(call, create, tmp_path)
    engine.channels[cid].set(reachable=False, since=7.0)
    seen = await eventually(call, cid, state="degraded")
    assert seen["hostfile"]["frozen_since"] == 7.0
    answer = await call("POST", f"clusters/{cid}/terminals")
    assert (answer.status, answer.body["code"]) == (503, "keeper_unreachable")
    engine.channels[cid].set(reachable=True, since=8.0)
    await eventually(call, cid, state="ready")


def argv_of(manager, name):
    """The command that a terminal was started with."""
    return manager.terminals[name].ptyproc.argv


async def test_a_name_of_ours_shows_its_shell(call, create, tmp_path, jp_serverapp):
    """JupyterLab asks for the terminal by its old name when a page is loaded again."""
    cid = await cluster_with_script(call, create, tmp_path)
    opened = (await call("POST", f"clusters/{cid}/terminals")).body
    manager = jp_serverapp.web_app.settings["terminal_manager"]
    attach = argv_of(manager, opened["name"])
    await manager.terminate_all()
    for name in (opened["name"], f"{opened['name']}_2"):
        manager.create(name=name, cwd=str(tmp_path))
        assert argv_of(manager, name) == attach
    plain = manager.create(name="elastic_", cwd=str(tmp_path))
    assert argv_of(manager, plain["name"]) != attach
    await manager.terminate_all()


async def test_a_shell_that_is_gone_is_said_to_be(call, create, tmp_path, jp_serverapp):
    cid = await cluster_with_script(call, create, tmp_path)
    await call("POST", f"clusters/{cid}/terminals")
    manager = jp_serverapp.web_app.settings["terminal_manager"]
    manager.create(name="elastic_gone1")
    argv = argv_of(manager, "elastic_gone1")
    assert argv[-2].endswith("terminal_wait.py")
    shown = ""
    while "Press Enter" not in shown:
        shown += (
            manager.terminals["elastic_gone1"].read_buffer.popleft()
            if (manager.terminals["elastic_gone1"].read_buffer)
            else ""
        )
        await asyncio.sleep(0.05)
    assert "This shell has ended." in shown
    assert not os.path.exists(argv[-1]), "the answer is taken away"
    await manager.terminate_all()
