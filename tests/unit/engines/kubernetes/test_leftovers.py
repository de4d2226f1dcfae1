"""What belongs to no living cluster is found, and only that is deleted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_elastic import cli
from jupyter_elastic.engines.kubernetes import anchor as anchors
from jupyter_elastic.engines.kubernetes import labels, leftovers
from jupyter_elastic.engines.kubernetes.leftovers import SETTLED_SECONDS, find, sweep_by
from jupyter_elastic.errors import ElasticError, Forbidden
from jupyter_elastic.keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS
from jupyter_elastic.models import ClusterSpec, HostList, Settings

from ....fakes.kube import FakeKube

Json = dict[str, Any]
NOW = 1_800_000_000.0
OLD, YOUNG = SETTLED_SECONDS + 60, SETTLED_SECONDS - 60


def stamp(age: float, now: float = NOW) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - age))


def thing(name: str, cluster: str = "a-1", age: float = OLD, **more: Any) -> Json:
    metadata = {
        "name": name,
        "uid": f"uid-{name}-{more.pop('uid', '')}",
        "creationTimestamp": stamp(age, more.pop("now", NOW)),
        "labels": labels.of_cluster(cluster),
        **more.pop("metadata", {}),
    }
    return {"metadata": metadata, **more}


def owned(by: str) -> Json:
    return {"ownerReferences": [{"uid": by, "kind": "Job", "name": "a-1"}]}


def names(objects: Any, owners: dict[str, bool] | None = None) -> list[str]:
    return [one.name for one in find(objects, owners or {}, NOW)[0]]


def anchor(releasing: bool = False, **more: Any) -> Json:
    about = anchors.About(ClusterSpec("a", "horovod", 2, "kubernetes"), Settings(), NOW - OLD)
    data = anchors.to_data(about, HostList(0), anchors.Intent(releasing=releasing))
    metadata = {"resourceVersion": "1", **more.pop("metadata", {})}
    return thing(
        "a-1",
        uid="anchor",
        metadata=metadata,
        data=data,
        **more,
    )


def test_all_that_is_left_in_the_order_to_delete_it() -> None:
    objects = {
        CONFIGMAPS: [thing("a-1-keeper")],
        SECRETS: [thing("a-1-ssh")],
        PODS: [thing("a-1-x")],
        REPLICASETS: [thing("a-1")],
    }
    found, living = find(objects, {}, NOW)
    assert [one.name for one in found] == ["a-1", "a-1-x", "a-1-ssh", "a-1-keeper"]
    assert living == []
    assert {one.cluster for one in found} == {"a-1"}
    assert found[0].age == pytest.approx(OLD, abs=1)


@pytest.mark.parametrize(
    "keeps",
    [
        {JOBS: [thing("a-1")]},
        {CONFIGMAPS: [anchor()]},
        {CONFIGMAPS: [anchor(metadata=owned("unreadable"))]},
        {CONFIGMAPS: [thing("a-1")]},  # of a version that cannot be read
        {PODS: [thing("a-1-y", age=YOUNG)]},
        {JOBS: [thing("a-1", age=YOUNG, spec={"suspend": True})]},
        {JOBS: [thing("a-1", status={"conditions": [{"type": "Failed", "status": "True"}]})]},
        {CONFIGMAPS: [anchor(releasing=True, age=YOUNG)]},
    ],
)
def test_a_living_cluster_keeps_all_of_it(keeps: Any) -> None:
    objects = {**{REPLICASETS: [thing("a-1")], SECRETS: [thing("a-1-ssh")]}, **keeps}
    assert find(objects, {}, NOW) == ([], ["a-1"])


@pytest.mark.parametrize(
    "rest",
    [
        {CONFIGMAPS: [anchor(metadata=owned("gone"))]},
        {JOBS: [thing("a-1", spec={"suspend": True})]},
        {JOBS: [thing("a-1", status={"conditions": [{"type": "Complete", "status": "True"}]})]},
        {CONFIGMAPS: [anchor(releasing=True)], JOBS: [thing("a-1")]},
        {CONFIGMAPS: [anchor(metadata={"deletionTimestamp": stamp(OLD)})]},
    ],
)
def test_a_cluster_that_is_over_leaves_all_of_it(rest: Any) -> None:
    objects = {REPLICASETS: [thing("a-1")], **rest}
    found = names(objects, {"gone": False})
    assert len(found) == sum(map(len, objects.values()))


def test_what_is_not_ours_is_never_seen() -> None:
    foreign = thing("a-1")
    foreign["metadata"]["labels"][labels.MANAGED_BY] = "helm"
    without = thing("a-1-x", metadata={"labels": {labels.MANAGED_BY: labels.MANAGER}})
    assert find({REPLICASETS: [foreign], PODS: [without]}, {}, NOW) == ([], [])


def test_a_write_makes_it_young_and_no_time_too() -> None:
    written = thing("a-1", metadata={"managedFields": [{"time": stamp(10)}]})
    timeless = thing("b-1", "b-1", metadata={"creationTimestamp": None})
    assert names({REPLICASETS: [written, timeless]}) == []


def test_a_new_status_does_not_make_it_young() -> None:
    fields = [{"time": stamp(10), "subresource": "status"}]
    assert names({PODS: [thing("a-1-x", metadata={"managedFields": fields})]}) == ["a-1-x"]


def test_one_cluster_does_not_speak_for_another() -> None:
    objects = {JOBS: [thing("a-1")], PODS: [thing("b-1-x", "b-1"), thing("a-1-x")]}
    assert names(objects) == ["b-1-x"]


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        now = time.time()
        server.put(REPLICASETS, thing("dead-1", "dead-1", now=now, spec={"replicas": 0}))
        server.put(CONFIGMAPS, thing("dead-1-keeper", "dead-1", now=now))
        server.put(SECRETS, thing("dead-1-ssh", "dead-1", now=now))
        server.put(JOBS, thing("live-1", "live-1", now=now))
        server.put(SECRETS, thing("live-1-ssh", "live-1", now=now))
        foreign = thing("mine", "dead-1", now=now)
        foreign["metadata"]["labels"][labels.MANAGED_BY] = "me"
        server.put(CONFIGMAPS, foreign)
        yield server


def everything(kube: FakeKube) -> set[str]:
    return {
        one["metadata"]["name"]
        for kind in (REPLICASETS, CONFIGMAPS, SECRETS, JOBS)
        for one in kube.all(kind)
    }


def test_listing_deletes_nothing(kube: FakeKube) -> None:
    before = everything(kube)
    report = sweep_by(kube.access())
    assert [one.name for one in report.found] == ["dead-1", "dead-1-ssh", "dead-1-keeper"]
    assert report.living == ("live-1",)
    assert everything(kube) == before
    assert not kube.asked("delete")
    assert "--delete" in "\n".join(report.lines())


def test_deleting_is_by_uid_and_spares_the_living(kube: FakeKube) -> None:
    report = sweep_by(kube.access(), delete=True)
    assert len(report.deleted) == 3
    assert everything(kube) == {"live-1", "live-1-ssh", "mine"}
    for request in kube.asked("delete"):
        assert request.body["preconditions"]["uid"]
    assert report.lines()[-1].startswith("3 deleted in team; living clusters: live-1")
    assert sweep_by(kube.access()).lines()[0].startswith("Nothing is left over in team")


def test_an_object_of_the_same_name_made_meanwhile_stays(
    kube: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = leftovers.look

    def look(api: Any) -> Any:
        seen = real(api)
        kube.remove(REPLICASETS, "dead-1")
        kube.put(REPLICASETS, thing("dead-1", "dead-1", uid="new"))
        return seen

    monkeypatch.setattr(leftovers, "look", look)
    sweep_by(kube.access(), delete=True)
    assert kube.find(REPLICASETS, "dead-1") is not None


def test_secrets_that_may_not_be_listed_are_said(kube: FakeKube) -> None:
    kube.forbid("list", "secrets")
    report = sweep_by(kube.access())
    assert [one.name for one in report.found] == ["dead-1", "dead-1-keeper"]
    assert "Secrets may not be listed" in report.lines()[-1]


def test_half_a_picture_is_no_picture(kube: FakeKube) -> None:
    kube.forbid("list", "jobs")
    with pytest.raises(Forbidden, match="list jobs"):
        sweep_by(kube.access(), delete=True)
    assert not kube.asked("delete")


def test_a_refused_delete_is_said_and_the_rest_goes_on(kube: FakeKube) -> None:
    kube.forbid("delete", "secrets")
    report = sweep_by(kube.access(), delete=True)
    assert len(report.deleted) == 2
    assert list(report.failed) == [report.found[1].uid]
    assert any("NOT deleted" in line for line in report.lines())


def test_an_owner_that_is_gone_or_another_one(kube: FakeKube) -> None:
    now = time.time()
    notebook = kube.put(PODS, {"metadata": {"name": "notebook"}})
    for name, uid in (("o-1", "no"), ("o-2", notebook["metadata"]["uid"])):
        reference = {"uid": uid, "kind": "Pod", "name": "notebook"}
        kube.put(CONFIGMAPS, thing(name, name, now=now, metadata={"ownerReferences": [reference]}))
    report = sweep_by(kube.access())
    assert "o-2" in report.living
    assert "o-1" in [one.name for one in report.found]


def test_command(
    kube: FakeKube, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Json] = []

    def connect(**where: Any) -> Any:
        asked.append(where)
        return kube.access()

    monkeypatch.setattr("jupyter_elastic.engines.kubernetes.connection.connect", connect)
    assert cli.main(["gc", "--namespace", "team", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["found"]] == ["dead-1", "dead-1-ssh", "dead-1-keeper"]
    assert asked[0]["namespace"] == "team"
    assert cli.main(["gc", "--delete"]) == 0
    assert "3 deleted" in capsys.readouterr().out
    kube.down()
    assert cli.main(["gc"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_no_such_kubeconfig_is_an_error_in_words() -> None:
    with pytest.raises(ElasticError, match="There is no kubeconfig"):
        leftovers.sweep(kubeconfig="/nowhere")
