"""Making, changing and giving back the objects of a cluster, against an API server that has controllers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jupyter_elastic.engines.kubernetes import changes as changing
from jupyter_elastic.engines.kubernetes import labels
from jupyter_elastic.engines.kubernetes.changes import Changes
from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.creating import Creator
from jupyter_elastic.engines.kubernetes.releasing import Releaser
from jupyter_elastic.errors import BadInput, Conflict, NotFound, Unreachable
from jupyter_elastic.keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS, Api
from jupyter_elastic.keeper.kube.errors import ApiError, Clash, Forbidden, Unavailable
from jupyter_elastic.models import ClusterSpec, HostEntry, HostList, Settings
from tests.fakes.kube import FakeKube

CONFIG = KubernetesConfig(default_image="train:1")
SPEC = ClusterSpec("tthvd", "horovod", 3, "kubernetes", launcher_mode="pod", owner="ann")
KINDS = (PODS, REPLICASETS, JOBS, CONFIGMAPS)


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        server.controllers.start()
        yield server


@pytest.fixture
def api(kube: FakeKube) -> Iterator[Api]:
    with Api(kube.access()) as calls:
        yield calls


@pytest.fixture
def creator(api: Api) -> Creator:
    return Creator(api, CONFIG, ("horovodrun",))


@pytest.fixture
def changes(api: Api) -> Changes:
    return Changes(api, api.server_now)


def wait_for(true: Callable[[], Any], seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not come to be in time"
        time.sleep(0.02)
    return value


def everything(api: Api) -> dict[str, set[str]]:
    return {
        kind.plural: {thing["metadata"]["name"] for thing in api.list(kind)[0]} for kind in KINDS
    }


def workers(api: Api, cluster: str) -> list[dict[str, Any]]:
    """Members of the set, those that are going left out."""
    found, _ = api.list(PODS, f"{labels.SET}={cluster}")
    return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]


def made(creator: Creator, api: Api, spec: ClusterSpec = SPEC) -> str:
    cluster = creator.create(spec, "op-1")
    wait_for(lambda: len(workers(api, cluster)) == spec.size - 1)
    return cluster


def test_create_makes_a_launcher_and_workers(creator: Creator, api: Api) -> None:
    cluster = made(creator, api)
    launcher = wait_for(lambda: api.list(PODS, f"{labels.ROLE}=launcher")[0])
    assert len(launcher) == 1
    job = api.get(JOBS, cluster)
    anchor = api.get(CONFIGMAPS, cluster)
    assert job["spec"]["suspend"] is False
    assert anchor["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    for kind, name in ((REPLICASETS, cluster), (CONFIGMAPS, f"{cluster}-keeper")):
        owners = api.get(kind, name)["metadata"]["ownerReferences"]
        assert [one["uid"] for one in owners] == [anchor["metadata"]["uid"]]


def test_the_same_operation_makes_one_cluster(creator: Creator, api: Api) -> None:
    cluster = made(creator, api)
    before = everything(api)
    assert creator.create(SPEC, "op-1") == cluster
    assert everything(api) == before
    with pytest.raises(Conflict) as caught:
        creator.create(SPEC, "op-2")
    assert caught.value.code == "name_taken"
    assert creator.create(dataclasses.replace(SPEC, owner="bob"), "op-3") != cluster


def test_bad_input_makes_nothing(creator: Creator, api: Api) -> None:
    with pytest.raises(BadInput):
        creator.create(dataclasses.replace(SPEC, image="not an image"), "")
    assert not any(everything(api).values())


@pytest.mark.parametrize("kind", ["jobs", "replicasets", "pods"])
def test_what_admission_refuses_in_the_trial_makes_nothing(
    kube: FakeKube, creator: Creator, api: Api, kind: str
) -> None:
    refuse = lambda _verb, plural, _body: "exceeded quota: small" if plural == kind else None  # noqa: E731
    kube.admission.append(refuse)
    with pytest.raises(Forbidden, match="exceeded quota"):
        creator.create(SPEC, "")
    assert not any(everything(api).values())


@pytest.mark.parametrize(
    "point", [("configmaps", 0), ("configmaps", 1), ("secrets", 0), ("replicasets", 0)]
)
def test_what_is_refused_half_way_is_taken_back(
    creator: Creator, api: Api, monkeypatch: pytest.MonkeyPatch, point: tuple[str, int]
) -> None:
    real, seen = api.create, {"n": 0}

    def create(kind: Any, body: Any, dry_run: bool = False) -> Any:
        if kind.plural == point[0] and not dry_run:
            seen["n"] += 1
            if seen["n"] == point[1] + 1:
                raise Unavailable("the server is gone")
        return real(kind, body, dry_run)

    monkeypatch.setattr(api, "create", create)
    with pytest.raises(Unavailable):
        creator.create(SPEC, "")
    wait_for(lambda: not any(everything(api).values()))


def test_a_creation_whose_answer_was_lost_is_found(
    creator: Creator, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.create

    def create(kind: Any, body: Any, dry_run: bool = False) -> Any:
        answer = real(kind, body, dry_run)
        if not dry_run and kind is not SECRETS:
            raise Unavailable("the answer was lost", maybe_done=True)
        return answer

    monkeypatch.setattr(api, "create", create)
    cluster = creator.create(SPEC, "op-1")
    monkeypatch.undo()
    wait_for(lambda: len(workers(api, cluster)) == 2)


def test_growing_and_shrinking(creator: Creator, changes: Changes, api: Api) -> None:
    cluster = made(creator, api)
    changes.scale(cluster, 5, expected=3, victims=(), grace=30, by="ann")
    wait_for(lambda: len(workers(api, cluster)) == 4)
    victims = sorted(workers(api, cluster), key=lambda pod: pod["metadata"]["name"])[:2]
    uids = tuple(pod["metadata"]["uid"] for pod in victims)
    changes.scale(cluster, 3, expected=5, victims=uids, grace=30, by="bob")
    # What was named is out of the set and lives on; nothing was made or deleted in its place.
    rest = wait_for(lambda: workers(api, cluster) if len(workers(api, cluster)) == 2 else None)
    assert not {pod["metadata"]["uid"] for pod in rest} & set(uids)
    for pod in victims:
        leaver = api.get(PODS, pod["metadata"]["name"])
        assert not leaver["metadata"].get("deletionTimestamp")
        assert labels.SET not in leaver["metadata"]["labels"]
        assert float(leaver["metadata"]["annotations"][labels.DRAIN_UNTIL]) > api.server_now() + 20
        assert [one["kind"] for one in leaver["metadata"]["ownerReferences"]] == ["ConfigMap"]
    anchor = changes.anchor(cluster)
    assert anchor.intent.pending is None
    assert anchor.intent.last_change is not None
    assert (anchor.intent.last_change.previous, anchor.intent.last_change.target) == (5, 3)
    assert "size 5 to 3 by bob" in anchor.intent.history


def test_a_size_that_is_not_the_expected_one(creator: Creator, changes: Changes, api: Api) -> None:
    cluster = made(creator, api)
    with pytest.raises(Conflict) as caught:
        changes.scale(cluster, 5, expected=4, victims=(), grace=30, by="ann")
    assert caught.value.detail["target"] == 3
    assert changes.anchor(cluster).intent.pending is None


def test_somebody_else_scales_in_between(
    creator: Creator, changes: Changes, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(creator, api)
    real = api.json_patch

    def patched(*args: Any) -> Any:
        api.merge_patch(REPLICASETS, cluster, {"spec": {"replicas": 6}})
        return real(*args)

    monkeypatch.setattr(api, "json_patch", patched)
    with pytest.raises(Conflict) as caught:
        changes.scale(cluster, 5, expected=3, victims=(), grace=30, by="ann")
    assert caught.value.detail["target"] == 7
    assert changes.anchor(cluster).intent.pending is None


class DoneFor(Exception):
    """The server was killed here."""


@pytest.mark.parametrize("calls", range(9))
@pytest.mark.parametrize("target", [2, 5])
def test_another_server_finishes_what_one_began(
    creator: Creator, api: Api, monkeypatch: pytest.MonkeyPatch, calls: int, target: int
) -> None:
    cluster = made(creator, api)
    now = [api.server_now()]
    first = Changes(api, lambda: now[0])
    victims = () if target > 3 else (workers(api, cluster)[0]["metadata"]["uid"],)
    left = [calls]
    real = api._sender.send

    def send(call: Any, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise DoneFor
        return real(call, *args, **kwargs)

    monkeypatch.setattr(api._sender, "send", send)
    killed = False
    try:
        first.scale(cluster, target, expected=3, victims=victims, grace=30, by="ann")
    except DoneFor:
        killed = True
    monkeypatch.undo()
    began = Changes(api, lambda: now[0]).anchor(cluster).intent.pending is not None
    second = Changes(api, lambda: now[0])
    assert second.finish(cluster) is False, "it may still be under way"
    now[0] += changing.STUCK_SECONDS + 1
    second.finish(cluster)
    anchor = second.anchor(cluster)
    assert anchor.intent.pending is None
    size = api.get(REPLICASETS, cluster)["spec"]["replicas"] + 1
    assert size == (target if began or not killed else size)
    assert size in (3, target)
    leavers = [
        pod
        for pod in api.list(PODS, labels.selector(cluster))[0]
        if labels.DRAIN_UNTIL in (pod["metadata"].get("annotations") or {})
    ]
    assert len(leavers) == (len(victims) if size == target else 0)
    if size == target:
        assert anchor.intent.last_change is not None
        assert anchor.intent.last_change.target == target


def test_a_size_that_is_refused_is_not_tried_again(
    kube: FakeKube, creator: Creator, changes: Changes, api: Api
) -> None:
    cluster = made(creator, api)
    kube.forbid("patch", "replicasets")
    with pytest.raises(Forbidden):
        changes.scale(cluster, 5, expected=3, victims=(), grace=30, by="ann")
    anchor = changes.anchor(cluster)
    assert (anchor.intent.pending, anchor.intent.last_change) == (None, None)
    kube.allow("patch", "replicasets")
    changes.scale(cluster, 5, expected=3, victims=(), grace=30, by="ann")
    assert api.get(REPLICASETS, cluster)["spec"]["replicas"] == 4


def test_a_change_under_way_keeps_others_out(
    creator: Creator, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(creator, api)
    changes = Changes(api, api.server_now)
    monkeypatch.setattr(changes, "_finish", lambda *_: None)
    changes.scale(cluster, 5, expected=3, victims=(), grace=30, by="ann")
    with pytest.raises(Conflict, match="being changed to 5"):
        Changes(api, api.server_now).scale(cluster, 4, expected=3, victims=(), grace=30, by="bob")


def hosts_of(pods: list[dict[str, Any]], generation: int) -> HostList:
    return HostList(
        generation,
        tuple(
            HostEntry(pod["metadata"]["uid"], pod["metadata"]["name"], f"10.9.0.{n}", 1)
            for n, pod in enumerate(pods, 1)
        ),
    )


def test_host_lists_follow_each_other(creator: Creator, changes: Changes, api: Api) -> None:
    cluster = made(creator, api)
    first = hosts_of(workers(api, cluster), 1)
    changes.commit_hosts(cluster, first)
    changes.commit_hosts(cluster, first)
    with pytest.raises(Conflict) as caught:
        changes.commit_hosts(cluster, hosts_of([], 1))
    assert caught.value.code == "generation"
    assert changes.anchor(cluster).hosts == first


def test_two_servers_swap_at_once(
    creator: Creator, changes: Changes, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(creator, api)
    real, other = api.merge_patch, Changes(api, api.server_now)
    once = [True]

    def patched(*args: Any) -> Any:
        if once.pop() if once else False:
            other.configure(cluster, Settings(script="/b.py"))
        return real(*args)

    monkeypatch.setattr(api, "merge_patch", patched)
    changes.commit_hosts(cluster, hosts_of([], 1))
    anchor = changes.anchor(cluster)
    assert anchor.about.settings.script == "/b.py"
    assert anchor.hosts.generation == 1


def leaver(changes: Changes, api: Api, cluster: str) -> dict[str, Any]:
    pod = workers(api, cluster)[0]
    changes.scale(cluster, 2, expected=3, victims=(pod["metadata"]["uid"],), grace=30, by="ann")
    wait_for(lambda: len(workers(api, cluster)) == 1)
    return pod


def test_a_leaver_is_deleted_once_it_is_out_of_the_list(
    creator: Creator, changes: Changes, api: Api
) -> None:
    cluster = made(creator, api)
    members = workers(api, cluster)
    with pytest.raises(Conflict) as caught:
        changes.remove(cluster, members[0]["metadata"]["uid"], "")
    assert caught.value.code == "not_draining"
    changes.commit_hosts(cluster, hosts_of(members, 1))
    pod = leaver(changes, api, cluster)
    uid = pod["metadata"]["uid"]
    with pytest.raises(Conflict) as caught:
        changes.remove(cluster, uid, "")
    assert caught.value.code == "still_listed"
    changes.commit_hosts(cluster, hosts_of(members[1:], 2))
    changes.remove(cluster, uid, "its rank had ended")
    wait_for(lambda: pod["metadata"]["name"] not in everything(api)["pods"])
    changes.remove(cluster, uid, "")
    assert f"{pod['metadata']['name']} removed: its rank had ended" in (
        changes.anchor(cluster).intent.history
    )
    assert len(workers(api, cluster)) == 1


def test_a_leaver_is_taken_back(creator: Creator, changes: Changes, api: Api) -> None:
    cluster = made(creator, api)
    pod = leaver(changes, api, cluster)
    uid = pod["metadata"]["uid"]
    changes.extend_drain(cluster, uid, 12345.5)
    notes = api.get(PODS, pod["metadata"]["name"])["metadata"]["annotations"]
    assert float(notes[labels.DRAIN_UNTIL]) == 12345.5
    changes.extend_drain(cluster, uid, None)
    assert api.get(REPLICASETS, cluster)["spec"]["replicas"] == 2
    wait_for(lambda: len(workers(api, cluster)) == 2)
    assert uid in {one["metadata"]["uid"] for one in workers(api, cluster)}
    with pytest.raises(Conflict) as caught:
        changes.extend_drain(cluster, uid, None)
    assert caught.value.code == "not_draining"


def test_release_leaves_nothing_and_may_be_repeated(
    creator: Creator, changes: Changes, api: Api
) -> None:
    cluster = made(creator, api)
    leaver(changes, api, cluster)
    other = creator.create(dataclasses.replace(SPEC, name="other"), "op-9")
    changes.mark_releasing(cluster)
    with pytest.raises(Conflict) as caught:
        changes.scale(cluster, 3, expected=2, victims=(), grace=1, by="ann")
    assert caught.value.code == "releasing"
    releaser = Releaser(api, sleep=lambda _: time.sleep(0.02))
    releaser.release(cluster)
    releaser.release(cluster)
    left = everything(api)
    assert not any(name.startswith(cluster) for names in left.values() for name in names)
    assert other in left["jobs"]
    with pytest.raises(NotFound):
        changes.anchor(cluster)


def test_release_names_what_does_not_end(creator: Creator, api: Api) -> None:
    cluster = made(creator, api)
    clock = iter(range(0, 10_000, 30))
    api_list = api.list

    def stubborn(kind: Any, *args: Any, **kwargs: Any) -> Any:
        if kind is not PODS:
            return api_list(kind, *args, **kwargs)
        pod = {"metadata": {"name": "stubborn"}, "spec": {"nodeName": "silent"}}
        return [pod], "1"

    api.list = stubborn  # type: ignore[method-assign]
    releaser = Releaser(api, sleep=lambda _: None, clock=lambda: float(next(clock)))
    with pytest.raises(Unreachable, match="stubborn on silent"):
        releaser.release(cluster)


def test_foreign_objects_are_neither_adopted_nor_deleted(
    creator: Creator, changes: Changes, api: Api
) -> None:
    cluster = made(creator, api)
    Releaser(api, sleep=lambda _: time.sleep(0.02)).release(cluster)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": cluster}, "data": {}}
    api.create(CONFIGMAPS, body)
    with pytest.raises(NotFound):
        changes.anchor(cluster)
    with pytest.raises(Conflict, match="is not ours"):
        creator.create(SPEC, "op-1")
    Releaser(api, sleep=lambda _: time.sleep(0.02)).release(cluster)
    assert cluster in everything(api)["configmaps"]


def test_errors_are_of_the_api(changes: Changes, kube: FakeKube) -> None:
    kube.down()
    with pytest.raises(ApiError) as caught:
        changes.anchor("x")
    assert not isinstance(caught.value, Clash)
