"""The calls, against the fake server; its record says what was really sent."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import (
    CONFIGMAPS,
    JOBS,
    NETWORKPOLICIES,
    PODS,
    REPLICASETS,
    SECRETS,
    Api,
)
from jupyter_elastic.keeper.kube.errors import (
    ApiError,
    BrokenStream,
    Clash,
    Forbidden,
    Gone,
    Invalid,
    Missing,
    Taken,
)

from ...fakes.kube import FakeKube
from .conftest import FakeClock, eventually, pod


def replica_set(replicas: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "rs"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"set": "rs"}}},
    }


# What is sent


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (PODS, "/api/v1/namespaces/team/pods/x"),
        (REPLICASETS, "/apis/apps/v1/namespaces/team/replicasets/x"),
        (JOBS, "/apis/batch/v1/namespaces/team/jobs/x"),
        (NETWORKPOLICIES, "/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/x"),
    ],
)
def test_paths(kube: FakeKube, api: Api, kind: Any, path: str) -> None:
    kube.put(kind, {"metadata": {"name": "x"}})
    assert api.get(kind, "x")["metadata"]["name"] == "x"
    assert kube.requests[-1].path == path


def test_server_behind_a_path() -> None:
    with FakeKube(prefix="/k8s/clusters/c-1") as kube, kube.api() as api:
        kube.put(PODS, pod("x"))
        assert api.get(PODS, "x")
        assert api.review("get", "", "pods")
        assert {one.path.split("/api")[0] for one in kube.requests} == {"/k8s/clusters/c-1"}


def test_names_cannot_leave_their_place(kube: FakeKube, api: Api) -> None:
    with pytest.raises(ApiError):
        api.get(PODS, "../secrets/x?a=b#c")
    assert kube.requests[-1].path.endswith("/namespaces/team/pods/..%2Fsecrets%2Fx%3Fa%3Db%23c")


def test_credentials_are_in_every_request(kube: FakeKube) -> None:
    kube.tokens = {"secret"}
    kube.put(PODS, pod("x"))
    with kube.api("secret") as api:
        api.get(PODS, "x")
        api.list(PODS)
        api.review("get", "", "pods")
        api.log("x")
        api.watch(PODS, "1000").close()
        api.delete(PODS, "x", grace=0)
    assert {one.headers["authorization"] for one in kube.requests} == {"Bearer secret"}


def test_list_pages_and_trims(kube: FakeKube, api: Api) -> None:
    for number in range(7):
        kube.put(PODS, pod(f"p{number}", even=str(number % 2 == 0)))
    items, version = api.list(PODS, "even=True", limit=2, trim=lambda found: found["metadata"])
    assert [item["name"] for item in items] == ["p0", "p2", "p4", "p6"]
    assert version == str(kube.store.version)
    assert [one.query["limit"] for one in kube.requests] == ["2", "2"]


def test_list_starts_again_once_when_a_page_has_expired(kube: FakeKube, api: Api) -> None:
    for number in range(5):
        kube.put(PODS, pod(f"p{number}"))
    kube.fail(verb="list", status=410, skip=2)
    assert len(api.list(PODS, limit=2)[0]) == 5
    assert ["continue" in one.query for one in kube.requests] == [False, True, True] * 2
    kube.fail(verb="list", status=410, skip=1)
    kube.fail(verb="list", status=410, skip=1)
    with pytest.raises(Gone):
        api.list(PODS, limit=2)
    kube.fail(verb="list", status=410)
    count = len(kube.requests)
    with pytest.raises(Gone):
        api.list(PODS, limit=2)
    assert len(kube.requests) == count + 1


def test_null_items_are_no_items(kube: FakeKube, api: Api) -> None:
    body = '{"metadata": {"resourceVersion": "5", "continue": null}, "items": null}'
    kube.fail(status=200, body=body)
    assert api.list(PODS) == ([], "5")


# Writing


def test_create_and_what_is_taken(kube: FakeKube, api: Api) -> None:
    made = api.create(PODS, pod("x"))
    assert made["metadata"]["uid"] == kube.all(PODS)[0]["metadata"]["uid"]
    with pytest.raises(Taken, match='create pods: pods "x" already exists'):
        api.create(PODS, pod("x"))


def test_dry_run_makes_nothing(kube: FakeKube, api: Api) -> None:
    api.create(PODS, pod("x"), dry_run=True)
    assert kube.all(PODS) == []
    kube.admission.append(lambda *_: "limit is 1")
    with pytest.raises(Forbidden, match="limit is 1"):
        api.create(PODS, pod("x"), dry_run=True)


def test_invalid_names_its_field(api: Api) -> None:
    with pytest.raises(Invalid, match=r"metadata\.name") as caught:
        api.create(PODS, pod("Not Valid"))
    assert caught.value.details["causes"][0]["field"] == "metadata.name"


def test_delete_by_uid(kube: FakeKube, api: Api) -> None:
    uid = kube.put(CONFIGMAPS, {"metadata": {"name": "x"}})["metadata"]["uid"]
    with pytest.raises(Clash):
        api.delete(CONFIGMAPS, "x", uid="another")
    assert kube.find(CONFIGMAPS, "x")
    api.delete(CONFIGMAPS, "x", uid=uid, propagation="Background", grace=5)
    assert kube.requests[-1].body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 5,
    }
    with pytest.raises(Missing):
        api.delete(CONFIGMAPS, "x")


def test_delete_collection(kube: FakeKube, api: Api) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        kube.put(SECRETS, {"metadata": {"name": name, "labels": {"cluster": label}}})
    api.delete_collection(SECRETS, "cluster=x")
    assert [found["metadata"]["name"] for found in kube.all(SECRETS)] == ["c"]
    with pytest.raises(ValueError, match="selector"):
        api.delete_collection(SECRETS, "")
    assert len(kube.requests) == 1


def test_json_patch_and_its_test(kube: FakeKube, api: Api) -> None:
    kube.put(REPLICASETS, replica_set(3))

    def ops(old: int, new: int) -> list[dict[str, Any]]:
        path = "/spec/replicas"
        return [
            {"op": "test", "path": path, "value": old},
            {"op": "replace", "path": path, "value": new},
        ]

    assert api.json_patch(REPLICASETS, "rs", ops(3, 2))["spec"]["replicas"] == 2
    with pytest.raises(Clash):
        api.json_patch(REPLICASETS, "rs", ops(3, 1))
    assert kube.requests[-1].headers["content-type"] == "application/json-patch+json"
    with pytest.raises(Missing):
        api.json_patch(REPLICASETS, "no", ops(3, 1))


def test_merge_patch_with_a_version(kube: FakeKube, api: Api) -> None:
    held = kube.put(CONFIGMAPS, {"metadata": {"name": "x"}, "data": {"a": "1", "b": "2"}})
    version = held["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version}, "data": {"a": None, "c": "3"}}
    assert api.merge_patch(CONFIGMAPS, "x", change)["data"] == {"b": "2", "c": "3"}
    with pytest.raises(Clash):
        api.merge_patch(CONFIGMAPS, "x", change)
    assert kube.requests[-1].headers["content-type"] == "application/merge-patch+json"


def test_merge_patch_with_a_uid(kube: FakeKube, api: Api) -> None:
    kube.put(PODS, pod("x", set="s"))
    body: dict[str, Any] = {"metadata": {"uid": "another", "labels": {"set": None}}}
    with pytest.raises(Clash):
        api.merge_patch(PODS, "x", body)
    body["metadata"]["uid"] = kube.all(PODS)[0]["metadata"]["uid"]
    assert api.merge_patch(PODS, "x", body)["metadata"]["labels"] == {}


def test_apply(kube: FakeKube, api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1"}}
    api.apply(CONFIGMAPS, "x", body, "keeper")
    api.apply(CONFIGMAPS, "x", {**body, "data": {"a": "2"}}, "keeper")
    assert kube.all(CONFIGMAPS)[0]["data"] == {"a": "2"}
    sent = kube.requests[-1]
    assert sent.headers["content-type"] == "application/apply-patch+yaml"
    assert sent.query == {"fieldManager": "keeper", "force": "true"}


def test_review(kube: FakeKube, api: Api) -> None:
    kube.forbid("create", "pods/exec")
    assert api.review("create", "apps", "replicasets")
    assert not api.review("create", "", "pods", "exec")
    assert kube.requests[-1].body["spec"]["resourceAttributes"] == {
        "namespace": "team",
        "verb": "create",
        "group": "",
        "resource": "pods",
        "subresource": "exec",
    }


@pytest.mark.parametrize(
    ("phase", "ends"), [("Active", False), ("Terminating", True), ("Gone", True)]
)
def test_namespace_ends(kube: FakeKube, api: Api, phase: str, ends: bool) -> None:
    kube.rules.namespaces["team"] = phase
    assert api.namespace_ends() is ends
    kube.forbid("get", "namespaces")
    assert api.namespace_ends() is False


# Logs


def test_log(kube: FakeKube, api: Api) -> None:
    kube.put(PODS, pod("x"))
    kube.logs["x", False] = b"".join(b"this is line %d\n" % number for number in range(10_000))
    kube.logs["x", True] = b"before\xff\n"
    whole = kube.logs["x", False]
    assert api.log("x") == whole
    assert api.log("x", "main", previous=True) == b"before\xff\n"
    assert kube.requests[-1].query == {"container": "main", "previous": "true"}
    assert api.log("x", tail_bytes=1000) == whole[-1000:]
    assert api.log("x", tail_bytes=0) == b""
    kube.logs["x", False] = b"\n" * 5000
    assert 0 < len(api.log("x", tail_bytes=1000)) <= 1000
    with pytest.raises(Missing, match="get pods/log"):
        api.log("y")


def test_log_followed_and_interrupted(kube: FakeKube, api: Api) -> None:
    kube.put(PODS, pod("x"))
    kube.logs["x", False] = b"one\n"
    stream = api.log("x", follow=True)
    found = bytearray()

    def read() -> None:
        for data in stream:
            found.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    eventually(lambda: bytes(found) == b"one\n")
    kube.logs["x", False] += b"two\n"
    eventually(lambda: bytes(found) == b"one\ntwo\n")
    stream.interrupt()
    reader.join(2)
    assert not reader.is_alive()
    stream.close()


# Watches


def test_watch(kube: FakeKube, api: Api) -> None:
    version = str(kube.store.version)
    kube.put(PODS, pod("a", app="x"))
    kube.put(PODS, pod("b"))
    with api.watch(PODS, version, "app=x", 1, silence=5) as watch:
        event = next(watch)
        assert (event.kind, event.object["metadata"]["name"]) == ("ADDED", "a")
        assert not watch.pending


def test_watch_ends_with_its_time(kube: FakeKube, api: Api) -> None:
    kube.bookmark_seconds = 0.3
    with api.watch(PODS, str(kube.store.version), timeout_seconds=1, silence=5) as watch:
        assert {event.kind for event in watch} == {"BOOKMARK"}


def test_watch_that_lasts_too_long_is_broken(kube: FakeKube, api: Api, clock: FakeClock) -> None:
    kube.bookmark_seconds = 0.05
    with api.watch(PODS, str(kube.store.version), timeout_seconds=300, silence=70) as watch:
        next(watch)
        clock.advance(371)
        with pytest.raises(BrokenStream, match=r"watch pods: .*longer"):
            list(watch)


# Time


def test_server_time_is_known_to_a_fraction(kube: FakeKube, clock: FakeClock) -> None:
    kube.store.skew = 1234.3
    kube.put(PODS, pod("x"))
    with kube.api() as api:
        assert api.server_time_offset == pytest.approx(0, abs=0.1)
        for _ in range(12):
            api.get(PODS, "x")
            time.sleep(0.09)
        assert api.server_time_offset == pytest.approx(1234.3, abs=0.15)
        assert api.server_now() == pytest.approx(time.time() + 1234.3, abs=0.15)
        kube.store.skew = -50.0
        api.get(PODS, "x")
        assert api.server_time_offset == pytest.approx(-50, abs=0.6)


def test_a_step_of_the_local_clock_does_not_move_the_servers(kube: FakeKube) -> None:
    wall = [1000.0]
    kube.put(PODS, pod("x"))
    with kube.api(wall=lambda: wall[0]) as api:
        api.get(PODS, "x")
        before = api.server_now()
        wall[0] += 7200
        assert api.server_now() == pytest.approx(before, abs=1)
        assert api.server_now() == pytest.approx(time.time(), abs=1.5)


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026", "0"])
def test_odd_dates_are_no_time(kube: FakeKube, date: str) -> None:
    kube.fail(status=200, body="{}", headers={"Date": date})
    with kube.api() as api:
        api.get(PODS, "x")
        assert abs(api.server_time_offset) < 1.5
