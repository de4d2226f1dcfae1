"""The fault matrix of a reflector: few requests, nothing escapes, and afterwards it is right.

Numbers in brackets are rows of the matrix.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import PODS, Api
from jupyter_elastic.keeper.kube.errors import Unauthenticated

from ...fakes.kube import FakeKube
from .conftest import FakeClock, Watched, eventually, names, pod, same_as_list

Watch = Callable[..., Watched]
EXPIRED = {"reason": "Expired", "message": "too old"}
TOO_LARGE = {"message": "Too large resource version", "details": {"retryAfterSeconds": 1}}
BOOKMARK = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
UNKNOWN = b'{"type":"NEWS","object":{"metadata":{"resourceVersion":"7"}}}\n'
ERROR = b'{"type":"ERROR","object":{"kind":"Status","code":500}}\n'

FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    # name: (state while it lasts, what goes wrong)
    "500": ("stale", {"status": 500}),  # [7]
    "503 text": ("stale", {"status": 503, "body": "<html>no backend</html>"}),
    "504 too large": ("stale", {"status": 504, "body": TOO_LARGE}),  # [12]
    "429 json": ("stale", {"status": 429, "body": {"details": {"retryAfterSeconds": 1}}}),  # [11]
    "429 text": ("stale", {"status": 429, "body": "later", "headers": {"Retry-After": "0"}}),
    "429 bare": ("stale", {"status": 429, "body": "later"}),
    "401": ("unauthenticated", {"status": 401}),  # [15]
    "403": ("forbidden", {"status": 403}),  # [19]
    "404": ("gone", {"status": 404}),  # [20]
    "400": ("stale", {"status": 400}),
    "302": ("stale", {"status": 302, "headers": {"Location": "/elsewhere"}}),
    "410": ("stale", {"status": 410, "body": EXPIRED}),  # [9]
    "dropped": ("stale", {"action": "drop"}),
    "silent": ("stale", {"action": "silent"}),  # [8]
    "200 text": ("stale", {"status": 200, "body": "welcome"}),  # [13]
    "200 null": ("stale", {"status": 200, "body": "null"}),
    "200 short list": ("stale", {"status": 200, "body": '{"items": [], "metadata": {}}'}),
    "watch 410": ("stale", {"verb": "watch", "status": 410, "body": EXPIRED}),
    "watch 410 event": ("stale", {"verb": "watch", "action": "error", "status": 410}),
    "watch error": ("stale", {"verb": "watch", "action": "error", "status": 500}),
    "watch 403": ("forbidden", {"verb": "watch", "status": 403}),
    "watch eof": ("stale", {"verb": "watch", "action": "eof"}),
    "watch silent": ("stale", {"verb": "watch", "action": "hush"}),
    "watch rst": ("stale", {"verb": "watch", "action": "rst"}),
    "watch half": ("stale", {"verb": "watch", "action": "half"}),
    "watch garbage": ("stale", {"verb": "watch", "action": "garbage"}),
    "watch bookmark": ("live", {"verb": "watch", "action": "lines", "lines": [BOOKMARK]}),  # [14]
    "watch unknown": ("live", {"verb": "watch", "action": "lines", "lines": [UNKNOWN]}),
    "watch line error": ("stale", {"verb": "watch", "action": "lines", "lines": [ERROR]}),
}


@pytest.fixture
def hasty(kube: FakeKube, clock: FakeClock) -> Any:
    with kube.api(timeout=0.1, clock=clock, sleep=clock.sleep) as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str, kube: FakeKube, hasty: Api, watch: Watch, clock: FakeClock) -> None:
    state, fields = FAULTS[fault]
    kube.put(PODS, pod("a"))
    kube.put(PODS, pod("b"))
    kube.bookmark_seconds = 0.03
    watched = watch(api=hasty, silence=0.1)
    watched.live()
    broken = kube.fail(times=None, **fields)
    start = clock()
    kube.cut()
    kube.remove(PODS, "b")
    kube.put(PODS, pod("c"))
    eventually(lambda: broken.hits >= 2 and watched.state == state)
    eventually(lambda: clock() - start > 90)
    assert watched.most_in_a_second(start + 1) <= 2
    assert len(kube.asked()) < 2 * (clock() - start) + 4
    # What is known stays, or is right; it is never nothing.
    assert watched.sizes[-1] == 2
    assert 0 not in watched.sizes[1:]
    broken.clear()
    watched.reflector.poke()
    eventually(lambda: names(watched.reflector) == ["a", "c"] and watched.state == "live")
    assert same_as_list(watched.reflector, hasty)
    assert watched.reflector.health.restarts == 0
    assert "half" not in str(watched.reflector.objects())


@pytest.mark.parametrize("reset", [True, False])
def test_server_away_for_a_minute(
    kube: FakeKube, watch: Watch, clock: FakeClock, reset: bool
) -> None:
    """[7]."""
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    down = clock()
    kube.down(reset=reset)
    eventually(lambda: watched.state == "stale")
    assert clock() - down < 5
    since = watched.reflector.health.since
    eventually(lambda: "refuses connections" in watched.reflector.health.text)
    eventually(lambda: clock() - down > 60)
    assert watched.reflector.health.since == since
    assert names(watched.reflector) == ["a"]
    kube.put(PODS, pod("b"))
    kube.up()
    up = clock()
    watched.live()
    assert clock() - up < 35
    eventually(lambda: names(watched.reflector) == ["a", "b"])
    assert watched.most_in_a_second(up) <= 2
    assert watched.states[-1] == "live"
    assert 0 not in watched.sizes


def test_missed_delete_is_found(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    kube.put(PODS, pod("b"))
    watched = watch()
    watched.live()
    kube.down()
    kube.remove(PODS, "a")
    kube.compact()
    kube.up()
    eventually(lambda: names(watched.reflector) == ["b"])
    watched.live()


# Credentials [15]


def test_rotated_token_costs_one_401(kube: FakeKube, watch: Watch, clock: FakeClock) -> None:
    kube.tokens = {"old"}
    access = kube.access("old")
    with Api(access, clock=clock) as api:
        watched = watch(api=api)
        watched.live()
        kube.tokens = {"new"}
        access.next_token = "new"
        kube.end_watches()
        clock.advance(2)
        eventually(lambda: len(kube.asked("watch")) == 3)
        watched.live()
        assert access.reloads == 1
        assert set(watched.states) == {"live"}
        assert len(kube.asked("list")) == 1


def test_expired_token_is_said_and_recovers(kube: FakeKube, watch: Watch, clock: FakeClock) -> None:
    kube.tokens = {"good"}
    access = kube.access("expired")
    with Api(access, clock=clock) as api:
        watched = watch(api=api)
        eventually(lambda: watched.state == "unauthenticated")
        start = clock()
        eventually(lambda: clock() - start > 120)
        assert watched.most_in_a_second(start + 1) <= 2
        access.next_token = "good"
        watched.live()
    assert "expired" not in watched.reflector.health.text


def test_no_credentials_no_request(kube: FakeKube, watch: Watch, clock: FakeClock) -> None:
    access = kube.access()
    access.headers = lambda: (_ for _ in ()).throw(Unauthenticated("The token is empty."))  # type: ignore[method-assign]
    with Api(access, clock=clock) as api:
        watched = watch(api=api)
        eventually(lambda: watched.state == "unauthenticated")
        assert "The token is empty." in watched.reflector.health.text
        start = clock()
        eventually(lambda: clock() - start > 60)
        assert kube.asked() == []
        del access.headers
        watched.live()


# Rights [19]


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_forbidden_is_asked_for_once_a_minute(
    kube: FakeKube, watch: Watch, clock: FakeClock, verb: str
) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    kube.forbid(verb, "pods")
    if verb == "list":
        kube.compact()
    watched.next_watch()
    eventually(lambda: watched.state == "forbidden")
    assert watched.reflector.health.text.startswith(f"{verb} pods: ")
    assert f'cannot {verb} resource "pods"' in watched.reflector.health.text
    start, count = clock(), len(kube.asked())
    eventually(lambda: clock() - start > 1800)
    assert 25 <= len(kube.asked()) - count <= 34  # the first three are tried again soon
    assert names(watched.reflector) == ["a"]
    kube.allow(verb, "pods")
    restored = clock()
    watched.live()
    assert clock() - restored < 70


# The namespace [20]


@pytest.mark.parametrize("phase", ["Gone", "Terminating"])
def test_deleted_namespace(kube: FakeKube, watch: Watch, clock: FakeClock, phase: str) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    kube.delete_namespace(phase)
    eventually(lambda: watched.state == "gone")
    assert "namespace team" in watched.reflector.health.text
    assert watched.reflector.objects() == {}
    start, count = clock(), len(kube.asked())
    eventually(lambda: clock() - start > 1800)
    assert len(kube.asked()) - count <= 2 * 31
    assert watched.state == "gone"
    kube.restore_namespace()
    kube.put(PODS, pod("b"))
    eventually(lambda: names(watched.reflector) == ["b"] and watched.state == "live")


def test_namespace_we_may_not_look_at_is_not_gone(kube: FakeKube, watch: Watch) -> None:
    kube.forbid("get", "namespaces")
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    kube.remove(PODS, "a")
    eventually(lambda: len(kube.asked("get", "namespaces")) == 1)
    kube.put(PODS, pod("b"))
    eventually(lambda: names(watched.reflector) == ["b"])
    assert set(watched.states) <= {"starting", "live"}


# [40]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_grows_over_many_reconnects(kube: FakeKube, watch: Watch, clock: FakeClock) -> None:
    kube.put(PODS, pod("a"))
    kube.fail(verb="watch", times=None, action="lines", lines=[BOOKMARK])
    watched = watch()
    eventually(lambda: len(kube.asked("watch")) >= 50)
    threads, files = threading.active_count(), descriptors()
    eventually(lambda: len(kube.asked("watch")) >= 1000, 60)
    assert threading.active_count() <= threads + 2
    assert descriptors() <= files + 4
    assert watched.reflector.health.restarts == 0
    assert watched.most_in_a_second(0) <= 2
