"""How a reflector lives: its pace, what it believes, its times, its faults, its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_elastic.keeper.kube import reflector as module
from jupyter_elastic.keeper.kube.calls import EVENTS, PODS, Api
from jupyter_elastic.keeper.kube.errors import Unavailable
from jupyter_elastic.keeper.kube.reflector import Reflector

from ...fakes.kube import FakeKube, TokenAccess
from .conftest import FakeClock, Watched, event_watch, eventually, line, names, pod, same_as_list

Watch = Callable[..., Watched]


# Rule 7


def test_watch_that_ended_normally_goes_on_at_once(kube: FakeKube, watch: Watch) -> None:
    watched = watch()
    watched.live()
    watched.clock.advance(2)
    ended = watched.clock()
    kube.end_watches()
    eventually(lambda: len(kube.asked("watch")) == 2)
    assert 0.05 <= kube.asked("watch")[1].time - ended < 0.5
    assert watched.states == ["live"]
    assert len(kube.asked("list")) == 1


def test_watches_that_end_at_once_are_failures(kube: FakeKube, watch: Watch) -> None:
    hollow = kube.fail(verb="watch", times=None, action="eof")
    watched = watch()
    eventually(lambda: len(kube.asked("watch")) >= 12)
    # It was believed once, and then never again without proof.
    assert watched.states == ["live", "stale"]
    gaps = [
        b.time - a.time for a, b in zip(kube.asked("watch"), kube.asked("watch")[1:], strict=False)
    ]
    assert max(gaps) > 5
    hollow.clear()
    watched.reflector.poke()
    kube.put(PODS, pod("a"))
    watched.live()
    assert kube.asked("watch")[-1].query["timeoutSeconds"] in ("5", "55")


def test_hollow_watches_are_over_when_one_lasts(kube: FakeKube, watch: Watch) -> None:
    kube.bookmark_seconds = None
    kube.fail(verb="watch", action="eof")
    watched = watch()
    eventually(lambda: len(kube.asked("watch")) == 2)
    assert watched.state == "stale"
    assert kube.asked("watch")[1].query["timeoutSeconds"] == "5"
    watched.clock.advance(5)
    kube.end_watches()
    watched.live()


def test_it_never_gives_up(kube: FakeKube, watch: Watch) -> None:
    down = kube.fail(times=None, status=500)
    watched = watch()
    start = watched.clock()
    eventually(lambda: watched.clock() - start > 3600)
    assert 100 < len(kube.asked()) < 400
    assert watched.states == ["stale"]
    down.clear()
    watched.live()


def test_poke_ends_the_wait(kube: FakeKube, clock: FakeClock) -> None:
    kube.fail(verb="list", status=429, headers={"Retry-After": "50"})
    with kube.api() as api:
        reflector = Reflector(api, PODS)
        reflector.start()
        eventually(lambda: reflector.health.state == "stale")
        reflector.poke()
        eventually(lambda: reflector.health.state == "live", 3)
        reflector.stop()


# Rule 8, rule 9


def test_versions_are_only_compared_for_equality(kube: FakeKube, watch: Watch) -> None:
    events = [line("ADDED", "a", "zz-9"), line("MODIFIED", "a", "aa-1", spec={"n": 2})]
    event_watch(kube, *events)
    event_watch(kube, line("BOOKMARK", "", "0"))
    watched = watch()
    eventually(lambda: len(kube.asked("watch")) >= 3)
    assert [one.query["resourceVersion"] for one in kube.asked("watch")[1:3]] == ["aa-1", "0"]
    del watched


def test_repeated_events_tell_nobody(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    told = watched.told
    for _ in range(5):
        kube.store.repeat(kube.key(PODS, "a"))
    kube.store.tick()
    kube.put(EVENTS, pod("elsewhere"))
    kube.put(PODS, pod("b"))
    eventually(lambda: names(watched.reflector) == ["a", "b"])
    assert watched.told == told + 1
    assert same_as_list(watched.reflector, watched.api)


def test_a_name_that_came_again_is_another_object(kube: FakeKube, watch: Watch) -> None:
    one = kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    kube.remove(PODS, "a")
    other = kube.put(PODS, pod("a"))
    eventually(lambda: list(watched.reflector.objects()) == [other["metadata"]["uid"]])
    assert one["metadata"]["uid"] != other["metadata"]["uid"]


def test_late_delete_of_the_old_one_leaves_the_new_one(kube: FakeKube, watch: Watch) -> None:
    event_watch(
        kube,
        line("ADDED", "a", "2000", "new"),
        line("DELETED", "a", "2001", "old"),
        line("DELETED", "b", "2002", "never-seen"),
    )
    watched = watch()
    eventually(lambda: list(watched.reflector.objects()) == ["new"] or 1 in watched.sizes)


def test_object_that_leaves_the_selector_is_gone(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a", set="x"))
    watched = watch(selector="set=x")
    watched.live()
    kube.edit(PODS, "a", lambda found: found["metadata"]["labels"].pop("set"))
    eventually(lambda: not watched.reflector.objects())


def test_objects_are_a_copy_of_the_mapping(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    held = watched.reflector.objects()
    found = next(iter(held.values()))
    kube.edit(PODS, "a", lambda item: item["metadata"]["labels"].update(new="1"))
    eventually(lambda: next(iter(watched.reflector.objects().values())) != found)
    assert found["metadata"]["labels"] == {}
    held.clear()
    assert len(watched.reflector.objects()) == 1


# Rule 10, rule 11


@pytest.mark.parametrize("skew", [-7200.0, 7200.0])
def test_times_are_the_servers(kube: FakeKube, watch: Watch, skew: float) -> None:
    kube.store.skew = skew
    with kube.api() as api:
        watched = watch(api=api)
        watched.live()
        kube.put(PODS, pod("a"))
        eventually(lambda: watched.reflector.health.last_event_at)
        health = watched.reflector.health
        for at in (health.since, health.last_event_at, health.last_list_at):
            assert at == pytest.approx(time.time() + skew, abs=3)
        assert api.server_time_offset == pytest.approx(skew, abs=1)


def test_each_reconnect_reads_the_token_again(kube: FakeKube, watch: Watch) -> None:
    access: TokenAccess = kube.access("one")
    with Api(access) as api:
        watched = watch(api=api)
        watched.live()
        access.token = "two"
        watched.next_watch()
    tokens = [one.headers["authorization"] for one in kube.asked()]
    assert tokens == ["Bearer one"] * 2 + ["Bearer two"]


# Rule 12


def test_fault_of_ours_is_logged_once_and_survived(
    kube: FakeKube, watch: Watch, api: Api, monkeypatch: Any, caplog: Any
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(api, "watch", broken)
    with caplog.at_level(logging.ERROR, module.__name__):
        watched = watch()
        eventually(lambda: watched.reflector.health.restarts >= 3)
        assert watched.state == "failed"
        assert "KeyError" in watched.reflector.health.text
    assert len(caplog.records) == 1
    monkeypatch.undo()
    watched.live()
    assert watched.reflector.health.text == ""


def test_handler_that_raises_stops_nothing(kube: FakeKube, api: Api, caplog: Any) -> None:
    def handler() -> None:
        raise RuntimeError("in a handler")

    reflector = Reflector(api, PODS, on_change=handler)
    reflector.start()
    eventually(lambda: reflector.health.state == "live")
    kube.put(PODS, pod("a"))
    eventually(lambda: names(reflector) == ["a"])
    reflector.stop()
    assert reflector.health.restarts == 0
    assert len(caplog.records) == 1


def test_only_what_is_live_and_heard_of_is_fresh(kube: FakeKube, watch: Watch) -> None:
    kube.bookmark_seconds = None
    watched = watch()
    watched.live()
    watched.reflector.require_fresh(max_age=30)
    watched.clock.advance(31)
    with pytest.raises(Unavailable, match=r"3\d s ago"):
        watched.reflector.require_fresh(max_age=30)
    kube.put(PODS, pod("a"))
    eventually(lambda: names(watched.reflector) == ["a"])
    watched.reflector.require_fresh(max_age=30)
    kube.fail(times=None, status=500, body={"message": "etcd is away"})
    watched.next_watch()
    eventually(lambda: watched.state == "stale")
    with pytest.raises(Unavailable, match="etcd is away"):
        watched.reflector.require_fresh(max_age=1e9)


def test_nothing_is_fresh_before_the_first_list(api: Api) -> None:
    with pytest.raises(Unavailable):
        Reflector(api, PODS).require_fresh()


# Rule 13


def test_what_comes_together_is_told_once(kube: FakeKube, watch: Watch) -> None:
    burst = b"".join(line("ADDED", f"p{number}", f"{2000 + number}") for number in range(500))
    event_watch(kube, burst)
    watched = watch()
    eventually(lambda: 500 in watched.sizes)
    assert watched.told < 12


# Row 51, memory


def test_odd_objects_do_not_hurt_the_others(kube: FakeKube, watch: Watch) -> None:
    def trim(found: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": found["metadata"], "node": found["spec"]["nodeName"]}

    kube.put(PODS, {**pod("fine"), "spec": {"nodeName": "n"}})
    odd: dict[str, dict[str, Any]] = {
        "no-spec": {"metadata": {"name": "no-spec", "uid": "u1"}, "spec": None},
        "no-uid": {"metadata": {"name": "no-uid"}, "spec": {"nodeName": "n"}},
        "no-metadata": {"metadata": None, "spec": {}},
        "nothing": {},
        "lists": {"metadata": {"name": [1], "uid": {}}, "spec": []},
    }
    for name, body in odd.items():
        kube.store.raw(kube.key(PODS, name), body)
    watched = watch(trim=trim)
    watched.live()
    assert sorted(watched.reflector.objects())[1:] == ["name:no-uid", "u1"]
    assert watched.reflector.health.odd == 4
    kube.store.raw(kube.key(PODS, "late"), {"metadata": None}, "MODIFIED")
    kube.put(PODS, {**pod("later"), "spec": {"nodeName": "n"}})
    eventually(lambda: len(watched.reflector.objects()) == 4)
    assert watched.state == "live"
    assert watched.reflector.health.restarts == 0


def test_managed_fields_are_dropped(kube: FakeKube, watch: Watch) -> None:
    body = pod("a")
    body["metadata"]["managedFields"] = [{"manager": "x"}]
    kube.put(PODS, body)
    watched = watch()
    watched.live()
    body["metadata"]["name"] = "b"
    kube.put(PODS, body)
    eventually(lambda: len(watched.reflector.objects()) == 2)
    assert "managedFields" not in str(watched.reflector.objects())


# Its end


@pytest.mark.parametrize("when", ["live", "waiting", "before"])
def test_stop_is_quick(kube: FakeKube, when: str) -> None:
    if when == "waiting":
        kube.fail(verb="list", status=429, headers={"Retry-After": "50"})
    with kube.api() as api:
        reflector = Reflector(api, PODS)
        if when != "before":
            reflector.start()
            state = "live" if when == "live" else "stale"
            eventually(lambda: reflector.health.state == state)
        start = time.monotonic()
        reflector.stop()
        assert time.monotonic() - start < 1
        assert not reflector._thread.is_alive()


def test_a_handler_may_stop_it(kube: FakeKube, api: Api) -> None:
    reflector = Reflector(api, PODS, on_change=lambda: reflector.stop())
    reflector.start()
    eventually(lambda: not reflector._thread.is_alive())
