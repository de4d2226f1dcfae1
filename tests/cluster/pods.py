"""Pod specs of the tests of the cluster itself."""

from __future__ import annotations

import json
from typing import Any

from testcluster.cluster import Cluster
from testcluster.waiting import wait_for

SSHD = (
    "ssh-keygen -q -t ed25519 -N '' -f /tmp/key && "
    "exec /usr/sbin/sshd -D -e -p 2222 -h /tmp/key -o PidFile=none"
)


def restricted_spec(image: str, command: list[str], **container: Any) -> dict[str, Any]:
    """Return a pod spec that Pod Security ``restricted`` admits."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    main = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": command,
        "securityContext": security,
        **container,
    }
    user = {
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "runAsNonRoot": True,
        "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {"securityContext": user, "terminationGracePeriodSeconds": 1, "containers": [main]}


def sshd_set(cluster: Cluster, namespace: str, replicas: int, gpus: int = 1) -> dict[str, Any]:
    """Return a ReplicaSet of pods that run sshd and are Ready when it answers."""
    probe = {"tcpSocket": {"port": 2222}, "periodSeconds": 1}
    limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    spec = restricted_spec(
        cluster.image, ["sh", "-c", SSHD], readinessProbe=probe, resources=limits
    )
    labels = {"app": "sshd"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "sshd", "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def run_pod(
    cluster: Cluster, namespace: str, name: str, command: list[str], **more: Any
) -> dict[str, Any]:
    """Return a pod that runs one command once; ``more`` is merged into its spec."""
    mounts = more.pop("mounts", [])
    spec = restricted_spec(cluster.image, command, volumeMounts=mounts) | more
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "restartPolicy": "Never"},
    }


def wait_ready(cluster: Cluster, namespace: str, count: int, seconds: int = 60) -> list[str]:
    """Wait until the ReplicaSet has so many Ready pods, and return their names."""
    jsonpath = f"--for=jsonpath={{.status.readyReplicas}}={count}"
    where = ("--namespace", namespace)
    cluster.kubectl("wait", "rs/sshd", *where, jsonpath, f"--timeout={seconds}s", timeout=seconds)
    found = cluster.get("pods", "--selector=app=sshd", *where)["items"]
    return [
        item["metadata"]["name"] for item in found if "deletionTimestamp" not in item["metadata"]
    ]


def output(cluster: Cluster, namespace: str, pod: dict[str, Any]) -> str:
    """Run a pod to its end and return what it printed; fails with it if the pod failed."""
    name, where = pod["metadata"]["name"], ("--namespace", namespace)
    cluster.kubectl("create", "--filename=-", stdin=json.dumps(pod))

    def phase() -> str:
        return str(cluster.get("pod", name, *where)["status"]["phase"])

    wait_for(f"end of {name}", 60, lambda: phase() in ("Succeeded", "Failed"))
    text = cluster.kubectl("logs", name, *where)
    assert phase() == "Succeeded", text
    return text
