from __future__ import annotations

import copy
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_elastic.engines.base import ClusterFacts
from jupyter_elastic.engines.kubernetes import labels, notebook
from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.facts import NO_ANCHOR, WORKERS_GONE, cluster_facts
from jupyter_elastic.hostfile.membership import next_members
from jupyter_elastic.models import HostEntry, HostList, LastChange, Limit, to_json

from . import rawobjects as raw
from .test_reasons import garbage

CONFIG = KubernetesConfig()
QUOTA = (
    'pods "tthvd-bcd234-zzzzz" is forbidden: exceeded quota: team-a, requested: pods=1, used: pods=3, '
    "limited: pods=3"
)


def world(**fields: Any) -> dict[str, Any]:
    """Return a cluster of three that is well."""
    known: dict[str, Any] = {
        "configmaps": [raw.anchor()],
        "jobs": [raw.job()],
        "replicasets": [raw.workers(2)],
        "pods": [
            raw.pod("tthvd-bcd234-b", at=3.0, ip="10.244.1.3"),
            raw.pod("tthvd-bcd234-a", at=2.0, ip="10.244.1.2"),
            raw.pod("tthvd-bcd234-l", "launcher", at=1.0, ip="10.244.1.1"),
        ],
        "config": CONFIG,
    }
    return {**known, **fields}


def all_facts(**fields: Any) -> tuple[ClusterFacts, ...]:
    return cluster_facts(**world(**fields))


def facts(**fields: Any) -> ClusterFacts:
    found = all_facts(**fields)
    assert len(found) == 1
    return found[0]


def states(found: ClusterFacts) -> list[tuple[str, str]]:
    return [(one.name.removeprefix(f"{raw.ID}-"), one.state) for one in found.containers]


def test_a_cluster_that_is_well() -> None:
    found = facts()
    assert found.id == raw.ID
    assert found.target == 3
    assert found.created == raw.START
    assert found.settings.script == "/x.py"
    assert found.host_folder == "/etc/mpi"
    assert states(found) == [("l", "ready"), ("a", "ready"), ("b", "ready")]
    assert [one.role for one in found.containers] == ["launcher", "worker", "worker"]
    assert found.containers[0].created == raw.START + 1
    assert found.containers[1].host == "10.244.1.2"
    line = found.slots_by_uid["uid-tthvd-bcd234-a"]
    assert line == HostEntry("uid-tthvd-bcd234-a", "tthvd-bcd234-a", "10.244.1.2", 1)
    assert found.ended is None
    assert not found.releasing
    members = next_members(found, HostList(0), now=raw.START)
    assert [one.host for one in members] == ["10.244.1.1", "10.244.1.2", "10.244.1.3"]
    json.dumps(to_json(found))


