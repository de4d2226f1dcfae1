"""Several tabs and servers: ETag, storms, conflicts, events, activity."""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import pairwise
from typing import Any

from jupyter_elastic.errors import Conflict
from jupyter_elastic.events import SCHEMA_ID

from .waiting import eventually


async def test_etag(call, create):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    await asyncio.sleep(0.05)
    first = await call("GET", "clusters")
    etag = first.headers["ETag"]
    assert etag == f'"{first.body["revision"]["epoch"]}-{first.body["revision"]["n"]}"'
    same = await call("GET", "clusters", headers={"If-None-Match": etag})
    assert (same.status, same.text) == (304, "")
    assert (await call("GET", "clusters")).text == first.text
    await call("PUT", f"clusters/{cid}/target", {"size": 3})
    other = await call("GET", "clusters", headers={"If-None-Match": etag})
    assert other.status == 200
    assert other.body["revision"]["n"] > first.body["revision"]["n"]


async def test_two_tabs(call, create):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    state = (await call("GET", "clusters")).body["revision"]
    seen = f'"{state["epoch"]}-{state["n"]}"'
    first = await call("PUT", f"clusters/{cid}/target", {"size": 3}, headers={"If-Match": seen})
    assert first.status == 202
    late = await call("PUT", f"clusters/{cid}/target", {"size": 4}, headers={"If-Match": seen})
    assert (late.status, late.body["code"]) == (409, "changed_meanwhile")
    last = await call("PUT", f"clusters/{cid}/target", {"size": 4})
    assert last.status == 202
    await eventually(call, cid, target=4, state="ready")


async def test_storm(call, create, engine):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    engine.record.clear()
    sizes = [1 + (n * 5) % 8 for n in range(99)]
    begin = time.monotonic()
    # Requests on several connections have no order among themselves, so the last one is sent alone.
    answers = await asyncio.gather(
        *(call("PUT", f"clusters/{cid}/target", {"size": size}) for size in sizes)
    )
    answers.append(await call("PUT", f"clusters/{cid}/target", {"size": 6}))
    took = time.monotonic() - begin
    assert {answer.status for answer in answers} == {202}
    await eventually(call, cid, target=6, state="ready", np=6)
    scales = [item[1] for item in engine.record if item[0] == "scale"]
    assert scales[-1] == 6
    # At most one change each 150 ms, the first one at once.
    assert len(scales) <= 2 + took / 0.15


async def test_the_loser_is_told_and_adopts(call, create, engine):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    engine.broken["scale"] = Conflict("Somebody else changed the size.", detail={"target": 5})
    answer = await call("PUT", f"clusters/{cid}/target", {"size": 3})
    assert answer.status == 409
    del engine.broken["scale"]
    engine.set(cid, target=2)
    assert (await eventually(call, cid, target=2))["reason"] is None
    await asyncio.sleep(0.2)
    assert (await call("PUT", f"clusters/{cid}/target", {"size": 3})).status == 202


async def test_a_merged_change_that_fails_is_shown(call, create, engine):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    assert (await call("PUT", f"clusters/{cid}/target", {"size": 3})).status == 202
    engine.broken["scale"] = Conflict("Somebody else changed the size.")
    assert (await call("PUT", f"clusters/{cid}/target", {"size": 4})).status == 202
    for _ in range(100):
        seen = (await call("GET", f"clusters/{cid}")).body
        if seen["reason"]:
            break
        await asyncio.sleep(0.01)
    assert seen["reason"]["code"] == "change_failed"
    assert any("Size 4 was not set" in line for line in seen["history"])
    del engine.broken["scale"]
    await asyncio.sleep(0.2)
    await call("PUT", f"clusters/{cid}/target", {"size": 4})
    assert (await eventually(call, cid, target=4, state="ready"))["reason"] is None


