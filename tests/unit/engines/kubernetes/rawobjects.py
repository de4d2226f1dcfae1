"""Raw objects as an API server of 1.29 to 1.34 gives them, for tests of what is read from them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from jupyter_elastic.engines.kubernetes import anchor as anchors
from jupyter_elastic.engines.kubernetes import labels
from jupyter_elastic.models import ClusterSpec, HostList, Settings, to_json

Json = dict[str, Any]
ID = "tthvd-bcd234"
START = 1_780_000_000.0  # when the cluster was made
ANCHOR_UID, JOB_UID, SET_UID = "anchor-uid", "job-uid", "set-uid"


def stamp(seconds: float) -> str:
    """Return an instant, so many seconds after the cluster was made, as Kubernetes writes it."""
    return datetime.fromtimestamp(START + seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: str, at: float, reason: str = "", message: str = "") -> Json:
    found = {"type": kind, "status": status, "lastTransitionTime": stamp(at)}
    if reason:
        found["reason"] = reason
    if message:
        found["message"] = message
    return found


def pod(
    name: str = f"{ID}-x7k2p", role: str = "worker", *, at: float = 1.0, phase: str = "Running",
    node: str | None = "node-1", ip: str | None = "10.244.1.7", member: bool = True,
    conditions: list[Json] | None = None, state: Json | None = None, ready: bool = True,
    restarts: int = 0, last: Json | None = None, gpus: int = 0, **status: Any,
) -> Json:  # fmt: skip
    marks = {
        **labels.of_cluster(ID), labels.ROLE: role,
        **({labels.SET: ID} if member and role == "worker" else {}),
    }  # fmt: skip
    owner = {"kind": "Job", "uid": JOB_UID} if role == "launcher" else {
        "kind": "ReplicaSet", "uid": SET_UID,
    }  # fmt: skip
    found: Json = {
        "metadata": {
            "name": name, "uid": f"uid-{name}", "creationTimestamp": stamp(at), "labels": marks,
            "annotations": {}, "ownerReferences": [owner],
        },
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {}}]},
        "status": {"phase": phase},
    }  # fmt: skip
    if gpus:
        found["spec"]["containers"][0]["resources"] = {
            "limits": {"nvidia.com/gpu": str(gpus), "cpu": "1"},
        }  # fmt: skip
    said = found["status"]
    if ip and node:
        said["podIP"] = ip
    if phase == "Running" and state is None:
        state = {"running": {"startedAt": stamp(at + 1)}}
    if conditions is None:
        word = "True" if ready and phase == "Running" else "False"
        conditions = [
            condition("PodScheduled", "True" if node else "False", at),
            condition("Initialized", "True", at),
            condition("ContainersReady", word, at + 2),
            condition("Ready", word, at + 2),
        ]
    said["conditions"] = conditions
    if state is not None:
        said["containerStatuses"] = [
            {
                "name": "main", "image": "registry.example/horovod:1", "ready": ready,
                "started": ready, "restartCount": restarts, "state": state, "lastState": last or {},
            }
        ]  # fmt: skip
    said.update(status)
    return found


def leaving(thing: Json, until: float) -> Json:
    """Return a pod as our own patch leaves it."""
    thing["metadata"]["labels"].pop(labels.SET, None)
    thing["metadata"]["annotations"][labels.DRAIN_UNTIL] = f"{START + until:.3f}"
    thing["metadata"]["ownerReferences"] = [{"kind": "ConfigMap", "uid": ANCHOR_UID}]
    return thing


def deleting(thing: Json, at: float, grace: int = 30) -> Json:
    thing["metadata"]["deletionTimestamp"] = stamp(at + grace)
    thing["metadata"]["deletionGracePeriodSeconds"] = grace
    return thing


def terminated(code: int, reason: str = "Error", message: str = "", at: float = 9.0) -> Json:
    found = {"exitCode": code, "reason": reason, "finishedAt": stamp(at), "startedAt": stamp(1)}
    if message:
        found["message"] = message
    return {"terminated": found}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def spec(**fields: Any) -> ClusterSpec:
    known: Json = {
        "name": "tthvd", "framework": "horovod", "size": 3, "engine": "kubernetes",
        "launcher_mode": "pod",
    }  # fmt: skip
    return ClusterSpec(**{**known, **fields})


def anchor(asked: ClusterSpec | None = None, hosts: HostList | None = None, **intent: Any) -> Json:
    asked = asked or spec()
    about = anchors.About(asked, Settings(script="/x.py"), START)
    data = anchors.to_data(about, hosts or HostList(0), anchors.Intent(**intent))
    return {
        "metadata": {
            "name": ID, "uid": ANCHOR_UID, "resourceVersion": "7",
            "creationTimestamp": stamp(0), "labels": labels.of_cluster(ID),
            "annotations": {labels.NAME: "tthvd"},
            "ownerReferences": [{"kind": "Job", "uid": JOB_UID}],
        },
        "data": data,
    }  # fmt: skip


def job(*conditions: Json, suspend: bool = False) -> Json:
    about = anchors.About(spec(), Settings(), START)
    return {
        "metadata": {
            "name": ID, "uid": JOB_UID, "creationTimestamp": stamp(0),
            "labels": labels.of_cluster(ID),
            "annotations": {labels.ABOUT: json.dumps(to_json(about)), labels.NAME: "tthvd"},
        },
        "spec": {"suspend": suspend},
        "status": {"conditions": list(conditions)},
    }  # fmt: skip


def workers(replicas: int = 2, *conditions: Json) -> Json:
    return {
        "metadata": {
            "name": ID, "uid": SET_UID, "creationTimestamp": stamp(0),
            "labels": labels.of_cluster(ID),
            "ownerReferences": [{"kind": "ConfigMap", "uid": ANCHOR_UID}],
        },
        "spec": {"replicas": replicas},
        "status": {"conditions": list(conditions)},
    }  # fmt: skip


def event(uid: str, reason: str, message: str, at: float, *, series: bool = False) -> Json:
    """Return an event; with `series` as the scheduler of today writes it."""
    found: Json = {
        "metadata": {"name": f"{uid}.1", "creationTimestamp": stamp(at)},
        "involvedObject": {"kind": "Pod", "uid": uid},
        "reason": reason,
        "message": message,
        "type": "Warning",
    }
    if series:
        micro = stamp(at).replace("Z", ".123456Z")
        return {**found, "eventTime": micro, "lastTimestamp": None, "count": None}
    return {**found, "firstTimestamp": stamp(at), "lastTimestamp": stamp(at), "eventTime": None}