@given(st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_the_order_of_objects_says_nothing(rng: random.Random) -> None:
    things = world()
    for key in ("pods", "configmaps", "jobs", "replicasets"):
        rng.shuffle(things[key])
    assert cluster_facts(**things) == all_facts()


def test_slots_and_gpus() -> None:
    asked = raw.spec(gpus_per_container=2, gpu_kind="Tesla-P4")
    pods = [
        raw.pod("l", "launcher", gpus=2),
        raw.pod("w", gpus=2, node=None, phase="Pending"),
    ]
    found = facts(configmaps=[raw.anchor(asked)], pods=pods, replicasets=[raw.workers(1)])
    assert [one.name for one in found.containers[0].gpus] == ["Tesla-P4", "Tesla-P4"]
    assert found.containers[1].gpus == (), "a pod without a node has no GPU yet"
    assert found.slots_by_uid["uid-l"].slots == 2
    assert "uid-w" not in found.slots_by_uid


def test_instants_are_those_of_the_local_clock() -> None:
    plain = facts()
    change = LastChange(2, 3, raw.START + 5, "ann", True)
    moved = facts(configmaps=[raw.anchor(last_change=change)], offset=7200.0)
    assert moved.created == plain.created - 7200
    assert moved.containers[0].since == plain.containers[0].since - 7200
    assert moved.containers[0].created == raw.START + 1 - 7200
    assert moved.last_change is not None
    assert moved.last_change.at == raw.START + 5 - 7200
    leaver = raw.leaving(raw.pod("x"), until=100)
    drained = facts(pods=[leaver], replicasets=[raw.workers(0)], offset=-3600.0).containers[-1]
    assert drained.drain_until == raw.START + 3700
    assert facts(offset=1.0) == plain, "less than a Date header can tell"


# -- leaving and going ---------------------------------------------------------------------------


def test_a_leaver_is_draining_and_no_member() -> None:
    change = LastChange(3, 2, raw.START + 50, "ann", True)
    things = world(configmaps=[raw.anchor(last_change=change)], replicasets=[raw.workers(1)])
    raw.leaving(things["pods"][0], until=80)
    found = cluster_facts(**things)[0]
    assert found.target == 2
    assert states(found) == [("l", "ready"), ("a", "ready"), ("b", "draining")]
    leaver = found.containers[2]
    assert leaver.drain_until == raw.START + 80
    assert leaver.since == raw.START + 50
    assert leaver.uid in found.slots_by_uid
    raw.deleting(things["pods"][0], at=60)
    leaver = cluster_facts(**things)[0].containers[2]
    assert leaver.state == "draining"
    assert leaver.reason is not None
    assert leaver.reason.code == "deleting"


def test_an_unreadable_drain_mark_waits_for_ever() -> None:
    pod = raw.leaving(raw.pod("x"), until=5)
    for value in ("nan", "inf", "-1", "soon", "1e300", None, 7):
        pod["metadata"]["annotations"][labels.DRAIN_UNTIL] = value
        leaver = facts(pods=[pod], replicasets=[raw.workers(0)]).containers[-1]
        assert (leaver.state, leaver.drain_until) == ("draining", None)


def test_a_pod_that_somebody_deleted_is_no_member_and_its_place_is_shown() -> None:
    things = world()
    raw.deleting(things["pods"][0], at=20)
    found = cluster_facts(**things)[0]
    assert states(found) == [
        ("l", "ready"), ("a", "ready"), ("b", "draining"), ("new-1", "not created"),
    ]  # fmt: skip
    assert found.containers[2].since == raw.START + 20
    things["pods"].append(raw.pod("tthvd-bcd234-c", at=21, ip="10.244.1.9"))
    found = cluster_facts(**things)[0]
    assert [name for name, _ in states(found)] == ["l", "a", "b", "c"]
    hosts = [one.host for one in next_members(found, HostList(0), now=raw.START + 22)]
    assert hosts == ["10.244.1.1", "10.244.1.2", "10.244.1.9"]


def test_what_was_evicted_is_shown_until_it_is_replaced() -> None:
    evicted = raw.pod("tthvd-bcd234-e", phase="Failed", ready=False, reason="Evicted", at=1.5)
    things = world()
    things["pods"][0] = evicted
    assert states(cluster_facts(**things)[0]) == [
        ("l", "ready"), ("e", "failed"), ("a", "ready"), ("new-1", "not created"),
    ]  # fmt: skip
    things["pods"].append(raw.pod("tthvd-bcd234-c", at=9))
    assert states(cluster_facts(**things)[0]) == [("l", "ready"), ("a", "ready"), ("c", "ready")]


# -- what was not created ------------------------------------------------------------------------


def test_quota_makes_rows_that_say_so() -> None:
    failure = raw.condition("ReplicaFailure", "True", 30, "FailedCreate", QUOTA)
    found = facts(replicasets=[raw.workers(4, failure)])
    assert states(found)[3:] == [("new-1", "not created"), ("new-2", "not created")]
    missing = found.containers[3]
    assert missing.uid == "tthvd-bcd234/missing/1"
    assert missing.since == raw.START + 30
    assert missing.created is None
    assert missing.reason is not None
    assert missing.reason.code == "quota"
    assert missing.reason.text.startswith("Quota team-a allows 3 containers and 3 are used")
    over = raw.condition("ReplicaFailure", "False", 30, "FailedCreate", QUOTA)
    again = facts(replicasets=[raw.workers(4, over)]).containers[3]
    assert again.reason is not None
    assert again.reason.code == "creating"


def test_an_event_counts_only_while_it_is_the_newest_word() -> None:
    event = raw.event(raw.SET_UID, "FailedCreate", f"Error creating: {QUOTA}", 40)
    change = LastChange(3, 4, raw.START + 35, "ann", True)

    def reason(change: LastChange | None, **fields: Any) -> str:
        configmaps = [raw.anchor(last_change=change)]
        found = facts(configmaps=configmaps, replicasets=[raw.workers(3)], events=[event], **fields)
        assert found.containers[-1].reason is not None
        return found.containers[-1].reason.code

    assert reason(change) == "quota"
    assert reason(LastChange(3, 4, raw.START + 60, "ann", True)) == "creating"
    assert reason(change, pods=[raw.pod("w", at=50)]) == "creating"


def test_a_launcher_that_could_not_be_created() -> None:
    event = raw.event(raw.JOB_UID, "FailedCreate", f"Error creating: {QUOTA}", 2)
    found = facts(pods=[], events=[event], replicasets=[raw.workers(0)])
    assert states(found) == [("launcher", "not created")]
    assert found.containers[0].reason is not None
    assert found.containers[0].reason.code == "quota"
    found = facts(pods=[], jobs=[], replicasets=[raw.workers(0)])
    assert found.containers[0].reason is not None
    assert found.containers[0].reason.code == "launcher_gone"
    assert next_members(found, HostList(0), now=raw.START) == ()


def test_a_replaced_launcher_is_another_container() -> None:
    old = raw.deleting(raw.pod("l-1", "launcher", at=1, ip="10.244.1.1"), at=20)
    new = raw.pod("l-2", "launcher", at=21, ip="10.244.1.8")
    found = facts(pods=[old, new], replicasets=[raw.workers(0)])
    assert [(one.uid, one.state) for one in found.containers] == [
        ("uid-l-2", "ready"), ("uid-l-1", "draining"),
    ]  # fmt: skip
    before = HostList(4, (HostEntry("uid-l-1", "l-1", "10.244.1.1", 1),))
    assert [one.host for one in next_members(found, before, raw.START)] == ["10.244.1.8"]
    found = facts(pods=[old], replicasets=[raw.workers(0)])
    assert [one.state for one in found.containers] == ["not created", "draining"]
    # The same pod with a new network keeps its uid and gets a new line.
    renewed = raw.pod("l-2", "launcher", at=21, ip="10.244.1.9")
    found = facts(pods=[renewed], replicasets=[raw.workers(0)])
    assert found.slots_by_uid["uid-l-2"].host == "10.244.1.9"


# -- mode here -----------------------------------------------------------------------------------


def test_the_notebook_is_the_launcher_of_mode_here() -> None:
    anchor = raw.anchor(raw.spec(launcher_mode="here"))
    anchor["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "n-1"}]
    mine = notebook.Notebook("n-1", "jupyter-ann", "10.9.9.9", "x", gpus=(("nvidia.com/gpu", 1),))
    things = world(configmaps=[anchor], jobs=[], pods=[raw.pod("w")], replicasets=[raw.workers(1)])
    found = cluster_facts(**things, notebooks=[mine])[0]
    assert [(one.name, one.role, one.state) for one in found.containers] == [
        ("jupyter-ann", "launcher", "ready"), ("w", "worker", "ready"),
    ]  # fmt: skip
    assert found.slots_by_uid["n-1"].host == "10.9.9.9"
    assert len(found.containers[0].gpus) == 1
    # Owned by what controls the pod: the same.
    anchor["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "uid": "s-1"}]
    by_set = notebook.Notebook("n-2", "jupyter-ann", "10.9.9.9", "x", owner={"uid": "s-1"})
    assert cluster_facts(**things, notebooks=[by_set])[0].containers[0].uid == "n-2"
    assert cluster_facts(**things, notebooks=[mine])[0].containers[0].state == "not created"


def test_a_notebook_with_our_label_is_not_listed_twice() -> None:
    anchor = raw.anchor(raw.spec(launcher_mode="here"))
    anchor["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "uid-n"}]
    pod = raw.pod("n", "launcher")
    pod["metadata"]["ownerReferences"] = []
    pod["spec"]["containers"][0]["name"] = "notebook"
    pod["status"]["containerStatuses"][0]["name"] = "notebook"
    found = facts(
        configmaps=[anchor], jobs=[], pods=[pod], replicasets=[raw.workers(0)],
        notebooks=[notebook.Notebook("uid-n", "n", "10.1.1.1", "x")],
    )  # fmt: skip
    assert [(one.uid, one.state) for one in found.containers] == [("uid-n", "ready")]


# -- changes by others ---------------------------------------------------------------------------


def test_the_target_is_what_the_set_says() -> None:
    assert facts(replicasets=[raw.workers(7)]).target == 8
    assert facts(replicasets=[raw.workers(0)]).target == 1


def test_without_its_set_a_cluster_cannot_grow() -> None:
    asked = Limit(64, "many")
    new = facts(replicasets=[], limit=lambda spec, size: asked)
    assert (new.target, new.limit) == (3, asked), "it is only being made"
    hosts = HostList(2, (HostEntry("u", "n", "h", 1),))
    old = facts(configmaps=[raw.anchor(hosts=hosts)], replicasets=[])
    assert (old.target, old.limit) == (1, WORKERS_GONE)
    assert old.host_list == hosts


def test_without_its_anchor_a_cluster_is_shown_to_be_given_back() -> None:
    found = facts(configmaps=[])
    assert found.ended == NO_ANCHOR
    assert found.spec == raw.spec()
    assert found.created == raw.START
    assert len(found.containers) == 3
    assert all_facts(configmaps=[], jobs=[raw.job(suspend=True)]) == (), "it is only being made"
    assert all_facts(configmaps=[], jobs=[]) == (), "the garbage collector is at it"


@pytest.mark.parametrize("data", [None, {}, {"cluster": "{", "hosts": "[]", "intent": "1"}, [1]])
def test_a_broken_anchor_takes_no_other_cluster_with_it(data: Any) -> None:
    broken = raw.anchor()
    broken["data"] = data
    broken["metadata"]["name"] = "other-1"
    broken["metadata"]["labels"] = labels.of_cluster("other-1")
    found = all_facts(configmaps=[raw.anchor(), broken])
    by_id = {one.id: one for one in found}
    assert by_id[raw.ID] == facts()
    assert by_id["other-1"].ended == NO_ANCHOR
    assert by_id["other-1"].spec.name == "tthvd", "from its annotation"


def test_foreign_objects_are_never_ours() -> None:
    foreign = raw.pod("foreign")
    foreign["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "uid": "somebody-elses"}]
    unlabelled = raw.pod("unlabelled")
    unlabelled["metadata"]["labels"].pop(labels.MANAGED_BY)
    anchor = raw.anchor()
    anchor["metadata"]["labels"] = {}
    found = facts(pods=[*world()["pods"], foreign, unlabelled])
    assert len(found.containers) == 3
    assert all_facts(configmaps=[anchor], jobs=[], replicasets=[], pods=[]) == ()
    keeper = raw.anchor()
    keeper["metadata"]["name"] = f"{raw.ID}-keeper"
    assert facts(configmaps=[keeper, raw.anchor()]) == facts()


def test_the_end_of_the_job_is_the_end() -> None:
    deadline = raw.condition("Failed", "True", 99, "DeadlineExceeded", "Job was active longer")
    found = facts(jobs=[raw.job(deadline)])
    assert found.ended is not None
    assert found.ended.code == "deadline"
    found = facts(jobs=[raw.job(raw.condition("Complete", "True", 99))])
    assert found.ended is not None
    assert found.ended.code == "given_back"
    assert facts(jobs=[raw.job(raw.condition("Suspended", "False", 9))]).ended is None
    failed = raw.condition("Failed", "True", 99, "BackoffLimitExceeded", "x")
    found = facts(jobs=[raw.job(failed)])
    assert found.ended is not None
    assert found.ended.code == "launcher_failed"


def test_releasing_is_seen_by_any_server() -> None:
    assert facts(configmaps=[raw.anchor(releasing=True)]).releasing
    assert facts(configmaps=[raw.deleting(raw.anchor(), 5)]).releasing
    assert facts(jobs=[raw.deleting(raw.job(), 5)]).releasing


# -- broken objects ------------------------------------------------------------------------------


def test_a_broken_pod_is_shown_and_the_rest_survives() -> None:
    several: list[Any] = [None, {}, [], "x"]
    for broken in several:
        pod = raw.pod("tthvd-bcd234-c", at=9)
        pod["status"] = broken
        pod["spec"] = broken
        found = facts(pods=[*world()["pods"], pod])
        assert states(found)[3:] == [("c", "unknown")]
    bare = {"metadata": {"labels": raw.pod()["metadata"]["labels"], "ownerReferences": None}}
    found = facts(pods=[*world()["pods"], bare, None, 7, {"metadata": None}])
    assert [one.state for one in found.containers] == ["ready", "unknown", "ready", "ready"]


@given(st.lists(st.tuples(st.integers(0, 10**9), garbage), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_nothing_is_raised_whatever_is_broken(damage: list[tuple[int, Any]]) -> None:
    things = copy.deepcopy(
        world(
            events=[raw.event(raw.SET_UID, "FailedCreate", QUOTA, 4)],
            replicasets=[raw.workers(4, raw.condition("ReplicaFailure", "True", 3, "x", QUOTA))],
        )
    )
    config = things.pop("config")
    for place, instead in damage:
        _damage(things, place, instead)
    parts: dict[str, Any] = {
        key: value if isinstance(value, list) else [] for key, value in things.items()
    }
    found = cluster_facts(**parts, config=config)
    json.dumps(to_json(found))
    for one in found:
        next_members(one, one.host_list, raw.START)


def _damage(value: Any, place: int, instead: Any) -> None:
    depth = 2 + place % 6
    while depth and isinstance(value, (dict, list)) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[place % len(keys)]
        place //= len(keys)
        depth -= 1
        if not depth or not isinstance(value[key], (dict, list)) or not value[key]:
            value[key] = instead
            return
        value = value[key]


def test_a_thousand_workers_are_read_in_a_moment() -> None:
    pods = [raw.pod(f"w-{n}", at=n % 60, ip=f"10.{n // 250}.1.{n % 250}") for n in range(1000)]
    things = world(pods=[*pods, raw.pod("l", "launcher")], replicasets=[raw.workers(1000)])
    began = time.process_time()
    found = cluster_facts(**things)[0]
    assert time.process_time() - began < 1.0
    assert len(found.containers) == 1001
