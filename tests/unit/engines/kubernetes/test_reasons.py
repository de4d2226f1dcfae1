from __future__ import annotations

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_elastic.engines.kubernetes import endings, images, refusals, scheduling, wording
from jupyter_elastic.engines.kubernetes.happenings import Happenings
from jupyter_elastic.engines.kubernetes.reasons import Pod, Verdict, judge

from . import rawobjects as raw

TAINTS = "2 node(s) had untolerated taint {nvidia.com/gpu: present}"
PREEMPTION = (
    " preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 "
    "Preemption is not helpful for scheduling."
)

# What schedulers of 1.29 to 1.34 say, and what a person reads.
SCHEDULER = [
    (
        f"0/3 nodes are available: 1 Insufficient nvidia.com/gpu, {TAINTS}.{PREEMPTION}",
        "No node has 1 free GPU; 2 nodes have taint nvidia.com/gpu=present.",
    ),
    (
        "0/4 nodes are available: 1 Insufficient amd.com/gpu, 3 node(s) had untolerated taint "
        "{dedicated: }. no new claims to deallocate, preemption: 0/4 nodes are available: 4 "
        "Preemption is not helpful for scheduling.",
        "No node has 1 free GPU; 3 nodes have taint dedicated.",
    ),
    (
        f"0/3 nodes are available: {TAINTS}, 1 Insufficient cpu, 1 Insufficient memory.{PREEMPTION}",
        "No node has enough free CPU; no node has enough free memory; "
        "2 nodes have taint nvidia.com/gpu=present.",
    ),
    (
        "0/1 nodes are available: 1 node(s) had untolerated taint "
        "{node.kubernetes.io/not-ready: }. preemption: 0/1 nodes are available: 1 Preemption is not "
        "helpful for scheduling.",
        "1 node is not ready.",
    ),
    (
        "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) didn't match Pod's node "
        "affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful.",
        "1 node is closed for new pods; 1 node has not the labels asked for.",
    ),
    (
        "0/5 nodes are available: 2 Too many pods, 3 node(s) had volume node affinity conflict.",
        "2 nodes take no more pods; 3 nodes cannot reach the storage.",
    ),
    (
        "0/3 nodes are available: 3 node(s) had taint {a: b}, that the pod didn't tolerate.",
        "3 nodes have taint a=b.",
    ),
    ("0/7 nodes are available: 7 node(s) had untolerated taint(s).", "7 nodes have a taint."),
    (
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Other].",
        "2 nodes: didn't satisfy plugin(s) [Other].",
    ),
    (
        "0/2 nodes are available: 2 Insufficient example.com/fpga.",
        "No node has enough free example.com/fpga.",
    ),
    ("no nodes available to schedule pods", "The cluster has no node."),
    ("something quite new", "The scheduler found no node: something quite new."),
    ("", "It waits for a node."),
]  # fmt: skip


@pytest.mark.parametrize(("message", "words"), SCHEDULER)
def test_the_scheduler_in_words(message: str, words: str) -> None:
    found = scheduling.unschedulable(message)
    assert (found.code, found.text) == ("unschedulable", words)
    assert found.detail == message


def test_the_kind_of_gpu_is_named() -> None:
    message = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    assert scheduling.unschedulable(message, 1, "Tesla-P4").text == "2 nodes have no Tesla-P4."


def test_the_number_of_gpus_is_named() -> None:
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    assert scheduling.unschedulable(message, 4).text == "No node has 4 free GPUs."


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            '0/1 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/1 nodes '
            "are available: 1 Preemption is not helpful for scheduling.",
            "The storage claim data does not exist in this namespace.",
        ),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            "A storage claim has no volume yet; nothing can start before it has one.",
        ),
        (
            '0/1 nodes are available: persistentvolumeclaim "data" is being deleted.',
            "The storage claim data cannot be used: is being deleted.",
        ),
    ],
)
def test_storage_that_keeps_a_pod_from_a_node(message: str, words: str) -> None:
    found = scheduling.unschedulable(message)
    assert (found.code, found.text) == ("storage", words)


