"""What goes again, with which credentials, and what is no answer."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import (
    CONFIGMAPS,
    PODS,
    Api,
)
from jupyter_elastic.keeper.kube.errors import (
    ApiError,
    Clash,
    Unauthenticated,
    Unavailable,
)

from ...fakes.kube import FakeKube
from .conftest import FakeClock, pod

# Trying again


@pytest.fixture
def idempotent(kube: FakeKube, api: Api) -> dict[str, Any]:
    kube.put(CONFIGMAPS, {"metadata": {"name": "x"}})
    kube.put(PODS, pod("x"))
    return {
        "get": lambda: api.get(CONFIGMAPS, "x"),
        "list": lambda: api.list(CONFIGMAPS),
        "merge": lambda: api.merge_patch(CONFIGMAPS, "x", {"data": {"a": "1"}}),
        "apply": lambda: api.apply(CONFIGMAPS, "x", {"data": {"a": "1"}}),
        "delete": lambda: api.delete(CONFIGMAPS, "x"),
        "collection": lambda: api.delete_collection(CONFIGMAPS, "a=b"),
        "review": lambda: api.review("get", "", "pods"),
        "dry": lambda: api.create(CONFIGMAPS, {"metadata": {"name": "y"}}, dry_run=True),
    }


@pytest.mark.parametrize(
    "call", ["get", "list", "merge", "apply", "delete", "collection", "review", "dry"]
)
@pytest.mark.parametrize("fault", [{"status": 503}, {"action": "drop"}, {"status": 429}])
def test_harmless_calls_go_again(
    kube: FakeKube, idempotent: dict[str, Any], call: str, fault: Any
) -> None:
    kube.fail(times=2, **fault)
    idempotent[call]()
    assert len(kube.requests) == 3


def test_tries_end(kube: FakeKube, api: Api) -> None:
    kube.fail(times=None, status=503, body={"message": "no leader"})
    with pytest.raises(Unavailable, match="get pods: no leader") as caught:
        api.get(PODS, "x")
    assert (caught.value.status, caught.value.maybe_done) == (503, False)
    assert len(kube.requests) == 3


WRITES = {
    "create": lambda api: api.create(PODS, pod("new")),
    "patch": lambda api: api.json_patch(PODS, "x", [{"op": "test", "path": "/a", "value": 1}]),
    "swap": lambda api: api.merge_patch(PODS, "x", {"metadata": {"resourceVersion": "1"}}),
}


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("fault", [{"status": 500}, {"action": "drop"}, {"action": "silent"}])
def test_writes_that_may_have_happened_go_once(
    kube: FakeKube, clock: FakeClock, call: str, fault: Any
) -> None:
    kube.put(PODS, pod("x"))
    kube.fail(times=None, **fault)
    with kube.api(timeout=0.1, clock=clock, sleep=clock.sleep) as api:
        with pytest.raises(Unavailable) as caught:
            WRITES[call](api)
    assert caught.value.maybe_done is True
    assert len(kube.requests) == 1


def test_write_whose_answer_was_lost_is_there(kube: FakeKube, api: Api) -> None:
    api.list(PODS)  # from now on there is a connection that is kept
    kube.fail(verb="create", action="lost")
    with pytest.raises(Unavailable) as caught:
        api.create(PODS, pod("x"))
    assert caught.value.maybe_done
    assert len(kube.asked("create")) == 1
    assert api.get(PODS, "x")


def test_writes_on_a_connection_the_server_closed(kube: FakeKube, api: Api) -> None:
    for number in range(5):
        api.create(PODS, pod(f"x{number}"))
        kube.cut(reset=number % 2 == 0)
        time.sleep(0.02)
    assert len(kube.all(PODS)) == 5


@pytest.mark.parametrize("call", WRITES)
def test_writes_that_did_not_arrive_go_again(kube: FakeKube, clock: FakeClock, call: str) -> None:
    kube.put(PODS, pod("x"))
    api = Api(kube.access(), clock=clock, sleep=clock.sleep)
    kube.down()
    with pytest.raises(Unavailable, match="refuses connections") as caught:
        WRITES[call](api)
    assert caught.value.maybe_done is False
    assert len(clock.waits) == 2
    kube.up()
    kube.fail(status=429)
    # The two patches do not fit; that is an answer too.
    with contextlib.suppress(Clash):
        WRITES[call](api)
    assert len(kube.requests) == 2
    api.close()


def test_retry_after_is_obeyed_where_there_is_time(kube: FakeKube, clock: FakeClock) -> None:
    kube.put(PODS, pod("x"))
    with kube.api(timeout=10, clock=clock, sleep=clock.sleep) as api:
        kube.fail(status=429, headers={"Retry-After": "7"})
        api.get(PODS, "x")
        assert clock.waits == [7.0]
        kube.fail(status=429, headers={"Retry-After": "30"})
        with pytest.raises(Unavailable) as caught:
            api.get(PODS, "x")
        assert caught.value.retry_after == 30
        assert clock.waits == [7.0]


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 422])
def test_what_is_refused_is_not_asked_again(kube: FakeKube, api: Api, status: int) -> None:
    kube.fail(times=None, status=status)
    with pytest.raises(ApiError):
        api.get(PODS, "x")
    assert len(kube.requests) == 1


# Credentials


def test_401_loads_the_credentials_again_once(kube: FakeKube) -> None:
    kube.tokens = {"new"}
    kube.put(PODS, pod("x"))
    access = kube.access("old")
    with Api(access) as api:
        with pytest.raises(Unauthenticated):
            api.create(PODS, pod("y"))
        assert (access.reloads, len(kube.requests)) == (1, 2)
        access.token, access.next_token = "old", "new"
        api.create(PODS, pod("y"))
        assert (access.reloads, len(kube.requests)) == (2, 4)
        access.token = "old"
        api.log("x")
        assert access.reloads == 3


@pytest.mark.parametrize("error", [OSError("no file"), ValueError("odd"), Unauthenticated("none")])
@pytest.mark.parametrize("method", ["headers", "reload"])
def test_without_credentials_nothing_is_sent(kube: FakeKube, error: Exception, method: str) -> None:
    def broken() -> Any:
        raise error

    kube.tokens = {"good"}
    access = kube.access("bad")
    setattr(access, method, broken)
    with Api(access) as api:
        for call in (lambda: api.get(PODS, "x"), lambda: api.watch(PODS, "1")):
            with pytest.raises(Unauthenticated, match=str(error)):
                call()
    assert len(kube.requests) == (0 if method == "headers" else 2)


def test_no_error_holds_the_token(kube: FakeKube) -> None:
    token = "canary\nsecond-line"
    with kube.api(token, sleep=lambda _: None) as api:
        for call in (lambda: api.get(PODS, "x"), lambda: api.watch(PODS, "1")):
            with pytest.raises(ApiError) as caught:
                call()
            assert "canary" not in f"{caught.value!r} {caught.value} {caught.value.__cause__!r}"


# Answers that are none


@pytest.mark.parametrize("body", ["", "hello", "[]", "null", '{"a": ', "[" * 100_000])
def test_answers_that_are_no_object(kube: FakeKube, clock: FakeClock, body: str) -> None:
    kube.fail(times=None, status=200, body=body)
    with kube.api(clock=clock, sleep=clock.sleep) as api, pytest.raises(Unavailable):
        api.get(PODS, "x")


@pytest.mark.parametrize("call", ["get", "watch", "log"])
def test_silence_is_bounded(kube: FakeKube, call: str) -> None:
    kube.put(PODS, pod("x"))
    kube.fail(times=None, action="silent")
    with kube.api(timeout=0.1, sleep=lambda _: None) as api:
        start = time.monotonic()
        with pytest.raises(Unavailable, match="does not answer in time"):
            {
                "get": lambda: api.get(PODS, "x"),
                "watch": lambda: api.watch(PODS, "1"),
                "log": lambda: api.log("x"),
            }[call]()
        assert time.monotonic() - start < 1