async def test_events(app, call, create, jp_serverapp):
    heard: list[tuple[float, dict[str, Any]]] = []

    async def listen(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        heard.append((time.monotonic(), dict(data)))

    jp_serverapp.event_logger.add_listener(schema_id=SCHEMA_ID, listener=listen)
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    for size in (3, 4, 5, 4, 3, 2):
        await call("PUT", f"clusters/{cid}/target", {"size": size})
        await asyncio.sleep(0.16)
    await eventually(call, cid, target=2, state="ready")
    await asyncio.sleep(0.4)
    mine = [item for item in heard if item[1]["cluster"] == cid]
    state = (await call("GET", "clusters")).body["revision"]
    assert mine[-1][1] == {"cluster": cid, "revision": f"{state['epoch']}-{state['n']}"}
    gaps = [b[0] - a[0] for a, b in pairwise(mine)]
    assert min(gaps) > 0.2


async def test_reading_is_no_activity(call, create, jp_serverapp):
    cid = (await create())["id"]
    settings = jp_serverapp.web_app.settings
    settings.pop("api_last_activity", None)
    for path in ("clusters", f"clusters/{cid}", f"clusters/{cid}/launch", "options"):
        assert (await call("GET", path)).status == 200
    await call("POST", f"clusters/{cid}/plan", {"size": 3})
    assert "api_last_activity" not in settings
    await call("PUT", f"clusters/{cid}/target", {"size": 3})
    assert "api_last_activity" in settings


async def test_a_live_run_keeps_the_server_alive(app, call, create, engine, jp_serverapp):
    cid = (await create(framework="horovod-elastic"))["id"]
    await eventually(call, cid, state="ready")
    assert not app.current_activity()
    assert "jupyter_elastic_last_activity" not in jp_serverapp.web_app.settings
    engine.channels[cid].live()
    await asyncio.sleep(0.1)
    assert app.current_activity()
    assert jp_serverapp.web_app.settings["jupyter_elastic_last_activity"].tzinfo is not None
    assert jp_serverapp.web_app.last_activity()


async def test_restarted_manager_goes_on(app, call, create, engine):
    cid = (await create(size=4))["id"]
    before = await eventually(call, cid, state="ready")
    engine.broken["commit"] = RuntimeError("the server is about to be killed")
    await call("PUT", f"clusters/{cid}/target", {"size": 2})
    await app.service.stop()
    assert engine.stopped
    del engine.broken["commit"]
    from jupyter_elastic.manager import ElasticService

    service = ElasticService({"scripted": engine}, app.service.config)
    await service.start()
    try:
        for _ in range(200):
            views = service.manager.state().clusters
            if views and views[0].state == "ready" and views[0].target == 2:
                break
            await asyncio.sleep(0.01)
        view = views[0]
        assert (view.state, view.target, view.np) == ("ready", 2, 2)
        assert view.containers[0].name == before["containers"][0]["name"]
        assert service.manager.revision.epoch != app.service.manager.revision.epoch
    finally:
        await service.stop()
    assert [task for task in asyncio.all_tasks() if "elastic" in task.get_name()] == []


async def test_metrics_page(call, create, jp_fetch, jp_auth_header):
    cid = (await create())["id"]
    await eventually(call, cid, state="ready")
    await call("GET", "clusters")
    text = (await jp_fetch("metrics")).body.decode()
    assert 'jupyter_elastic_clusters{engine="scripted"} 1.0' in text
    assert 'jupyter_elastic_containers{engine="scripted",state="ready"} 2.0' in text
    assert 'jupyter_elastic_changes_total{action="create",outcome="ok"}' in text


async def test_audit_line_reaches_the_servers_log(call, create, jp_serverapp):
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler = Keep()
    jp_serverapp.log.addHandler(handler)
    try:
        cid = (await create(name="x outcome=ok by='root'"))["id"]
        await eventually(call, cid, state="ready")
        await call("PUT", f"clusters/{cid}/target", {"size": 4})
    finally:
        jp_serverapp.log.removeHandler(handler)
    mine = [line for line in lines if line.startswith("elastic ")]
    assert [line.split()[1] for line in mine] == ["create", "scale"]
    assert f"cluster='{cid}'" in mine[1]
    assert "size_before=2 size=4" in mine[1]
    assert len(mine[0].splitlines()) == 1