NAME = 'pods "tthvd-bcd234-x7k2p" is forbidden: '
REFUSALS = [
    (
        f"{NAME}exceeded quota: team-a, requested: requests.nvidia.com/gpu=1, used: "
        "requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4",
        "quota",
        "Quota team-a allows 4 nvidia.com/gpu and 4 are used, 1 more asked for. "
        "The owner of the namespace can raise it.",
    ),
    (
        f"Error creating: {NAME}exceeded quota: team-a, requested: limits.memory=2Gi,pods=1, used: "
        "limits.memory=7Gi,pods=3, limited: limits.memory=8Gi,pods=3",
        "quota",
        "Quota team-a allows 8 GiB memory and 7Gi are used, 2Gi more asked for; 3 containers and 3 "
        "are used, 1 more asked for. The owner of the namespace can raise it.",
    ),
    (
        f"{NAME}failed quota: team-a: must specify limits.cpu for: main; limits.memory for: main",
        "quota",
        "Quota team-a wants a value for CPU cores, memory: give it in the form.",
    ),
    (
        f'{NAME}violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container '
        '"main" must set securityContext.runAsNonRoot=true)',
        "pod_security",
        'Pod Security (restricted) of the namespace refuses it: runAsNonRoot != true (pod or container '
        '"main" must set securityContext.runAsNonRoot=true). The administrator\'s pod template or '
        "this rule must change.",
    ),
    (
        f"{NAME}[maximum memory usage per Container is 1Gi, but limit is 2Gi, maximum cpu usage per "
        "Pod is 2, but limit is 4]",
        "limit_range",
        "The namespace's LimitRange allows at most 1Gi memory for a container, not 2Gi; at most 2 "
        "cpu for a pod, not 4.",
    ),
    (
        f"{NAME}minimum cpu usage per Container is 500m.  No request is specified",
        "limit_range",
        "The namespace's LimitRange allows at least 500m cpu for a container.",
    ),
    (
        'admission webhook "policy.example.com" denied the request: image must be signed',
        "admission",
        "The cluster's rule policy.example.com refuses it: image must be signed.",
    ),
    (
        "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied "
        "request: tag latest is not allowed",
        "admission",
        "The cluster's rule no-latest refuses it: tag latest is not allowed.",
    ),
    (
        'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: '
        'Post "https://w.ns.svc:443/x?timeout=10s": context deadline exceeded',
        "admission",
        "The cluster's rule w.example.com does not answer, so nothing can be created. "
        "The administrator has to look at it.",
    ),
    (
        f'{NAME}error looking up service account team/keeper: serviceaccount "keeper" not found',
        "account",
        "The service account team/keeper does not exist (setting or template).",
    ),
    (
        f"{NAME}no PriorityClass with name low was found",
        "priority",
        "The priority class low of the pod template does not exist.",
    ),
    (
        f"{NAME}unable to create new content in namespace team because it is being terminated",
        "gone",
        "The namespace is being deleted.",
    ),
    (f"{NAME}something new", "refused", "Kubernetes did not create it: something new."),
    ("", "refused", "Kubernetes did not create it."),
]  # fmt: skip


@pytest.mark.parametrize(("message", "code", "words"), REFUSALS)
def test_refusals_in_words(message: str, code: str, words: str) -> None:
    found = refusals.not_created(message)
    assert (found.code, found.text) == (code, words)
    assert "x7k2p" not in found.detail, "the name of a pod that never was is new at each try"


PULL = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "registry.example/x:9": failed '
    'to resolve reference "registry.example/x:9": registry.example/x:9: '
)


@pytest.mark.parametrize(
    ("waiting", "message", "words"),
    [
        ("ErrImagePull", f"{PULL}not found", "cannot be downloaded: it does not exist."),
        (
            "ErrImagePull",
            'failed to pull "x": pull access denied, repository does not exist or may require '
            "authorization: server message: insufficient_scope: authorization failed",
            "cannot be downloaded: it does not exist, or its registry wants a login (pull secret).",
        ),
        (
            "ImagePullBackOff",
            'Back-off pulling image "x": ErrImagePull: dial tcp: lookup registry.example: no such host',
            "cannot be downloaded: its registry cannot be reached.",
        ),
        (
            "ErrImagePull",
            "unexpected status code 429 Too Many Requests: toomanyrequests: You have reached it",
            "cannot be downloaded: its registry allows no more downloads now.",
        ),
        (
            "ErrImagePull",
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            "cannot be downloaded: the certificate of its registry is not accepted.",
        ),
        (
            "ErrImagePull",
            "write /var/lib/x: no space left on device",
            "cannot be downloaded: the node's disk is full.",
        ),
        ("ImagePullBackOff", 'Back-off pulling image "not found:1"', "cannot be downloaded."),
        (
            "ErrImageNeverPull",
            'Container image "x" is not present with pull policy of Never',
            "is not on the node, and the settings say never to download it.",
        ),
        ("InvalidImageName", "couldn't parse image reference", "has a name that is not valid."),
    ],
)
def test_images_in_words(waiting: str, message: str, words: str) -> None:
    found = images.not_there("registry.example/x:9", waiting, message)
    assert (found.code, found.text) == ("image", f"The image registry.example/x:9 {words}")


