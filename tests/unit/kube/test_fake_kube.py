"""The fake server lies as the real one does: what was seen there holds here."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import CONFIGMAPS, EVENTS, JOBS, PODS, REPLICASETS, Api
from jupyter_elastic.keeper.kube.errors import Forbidden, Gone, Missing

from ...fakes.controllers import victims
from ...fakes.kube import FakeKube
from ...fakes.kubelet import PodScript
from ...fakes.patches import PatchFailedError, json_patch, selects
from .conftest import eventually, pod

LABELS = {"cluster": "c", "set": "c"}


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        server.controllers.start()
        yield server


@pytest.fixture
def api(kube: FakeKube) -> Iterator[Api]:
    with kube.api() as found:
        yield found


def replica_set(replicas: int) -> dict[str, Any]:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {
            "containers": [{"name": "main", "image": "i"}],
            "terminationGracePeriodSeconds": 30,
        },
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "c"}, "spec": spec}


def pods(kube: FakeKube) -> list[dict[str, Any]]:
    return [one for one in kube.all(PODS) if not one["metadata"].get("deletionTimestamp")]


def ready(kube: FakeKube) -> list[dict[str, Any]]:
    return [
        one
        for one in pods(kube)
        if any(
            c["type"] == "Ready" and c["status"] == "True"
            for c in one["status"].get("conditions", [])
        )
    ]


def scale(api: Api, old: int, new: int) -> None:
    path = "/spec/replicas"
    ops = [
        {"op": "test", "path": path, "value": old},
        {"op": "replace", "path": path, "value": new},
    ]
    api.json_patch(REPLICASETS, "c", ops)


def test_replica_set_makes_ready_pods(kube: FakeKube, api: Api) -> None:
    api.create(REPLICASETS, replica_set(3))
    eventually(lambda: len(ready(kube)) == 3)
    addresses = {one["status"]["podIP"] for one in pods(kube)}
    assert len(addresses) == 3
    eventually(lambda: api.get(REPLICASETS, "c")["status"].get("readyReplicas") == 3)
    for one in pods(kube):
        assert one["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        assert one["metadata"]["name"].startswith("c-")
        assert one["status"]["containerStatuses"][0]["ready"]


def test_replica_set_heals_under_another_name(kube: FakeKube, api: Api) -> None:
    api.create(REPLICASETS, replica_set(2))
    eventually(lambda: len(ready(kube)) == 2)
    before = {one["metadata"]["name"] for one in pods(kube)}
    gone = min(before)
    api.delete(PODS, gone, grace=0)
    eventually(
        lambda: len(ready(kube)) == 2 and gone not in {p["metadata"]["name"] for p in pods(kube)}
    )
    assert len({one["metadata"]["name"] for one in pods(kube)} & before) == 1


def test_detached_pod_is_released_and_a_surge_pod_comes_and_goes(kube: FakeKube, api: Api) -> None:
    anchor = api.create(CONFIGMAPS, {"metadata": {"name": "anchor"}})
    api.create(REPLICASETS, replica_set(3))
    eventually(lambda: len(ready(kube)) == 3)
    leaver = ready(kube)[0]["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "anchor",
        "uid": anchor["metadata"]["uid"],
    }
    change = {"uid": leaver["uid"], "labels": {"set": None}, "ownerReferences": [owner]}
    api.merge_patch(PODS, leaver["name"], {"metadata": change})
    eventually(lambda: len(pods(kube)) == 4)
    scale(api, 3, 2)
    eventually(lambda: len(pods(kube)) == 3)
    time.sleep(0.1)
    left = {one["metadata"]["uid"] for one in ready(kube)}
    assert leaver["uid"] in left
    assert len(left) == 3
    assert "deletionTimestamp" not in api.get(PODS, leaver["name"])["metadata"]


def test_lag_delays_what_the_controller_sees(kube: FakeKube, api: Api) -> None:
    api.create(REPLICASETS, replica_set(1))
    eventually(lambda: len(pods(kube)) == 1)
    kube.controllers.lag = 0.3
    scale(api, 1, 3)
    time.sleep(0.15)
    assert len(pods(kube)) == 1
    eventually(lambda: len(pods(kube)) == 3)


def test_quota_is_seen_in_condition_and_events_only(kube: FakeKube, api: Api) -> None:
    kube.controllers.quota_pods = 2
    api.create(REPLICASETS, replica_set(4))

    def condition() -> Any:
        return (api.get(REPLICASETS, "c")["status"].get("conditions") or [None])[0]

    eventually(lambda: "status" in api.get(REPLICASETS, "c") and condition())
    assert condition()["type"] == "ReplicaFailure"
    assert "exceeded quota: team-quota" in condition()["message"]
    assert len(pods(kube)) == 2
    event = api.list(EVENTS)[0][0]
    assert (event["reason"], event["involvedObject"]["name"]) == ("FailedCreate", "c")
    kube.controllers.quota_pods = None
    time.sleep(0.1)
    assert len(pods(kube)) == 2  # it waits for its next try
    api.merge_patch(REPLICASETS, "c", {"metadata": {"annotations": {"nudge": "1"}}})
    eventually(lambda: len(ready(kube)) == 4)
    eventually(lambda: condition() is None)


def test_phases_with_reasons(kube: FakeKube, api: Api) -> None:
    scripts = [
        PodScript(unschedulable="0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
        PodScript(waiting=("ImagePullBackOff", 'Back-off pulling image "i"')),
        PodScript(),
    ]
    kube.controllers.kubelet.script = lambda found: scripts[int(found["metadata"]["name"])]
    for number in range(3):
        api.create(PODS, pod(str(number)))
    eventually(lambda: len(ready(kube)) == 1)
    first = eventually(lambda: api.get(PODS, "0")["status"].get("conditions"))[0]
    assert (first["status"], first["reason"]) == ("False", "Unschedulable")
    eventually(lambda: api.list(EVENTS)[0])
    assert api.list(EVENTS)[0][0]["reason"] == "FailedScheduling"
    second = eventually(lambda: api.get(PODS, "1")["status"].get("containerStatuses"))[0]
    assert second["state"]["waiting"]["reason"] == "ImagePullBackOff"


def test_readiness_flaps_and_containers_restart(kube: FakeKube, api: Api) -> None:
    api.create(PODS, pod("x"))
    eventually(lambda: ready(kube))
    kubelet = kube.controllers.kubelet
    kubelet.set_ready("x", False)
    time.sleep(0.1)
    assert not ready(kube)
    kubelet.set_ready("x", True)
    assert ready(kube)
    kubelet.restart("x", 137, "OOMKilled")
    status = api.get(PODS, "x")["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 137)
    kubelet.end("x", "Failed", "Evicted", "low on memory")
    assert api.get(PODS, "x")["status"]["reason"] == "Evicted"


def test_pods_end_after_their_grace(kube: FakeKube, api: Api) -> None:
    kube.controllers.kubelet.script = lambda _found: PodScript(ending=0.3)
    api.create(PODS, pod("x"))
    eventually(lambda: ready(kube))
    api.delete(PODS, "x", grace=30)
    assert api.get(PODS, "x")["metadata"]["deletionGracePeriodSeconds"] == 30
    eventually(lambda: kube.find(PODS, "x") is None)
    api.create(PODS, pod("y"))
    api.delete(PODS, "y", grace=0)
    assert kube.find(PODS, "y") is None


def address(api: Api, name: str) -> str | None:
    return api.get(PODS, name)["status"].get("podIP")


@pytest.mark.parametrize("reuse", [False, True])
def test_addresses_come_again_on_demand(kube: FakeKube, api: Api, reuse: bool) -> None:
    kube.controllers.kubelet.reuse_addresses = reuse
    found = []
    for name in "ab":
        api.create(PODS, pod(name))
        found.append(eventually(partial(address, api, name)))
        api.delete(PODS, name)
        eventually(lambda: not kube.all(PODS))
    assert (found[0] == found[1]) is reuse


def test_job_ends_and_takes_what_it_owns(kube: FakeKube, api: Api) -> None:
    template = {
        "metadata": {"labels": {"role": "launcher"}},
        "spec": {"containers": [{"name": "main"}]},
    }
    job = api.create(
        JOBS,
        {"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 0, "template": template}},
    )
    owner = [{"kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}]
    anchor = api.create(CONFIGMAPS, {"metadata": {"name": "anchor", "ownerReferences": owner}})
    owner = [{"kind": "ConfigMap", "name": "anchor", "uid": anchor["metadata"]["uid"]}]
    api.create(CONFIGMAPS, {"metadata": {"name": "child", "ownerReferences": owner}})
    eventually(lambda: len(ready(kube)) == 1)
    first = pods(kube)[0]["metadata"]["name"]
    api.delete(PODS, first)
    eventually(lambda: [one["metadata"]["name"] for one in ready(kube)] not in ([], [first]))
    kube.controllers.kubelet.end(pods(kube)[0]["metadata"]["name"])
    eventually(lambda: not (kube.all(JOBS) + kube.all(CONFIGMAPS) + kube.all(PODS)))


def test_orphans_stay(kube: FakeKube, api: Api) -> None:
    api.create(REPLICASETS, replica_set(1))
    eventually(lambda: len(ready(kube)) == 1)
    api.delete(REPLICASETS, "c", propagation="Orphan")
    time.sleep(0.1)
    assert "ownerReferences" not in pods(kube)[0]["metadata"]


def worker(uid: str, **more: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": more.get("phase", "Running")}
    if "ready" in more:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1e9 - more["ready"]))
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}]
    status["containerStatuses"] = [{"restartCount": more.get("restarts", 0)}]
    cost = {"controller.kubernetes.io/pod-deletion-cost": str(more.get("cost", 0))}
    return {
        "metadata": {"uid": uid, "annotations": cost},
        "spec": {"nodeName": more.get("node", uid)},
        "status": status,
    }


def test_order_of_victims() -> None:
    order = [
        worker("unassigned", node="", phase="Pending"),
        worker("pending", phase="Pending"),
        worker("unready"),
        worker("cheap", ready=9999, cost=-5),
        worker("doubled-1", node="n", ready=5000),
        worker("doubled-2", node="n", ready=5000),
        worker("young", ready=10),
        worker("restarted", ready=5001, restarts=3),
        worker("a", ready=5002),
        worker("b", ready=5000),  # as old as the one before, by its logarithm
        worker("old", ready=90_000),
        worker("dear", ready=1, cost=7),
    ]
    shuffled = order.copy()
    random.Random(3).shuffle(shuffled)
    assert [one["metadata"]["uid"] for one in victims(shuffled, 1e9)] == [
        one["metadata"]["uid"] for one in order
    ]


# The server itself


def test_namespaces(kube: FakeKube, api: Api) -> None:
    api.create(CONFIGMAPS, {"metadata": {"name": "x"}})
    kube.delete_namespace("Terminating")
    assert api.list(CONFIGMAPS)[0] == []
    with pytest.raises(Forbidden, match="being terminated"):
        api.create(CONFIGMAPS, {"metadata": {"name": "x"}})
    kube.delete_namespace()
    with pytest.raises(Missing, match='namespaces "team" not found'):
        api.create(CONFIGMAPS, {"metadata": {"name": "x"}})


def test_admission(kube: FakeKube, api: Api) -> None:
    kube.admission.append(
        lambda verb, plural, body: (
            "violates PodSecurity" if (verb, plural) == ("create", "pods") else None
        )
    )
    with pytest.raises(Forbidden, match="violates PodSecurity"):
        api.create(PODS, pod("x"))
    api.create(REPLICASETS, replica_set(1))
    eventually(lambda: api.list(EVENTS)[0])
    assert "violates PodSecurity" in api.list(EVENTS)[0][0]["message"]


@pytest.mark.parametrize("form", ["status", "event", "page"])
def test_410_in_three_forms(kube: FakeKube, api: Api, form: str) -> None:
    version = str(kube.store.version)
    for number in range(3):
        kube.put(CONFIGMAPS, {"metadata": {"name": f"x{number}"}})
    if form == "status":
        kube.compact()
        with pytest.raises(Gone):
            api.watch(CONFIGMAPS, version)
    elif form == "event":
        kube.expire_watches("configmaps")
        with api.watch(CONFIGMAPS, str(kube.store.version)) as watch:
            assert next(watch).object["reason"] == "Expired"
    else:
        first = kube.rules.list("configmaps", "team", {"limit": "2"})
        kube.compact()
        token = first["metadata"]["continue"]
        with pytest.raises(Exception, match="too old"):
            kube.rules.list("configmaps", "team", {"limit": "2", "continue": token})


def test_equal_change_is_no_change(kube: FakeKube, api: Api) -> None:
    api.create(CONFIGMAPS, {"metadata": {"name": "x"}, "data": {"a": "1"}})
    version = kube.store.version
    api.merge_patch(CONFIGMAPS, "x", {"data": {"a": "1"}})
    assert kube.store.version == version


@pytest.mark.parametrize(
    ("selector", "means"),
    [
        ("", True),
        ("a=1", True),
        ("a==1,b=2", True),
        ("a=2", False),
        ("c=1", False),
        ("a!=2,c!=1", True),
        ("a!=1", False),
        ("a", True),
        ("c", False),
        ("!c,!d", True),
        ("!a", False),
        ("a in (1,3),b notin (3)", True),
        ("a in (2,3)", False),
        ("c notin (1)", True),
    ],
)
def test_selectors(selector: str, means: bool) -> None:
    assert selects(selector, {"a": "1", "b": "2"}) is means


def test_json_patches() -> None:
    target = {"a": {"b/c": [1, 2]}}
    ops: list[dict[str, Any]] = [
        {"op": "test", "path": "/a/b~1c/0", "value": 1},
        {"op": "add", "path": "/a/b~1c/-", "value": 3},
        {"op": "remove", "path": "/a/b~1c/0"},
        {"op": "add", "path": "/d", "value": None},
        {"op": "replace", "path": "/d", "value": 5},
    ]
    assert json_patch(target, ops) == {"a": {"b/c": [2, 3]}, "d": 5}
    assert target == {"a": {"b/c": [1, 2]}}
    for op in (
        {"op": "test", "path": "/a", "value": 1},
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "move", "path": "/a"},
    ):
        with pytest.raises(PatchFailedError):
            json_patch(target, [op])
