"""The main job over HTTP."""

from __future__ import annotations

import asyncio

from .waiting import eventually, gone


async def test_create_scale_release(call, create, engine, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("print(1)\n")
    cluster = await create(script=str(script))
    cid = cluster["id"]
    seen = await eventually(call, cid, state="ready")
    assert (seen["ready"], seen["target"], seen["np"]) == (2, 2, 2)
    launch = (await call("GET", f"clusters/{cid}/launch")).body
    assert launch["ready"], launch
    assert (
        launch["text"] == f"horovodrun -np 2 --hostfile /tmp/hosts/{cid}/hostfile python train.py"
    )
    assert launch["cwd"] == str(tmp_path)
    plan = await call("PUT", f"clusters/{cid}/target", {"size": 4})
    assert plan.status == 202, plan.text
    assert plan.body["text"] == "+2 containers. 2 start now."
    await eventually(call, cid, state="ready", np=4)
    await asyncio.sleep(0.2)
    await call("PUT", f"clusters/{cid}/target", {"size": 2})
    await eventually(call, cid, state="ready", np=2)
    # Out of the agreed list, then out of the file, then deleted.
    steps = [item for item in engine.record if item[0] != "create"]
    last_publish = max(i for i, item in enumerate(steps) if item[0] == "publish")
    removed = [i for i, item in enumerate(steps) if item[0] == "remove"]
    assert len(removed) == 2
    assert min(removed) > last_publish
    assert (await call("DELETE", f"clusters/{cid}")).status == 202
    await gone(call, cid)
    assert engine.record[-1] == ("release", cid)


async def test_undo(call, create):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    refused = await call("POST", f"clusters/{cid}/undo")
    assert (refused.status, refused.body["code"]) == (409, "nothing_to_undo")
    await call("PUT", f"clusters/{cid}/target", {"size": 3})
    seen = await eventually(call, cid, target=3)
    assert seen["last_change"]["undo"] is True
    undone = await call("POST", f"clusters/{cid}/undo")
    assert (undone.status, undone.body["target"]) == (202, 2)
    await eventually(call, cid, target=2, state="ready")


async def test_named_victim_and_replacement(call, create, engine):
    cid = (await create(size=4))["id"]
    seen = await eventually(call, cid, state="ready")
    name = seen["containers"][1]["name"]
    plan = (await call("POST", f"clusters/{cid}/plan", {"size": 3, "victims": [name]})).body
    assert plan["remove"] == [name]
    answer = await call("DELETE", f"clusters/{cid}/containers/{name}", params={"replace": "true"})
    assert answer.status == 202, answer.text
    assert (answer.body["target"], answer.body["add"]) == (4, 1)
    seen = await eventually(call, cid, state="ready", target=4, ready=4)
    assert name not in [item["name"] for item in seen["containers"]]
    name = seen["containers"][2]["name"]
    assert (await call("DELETE", f"clusters/{cid}/containers/{name}")).status == 202
    await eventually(call, cid, state="ready", target=3)
    launcher = seen["containers"][0]["name"]
    refused = await call("DELETE", f"clusters/{cid}/containers/{launcher}")
    assert (refused.status, refused.body["code"]) == (409, "launcher")


async def test_release_with_a_live_run_asks(call, create, engine):
    cid = (await create(framework="horovod-elastic", size=3))["id"]
    await eventually(call, cid, state="ready")
    engine.channels[cid].live()
    await eventually(call, cid, runs=(await call("GET", f"clusters/{cid}/runs")).body["runs"])
    refused = await call("DELETE", f"clusters/{cid}")
    assert (refused.status, refused.body["code"]) == (409, "live_run")
    assert refused.body["detail"]["runs"] == ["r1"]
    assert len(refused.body["detail"]["containers"]) == 3
    assert refused.body["detail"]["gpus"] == 0
    below = await call("PUT", f"clusters/{cid}/target", {"size": 1})
    assert (below.status, below.body["code"]) == (409, "below_run_minimum")
    assert below.body["detail"]["minimum"] == 2
    accepted = await call("DELETE", f"clusters/{cid}", params={"stop_runs": "true"})
    assert accepted.status == 202
    await gone(call, cid)


async def test_dry_run_makes_nothing(call, engine):
    body = {"name": "x", "framework": "horovod", "size": 3, "engine": "scripted", "dry_run": True}
    answer = await call("POST", "clusters", body)
    assert answer.status == 200
    assert answer.body["text"] == "3 containers, no GPU. All can start now."
    assert engine.clusters == {}


async def test_same_operation_twice_is_one_cluster(call, create, engine):
    first = await create(operation="abc")
    second = await create(operation="abc")
    assert first["id"] == second["id"]
    assert len(engine.clusters) == 1


async def test_settings_are_kept(call, create, tmp_path):
    cid = (await create())["id"]
    script = tmp_path / "a b;'$(x).py"
    script.write_text("")
    fields = {
        "script": str(script),
        "arguments": ["--epochs", "3 4"],
        "min_size": 1,
        "max_size": 6,
        "pass_env": ["HF_TOKEN"],
        "framework": "horovod-elastic",
        "release_policy": "keep",
    }
    answer = await call("PATCH", f"clusters/{cid}", fields)
    assert answer.status == 200, answer.text
    for key, value in fields.items():
        assert answer.body["settings"][key] == value
    assert answer.body["framework"] == "horovod-elastic"
    await eventually(call, cid, state="ready")
    text = (await call("GET", f"clusters/{cid}/launch")).body["text"]
    assert "--min-np 1 --max-np 6 --host-discovery-script" in text
    assert text.endswith("""python 'a b;'"'"'$(x).py' --epochs '3 4'""")
