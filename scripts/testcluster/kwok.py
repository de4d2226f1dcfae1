"""Nodes and pods that exist in the API only, for what needs many of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testcluster import ports, programs
from testcluster.cluster import Cluster, launch
from testcluster.waiting import await_program, is_ready, running

NAME = "kwok"
LABEL = {"type": "kwok"}  # of the nodes, for a nodeSelector
SELECTOR = "type=kwok"
ANNOTATION = "kwok.x-k8s.io/node"
TAINT = {"key": ANNOTATION, "value": "fake", "effect": "NoSchedule"}
TOLERATION = {**TAINT, "operator": "Equal"}


def add_nodes(
    cluster: Cluster, count: int, *, gpus: int = 8, resource: str = "nvidia.com/gpu"
) -> None:
    """Give a running cluster of ours such nodes; pods need to tolerate :data:`TOLERATION`.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    count : int
        How many nodes there shall be; their names are kwok-0 and so on.
    gpus : int
        GPUs of each.
    resource : str
        Name of the GPU resource.

    Raises
    ------
    ClusterError
        If the cluster is not ours, or the nodes do not become Ready.
    """
    if NAME not in running(cluster):
        program = programs.ensure(kubelet=False, kwok=True)[NAME]
        state = cluster.own_state()
        # Its own folder, so that it does not read the user's settings.
        environment = cluster.environment | {"KWOK_WORKDIR": str(state / NAME)}
        launch(state, NAME, _command(cluster, program, ports.free(1)[0]), environment)
    cluster.apply(*_nodes(count, resource, gpus))

    def ready() -> bool:
        found = cluster.get("nodes", f"--selector={SELECTOR}")["items"]
        return all(is_ready(entry) for entry in found)

    await_program(cluster, NAME, ready)


def remove_nodes(cluster: Cluster) -> None:
    """Take the nodes away again; pods on them are deleted by the cluster after a while."""
    cluster.kubectl("delete", "nodes", f"--selector={SELECTOR}", "--wait=false")


def _command(cluster: Cluster, program: Path, port: int) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={cluster.kubeconfig}",
        # Loopback addresses: a probe of such a pod must never leave this machine.
        "--cidr=127.8.0.1/16",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--node-ip=127.0.0.1",
        f"--server-address=127.0.0.1:{port}",
        "--v=WARN",
    ]


def _nodes(count: int, resource: str, gpus: int) -> list[dict[str, Any]]:
    room = {"cpu": "64", "memory": "512Gi", "pods": "200", "ephemeral-storage": "1Ti"}
    if gpus:
        room[resource] = str(gpus)
    return [_node(f"kwok-{number}", room) for number in range(count)]


def _node(name: str, room: dict[str, str]) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **LABEL,
    }
    metadata = {"name": name, "annotations": {ANNOTATION: "fake"}, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"taints": [TAINT]},
        "status": {"capacity": room, "allocatable": room},
    }