def test_the_event_says_more_than_a_back_off() -> None:
    state = raw.waiting("ImagePullBackOff", 'Back-off pulling image "registry.example/horovod:1"')
    thing = raw.pod(phase="Pending", state=state, ready=False, ip=None)
    event = raw.event(
        thing["metadata"]["uid"], "Failed", f"Failed to pull image: {PULL}not found", 3
    )
    found = verdict(thing, event)
    assert found.state == "failed"
    assert found.reason is not None
    assert found.reason.text.endswith("horovod:1 cannot be downloaded: it does not exist.")
    assert "NotFound" not in found.reason.detail


# -- pods ------------------------------------------------------------------------------------------


def verdict(thing: dict[str, Any], *events: dict[str, Any]) -> Verdict:
    return judge(Pod(thing, Happenings(events)))


def text(found: Verdict) -> str:
    return found.reason.text if found.reason is not None else ""


def code(found: Verdict) -> str:
    return found.reason.code if found.reason is not None else ""


def at(found: Verdict) -> float:
    return found.since - raw.START


def test_a_ready_pod_needs_no_reason() -> None:
    found = verdict(raw.pod(at=1.0))
    assert (found.state, at(found), found.reason) == ("ready", 3.0, None)


def test_a_pod_without_a_node() -> None:
    message = f"0/3 nodes are available: 1 Insufficient nvidia.com/gpu, {TAINTS}."
    scheduled = raw.condition("PodScheduled", "False", 1, "Unschedulable", message)
    thing = raw.pod(phase="Pending", node=None, conditions=[scheduled], gpus=2)
    found = verdict(thing)
    assert (found.state, at(found)) == ("pending", 1.0)
    assert text(found).startswith("No node has 2 free GPUs; 2 nodes have taint")
    # The event serves where the condition does not say it.
    thing = raw.pod(phase="Pending", node=None, conditions=[])
    assert text(verdict(thing)) == "It waits for a node."
    uid = thing["metadata"]["uid"]
    events = [
        raw.event(uid, "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.", 2),
        raw.event(uid, "FailedScheduling", message, 9, series=True),
        raw.event("other", "FailedScheduling", "no nodes available", 20),
    ]
    assert text(verdict(thing, *events)).startswith("No node has 1 free GPU;")


def test_a_pod_that_a_queue_holds_back() -> None:
    gated = raw.condition("PodScheduled", "False", 1, "SchedulingGated", "blocked by a gate")
    found = verdict(raw.pod(phase="Pending", node=None, conditions=[gated]))
    assert (found.state, code(found)) == ("pending", "gated")


