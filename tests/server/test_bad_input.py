"""Bad input: a clear error with the field, nothing half made, and fast."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from .waiting import eventually

GOOD = {"name": "x", "framework": "horovod", "size": 2, "engine": "scripted"}

CREATE: list[tuple[dict[str, Any], int, str]] = [
    ({"size": 0}, 400, "size"),
    ({"size": -1}, 400, "size"),
    ({"size": 1}, 400, "size"),
    ({"size": 2.5}, 400, "size"),
    ({"size": 2.0}, 400, "size"),
    ({"size": "3"}, 400, "size"),
    ({"size": ""}, 400, "size"),
    ({"size": True}, 400, "size"),
    ({"size": None}, 400, "size"),
    ({"size": 1_000_000_000}, 422, "size"),
    ({"size": 9}, 422, "size"),
    ({"name": ""}, 400, "name"),
    ({"name": "   "}, 400, "name"),
    ({"name": "x" * 300}, 400, "name"),
    ({"name": "a\nb"}, 400, "name"),
    ({"name": "a\u202eb"}, 400, "name"),
    ({"name": "\ud800"}, 400, "name"),
    ({"name": 5}, 400, "name"),
    ({"framework": "nope"}, 400, "framework"),
    ({"engine": "moon"}, 400, "engine"),
    ({"image": "x"}, 400, "image"),
    ({"gpus_per_container": 1}, 422, "gpus_per_container"),
    ({"gpus_per_container": -1}, 400, "gpus_per_container"),
    ({"gpu_kind": "P4"}, 400, "gpu_kind"),
    ({"launcher_mode": "pod"}, 400, "launcher_mode"),
    ({"launcher_mode": "moon"}, 400, "launcher_mode"),
    ({"script": "/does/not/exist.py"}, 400, "script"),
    ({"script": "/tmp"}, 400, "script"),
    ({"script": "a\nb.py"}, 400, "script"),
    ({"script": ""}, 400, "script"),
    ({"arguments": "'unclosed"}, 400, "arguments"),
    ({"arguments": ["a\x1b[31m"]}, 400, "arguments"),
    ({"arguments": [1]}, 400, "arguments.0"),
    ({"kernelspec": "nope"}, 400, "kernelspec"),
    ({"pass_env": ["JUPYTERHUB_API_TOKEN"]}, 400, "pass_env"),
    ({"pass_env": ["JPY_API_TOKEN"]}, 400, "pass_env"),
    ({"pass_env": ["LD_PRELOAD"]}, 400, "pass_env"),
    ({"pass_env": ["PATH"]}, 400, "pass_env"),
    ({"pass_env": ["A B"]}, 400, "pass_env"),
    ({"min_size": 0}, 400, "min_size"),
    ({"min_size": 3, "max_size": 2}, 400, "max_size"),
    ({"colour": "red"}, 400, "colour"),
]


@pytest.mark.parametrize(("change", "status", "field"), CREATE)
async def test_create(call, engine, change, status, field):
    answer = await call("POST", "clusters", {**GOOD, **change})
    assert answer.status == status, answer.text
    assert answer.body["detail"]["field"] == field
    assert answer.body["message"]
    assert "Traceback" not in answer.text
    assert engine.clusters == {}


@pytest.mark.parametrize("missing", ["name", "framework", "size"])
async def test_missing_field(call, missing):
    body = {key: value for key, value in GOOD.items() if key != missing}
    answer = await call("POST", "clusters", body)
    assert (answer.status, answer.body["detail"]["field"]) == (400, missing)


async def test_emoji_and_right_to_left_names_are_shown_as_they_are(call, create):
    for name in ("🚀 run", "تدريب", "ü" * 63):
        assert (await create(name=name))["name"] == name


async def test_duplicate_name(call, create):
    await create(name="x")
    answer = await call("POST", "clusters", GOOD)
    assert (answer.status, answer.body["code"]) == (409, "name_taken")


RAW: list[tuple[bytes, int]] = [
    (b"not json", 400),
    (b"\xff\xfe", 400),
    (b"[]", 400),
    (b"3", 400),
    (b'{"size": NaN}', 400),
    (b'{"size": Infinity}', 400),
    (b'{"size": 1e400}', 400),
    (b'{"size": 2, "size": 3}', 400),
    (b'{"size": ' + b"[" * 60000, 400),
    (b'{"size": ' + b"[" * 20 + b"]" * 20 + b"}", 400),
    (b'{"size": ' + b"9" * 5000 + b"}", 400),
    (b'{"size": 2, "pad": "' + b"x" * 10_000_000 + b'"}', 413),
]


@pytest.mark.parametrize(("raw", "status"), RAW, ids=range(len(RAW)))
async def test_bodies(call, create, engine, raw, status):
    cid = (await create())["id"]
    begin = time.monotonic()
    answer = await call("PUT", f"clusters/{cid}/target", raw=raw)
    assert time.monotonic() - begin < 1.0
    assert answer.status == status, answer.text
    assert set(answer.body) == {"code", "message", "hint", "detail"}
    assert "Traceback" not in answer.text
    assert engine.clusters[cid].target == 2


async def test_unknown_things(call, create):
    cid = (await create())["id"]
    for verb, path in (
        ("GET", "clusters/nope"),
        ("PUT", "clusters/nope/target"),
        ("DELETE", "clusters/nope"),
        ("GET", f"clusters/{cid}/containers/nope/log"),
        ("DELETE", f"clusters/{cid}/containers/nope"),
        ("DELETE", f"clusters/{cid}/runs/nope"),
        ("GET", f"clusters/{cid}/runs/nope/log"),
        ("GET", "nothing"),
    ):
        answer = await call(verb, path, {"size": 2} if verb == "PUT" else None)
        assert answer.status == 404, (verb, path, answer.text)
    shell = await call("POST", f"clusters/{cid}/terminals", {"shell": "nope"})
    assert shell.status == 404
    assert (await call("POST", "options", {})).status == 405


async def test_bad_queries(call, create):
    created = await create()
    cid, name = created["id"], created["containers"][0]["name"]
    assert (await call("DELETE", f"clusters/{cid}", params={"stop_runs": "maybe"})).status == 400
    for value in ("0", "-1", "1e9", "9" * 30, "x", "²"):
        answer = await call(
            "GET", f"clusters/{cid}/containers/{name}/log", params={"max_bytes": value}
        )
        assert answer.status == 400, value


async def test_unreadable_script(call, create, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("")
    cid = (await create(script=str(script)))["id"]
    await eventually(call, cid, state="ready")
    script.unlink()
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert not launch["ready"]
    assert launch["reason"]["code"] == "script_missing"
    refused = await call("POST", f"clusters/{cid}/runs")
    assert (refused.status, refused.body["code"]) == (409, "script_missing")


async def test_no_script_disables_the_button(call, create):
    cid = (await create())["id"]
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert (launch["ready"], launch["reason"]["code"]) == (False, "no_script")


async def test_missing_program(call, create, engine, tmp_path):
    (tmp_path / "t.py").write_text("")
    cid = (await create(script=str(tmp_path / "t.py")))["id"]
    await eventually(call, cid, state="ready")
    engine.channels[cid].program = ""
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert launch["reason"]["code"] == "program_missing"
    engine.channels[cid].program = "/x/horovodrun"
    assert (await call("GET", f"clusters/{cid}/launch")).body["ready"]


async def test_relative_script_is_below_the_servers_folder(call, create, jp_root_dir):
    (jp_root_dir / "sub").mkdir()
    (jp_root_dir / "sub" / "train.py").write_text("")
    settings = (await create(script="sub/train.py"))["settings"]
    assert settings["script"] == os.path.join(jp_root_dir, "sub", "train.py")


async def test_long_command(call, create, tmp_path):
    (tmp_path / "t.py").write_text("")
    answer = await call(
        "POST",
        "clusters",
        {**GOOD, "script": str(tmp_path / "t.py"), "arguments": ["x" * 600, "y" * 600]},
    )
    assert (answer.status, answer.body["detail"]["field"]) == (413, "arguments")


async def test_a_bug_shows_no_traceback(call, create, engine):
    cid = (await create())["id"]
    engine.broken["refresh"] = RuntimeError("secret-in-the-message")
    answer = await call("POST", "refresh")
    assert answer.status == 500
    assert answer.body["code"] == "bug"
    assert "secret" not in answer.text
    assert json.loads(answer.text)
    assert cid