@pytest.mark.parametrize(
    ("reason", "message", "expected", "words"),
    [
        ("Pulling", 'Pulling image "x"', "pulling", "Its image is being downloaded."),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "ssh" : secret "tthvd-bcd234-ssh" not found',
            "volume",
            "The Secret tthvd-bcd234-ssh does not exist.",
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "keeper" : configmap "tthvd-bcd234-keeper" not found',
            "volume",
            "The ConfigMap tthvd-bcd234-keeper does not exist.",
        ),
        (
            "FailedAttachVolume",
            'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) a',
            "volume",
            "Its storage is in use on another node and can be on one node only.",
        ),
        (
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting",
            "volume",
            "Its node cannot mount its storage yet; it tries again.",
        ),
        (
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up network",
            "network",
            "Its node cannot give it a network; it tries again.",
        ),
        ("Other", "x", "creating", "Its container is being made."),
    ],
)
def test_a_pod_on_its_node_that_has_not_started(
    reason: str, message: str, expected: str, words: str
) -> None:
    thing = raw.pod(phase="Pending", state=raw.waiting("ContainerCreating"), ready=False, at=4.0)
    found = verdict(thing, raw.event(thing["metadata"]["uid"], reason, message, 5))
    assert (found.state, at(found)) == ("starting", 4.0)
    assert (code(found), text(found)) == (expected, words)


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        (
            "CreateContainerConfigError",
            'secret "wandb" not found',
            "The Secret wandb does not exist.",
        ),
        (
            "CreateContainerConfigError",
            "couldn't find key api in Secret team/wandb",
            "The Secret wandb has no key api.",
        ),
        (
            "CreateContainerConfigError",
            'container has runAsNonRoot and image will run as root (pod: "tthvd_team('
            '0a1b2c3d-0000-4000-8000-0123456789ab)", container: main)',
            "Its image runs as root, and that is not allowed here. Choose another image.",
        ),
        (
            "CreateContainerConfigError",
            "container has runAsNonRoot and image has non-numeric user (jovyan), cannot verify user",
            "Its image names its user by a word, so nobody can tell that it is not root. "
            "The administrator can set a user number.",
        ),
        (
            "RunContainerError",
            "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
            'runc create failed: unable to start container process: exec: "sh": executable file not '
            "found in $PATH: unknown",
            "Its image has no sh. Choose another image.",
        ),
        ("CreateContainerError", "context deadline exceeded", "Its node cannot start it."),
    ],
)
def test_a_container_that_cannot_be_made(reason: str, message: str, words: str) -> None:
    found = verdict(raw.pod(phase="Pending", state=raw.waiting(reason, message), ready=False))
    assert (found.state, code(found), text(found)) == ("failed", "config", words)
    assert found.reason is not None
    assert "0a1b2c3d" not in found.reason.detail


def test_a_container_that_keeps_ending() -> None:
    message = (
        "back-off 5m0s restarting failed container=main "
        "pod=tthvd-bcd234-x7k2p_team(0a1b2c3d-0000-4000-8000-0123456789ab)"
    )
    last = raw.terminated(127, message="\n\njupyter-elastic: This image has no sshd.\n", at=40)
    thing = raw.pod(
        state=raw.waiting("CrashLoopBackOff", message), ready=False, restarts=6, last=last
    )
    found = verdict(thing)
    assert (found.state, at(found), code(found)) == ("failed", 40.0, "crash")
    assert text(found) == "It ended with exit code 127 (restarted 6 times): This image has no sshd."
    thing = raw.pod(state=raw.waiting("CrashLoopBackOff", message), ready=False, restarts=1)
    found = verdict(thing)
    assert text(found) == "It keeps ending (restarted once); how is not known."
    assert found.reason is not None
    # Nothing of it may change with time alone: it is part of an ETagged body.
    assert found.reason.detail == "back-off restarting failed container=main"


@pytest.mark.parametrize(
    ("state", "expected", "words"),
    [
        (
            raw.terminated(137, "OOMKilled"), "out_of_memory",
            "It ran out of memory and was killed (restarted 2 times). Give it more memory.",
        ),
        (raw.terminated(139), "crash",
         "It ended with exit code 139, crashed by a wrong memory access (restarted 2 times)."),
        (raw.terminated(1, message="a\nValueError: x\n"), "crash",
         "It ended with exit code 1 (restarted 2 times): ValueError: x."),
        (raw.terminated(0, "Completed"), "ended",
         "It ended by itself with exit code 0 (restarted 2 times)."),
        (raw.terminated(128, "StartError", 'exec: "sh": executable file not found in $PATH'),
         "config", "Its image has no sh. Choose another image."),
        (raw.terminated(137, "ContainerStatusUnknown"), "node_lost", "Its node lost it."),
    ],
)  # fmt: skip
def test_how_a_container_ended(state: dict[str, Any], expected: str, words: str) -> None:
    found = verdict(raw.pod(state=state, ready=False, restarts=2))
    assert (found.state, at(found)) == ("failed", 9.0)
    assert (code(found), text(found)) == (expected, words)
    # Running again it is on its way, and says what happened.
    running = {"running": {"startedAt": raw.stamp(12)}}
    again = verdict(raw.pod(state=running, ready=False, restarts=2, last=state))
    assert (again.state, at(again)) == ("starting", 12.0)
    assert text(again) == f"{words} It is starting again."
    ready = verdict(raw.pod(state=running, restarts=2, last=state))
    assert (ready.state, code(ready), text(ready)) == (
        "ready",
        "restarted",
        f"{words} It runs again.",
    )


def test_a_probe_that_does_not_answer() -> None:
    thing = raw.pod(ready=False, at=1.0)
    uid = thing["metadata"]["uid"]
    found = verdict(thing, raw.event(uid, "Unhealthy", "Readiness probe failed: timeout", 8))
    assert (found.state, at(found), code(found)) == ("starting", 3.0, "not_ready")
    assert text(found) == "Its sshd does not answer yet."
    assert found.reason is not None
    assert found.reason.detail == "Readiness probe failed: timeout"
    assert text(verdict(raw.pod(role="launcher", ready=False))) == "Its keeper does not answer yet."
    thing["status"]["containerStatuses"][0]["started"] = True
    assert text(verdict(thing)) == "Its sshd does not answer."


def test_a_node_that_does_not_answer() -> None:
    """The node said that all is well; somebody else took the readiness away."""
    thing = raw.pod()
    thing["status"]["conditions"][-1] = raw.condition("Ready", "False", 50)
    found = verdict(thing)
    assert (found.state, at(found), code(found)) == ("unknown", 50.0, "node_lost")
    gates = raw.condition("Ready", "False", 50, "ReadinessGatesNotReady", 'corresponding "x"')
    thing["status"]["conditions"][-1] = gates
    assert (verdict(thing).state, code(verdict(thing))) == ("starting", "gated")
    thing["status"]["conditions"][-1] = raw.condition("Ready", "Unknown", 60)
    assert code(verdict(thing)) == "node_lost"
    assert verdict(raw.pod(phase="Unknown")).state == "unknown"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("DeletionByTaintManager", "node_lost"),
        ("EvictionByEvictionAPI", "evicted"),
        ("PreemptionByScheduler", "preempted"),
        ("TerminationByKubelet", "evicted"),
        ("DeletionByPodGC", "node_lost"),
        ("", "deleting"),
    ],
)
def test_a_pod_that_is_being_deleted(reason: str, expected: str) -> None:
    thing = raw.deleting(raw.pod(), at=70)
    if reason:
        thing["status"]["conditions"].append(raw.condition("DisruptionTarget", "True", 70, reason))
    found = verdict(thing)
    assert (found.state, at(found), code(found)) == ("draining", 70.0, expected)


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (
            {"reason": "Evicted", "message": "The node was low on resource: memory. Threshold quantity: "
             "100Mi, available: 52Mi. Container main was using 3Gi, request is 0."},
            "evicted", "Its node was low on memory and evicted it.",
        ),
        (
            {"reason": "Evicted", "message": 'Usage of EmptyDir volume "shm" exceeds the limit "1Gi". '},
            "evicted", "It put more into /dev/shm than the limit of 1Gi and was evicted.",
        ),
        ({"reason": "Evicted", "message": ""}, "evicted", "Its node evicted it."),
        ({"reason": "NodeLost"}, "node_lost", "Its node does not answer."),
        ({"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown."},
         "node_lost", "Its node was shut down."),
        ({"reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"},
         "node_full", "Its node had no cpu left for it after all."),
        ({"reason": "UnexpectedAdmissionError", "message": "Allocate failed due to no devices"},
         "node_full", "Its node had no devices left for it after all."),
        ({"reason": "Preempting"}, "preempted", "It was pushed off its node by a more important one."),
        ({"reason": "DeadlineExceeded"}, "deadline", "Its time was over."),
        ({"reason": "Something"}, "failed", "It failed: Something."),
        ({}, "failed", "It failed."),
    ],
)  # fmt: skip
def test_a_pod_that_failed(status: dict[str, Any], expected: str, words: str) -> None:
    found = verdict(raw.pod(phase="Failed", ready=False, **status))
    assert (found.state, code(found), text(found)) == ("failed", expected, words)


def test_a_pod_that_succeeded() -> None:
    found = verdict(raw.pod(phase="Succeeded", ready=False, state=raw.terminated(0, "Completed")))
    assert (found.state, at(found), code(found)) == ("failed", 9.0, "ended")


# -- broken and hostile input ------------------------------------------------------------------


@pytest.mark.parametrize(
    "thing",
    [{}, {"metadata": None, "status": None, "spec": None}, {"status": {"phase": None}},
     {"status": {"phase": "Running"}}, {"status": {"phase": "Running", "containerStatuses": None}},
     {"status": {"phase": ["x"]}, "metadata": {"creationTimestamp": 5}}],
)  # fmt: skip
def test_a_broken_pod_is_unknown(thing: dict[str, Any]) -> None:
    assert (verdict(thing).state, code(verdict(thing))) == ("unknown", "unreadable")


_keys = st.sampled_from(
    ["metadata", "status", "spec", "phase", "conditions", "containerStatuses", "state", "lastState",
     "terminated", "waiting", "running", "reason", "message", "type", "name", "main", "exitCode",
     "deletionTimestamp", "lastTransitionTime", "restartCount", "nodeName", "containers", "x"]
)  # fmt: skip
_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
    | st.sampled_from(["Running", "Pending", "Failed", "True", "False", "CrashLoopBackOff",
                       "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z", "main", "Ready"])
)  # fmt: skip
garbage = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(garbage, garbage, st.lists(st.sampled_from(range(200)), max_size=4), garbage)
@settings(max_examples=300, deadline=None)
def test_nothing_is_raised_whatever_a_pod_holds(
    thing: Any, status: Any, places: list[int], instead: Any
) -> None:
    broken = copy.deepcopy(raw.pod(last=raw.terminated(1), restarts=1, gpus=1))
    for place in places:
        _put(broken, place, instead)
    for one in (thing, {"metadata": {"uid": "u"}, "status": status}, broken):
        if isinstance(one, dict):
            found = judge(Pod(one, Happenings([one])))
            json.dumps([found.state, found.since, text(found)])
            assert found.state == "ready" or found.reason is not None


def _put(value: Any, place: int, instead: Any) -> None:
    """Put something into the place that a walk of so many steps ends at."""
    while isinstance(value, (dict, list)) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[place % len(keys)]
        place //= len(keys)
        if place == 0 or not isinstance(value[key], (dict, list)) or not value[key]:
            value[key] = instead
            return
        value = value[key]


_pieces = st.sampled_from(
    ["0/3 nodes are available: ", "1 Insufficient ", "nvidia.com/gpu", "node(s) had untolerated taint {",
     "a: b}", ", ", ". ", "exceeded quota: ", "requested: ", "used: ", "limited: ", "pods=1",
     'violates PodSecurity "', '": ', "maximum cpu usage per Pod is ", "Error creating: ", "9" * 12,
     'admission webhook "', "(", "[", "\\", "\0", "\x1b[31m", "\u202e"]
)  # fmt: skip


@given(st.lists(_pieces | st.text(max_size=8), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_message_becomes_a_bounded_printable_sentence(message: str) -> None:
    for found in (
        scheduling.unschedulable(message),
        refusals.not_created(message),
        images.not_there("x", "ErrImagePull", message),
    ):
        assert 0 < len(found.text) <= wording.TEXT_LIMIT
        assert len(found.detail) <= wording.DETAIL_LIMIT
        assert (found.text + found.detail).isprintable()


def test_a_huge_message_is_read_quickly() -> None:
    for message in ("0/3 nodes are available: " + "1 a, " * 50_000, "exceeded quota: " + "a," * 99_999,
                    "maximum " * 50_000, 'violates PodSecurity "' * 9_999):  # fmt: skip
        began = time.monotonic()
        scheduling.unschedulable(message)
        refusals.not_created(message)
        endings.not_run(message)
        images.not_there(message, "ErrImagePull", message)
        assert time.monotonic() - began < 1.0


def test_hostile_text_is_text() -> None:
    found = wording.reason("x", "a\x1b[31mred\x07 <b>\u202e\u200b", "\n" * 50 + "x" * 5000)
    assert found.text == "a [31mred <b>"
    assert len(found.detail) == wording.DETAIL_LIMIT
