"""Starting a cluster from nothing, and ending it without a trace."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from testcluster import (
    cache,
    certificates,
    cgroups,
    control,
    gobuild,
    image,
    kubeconfig,
    kwok,
    network,
    node,
    packages,
    ports,
    processes,
    programs,
)
from testcluster.cluster import NOTE, Cluster, launch
from testcluster.control import Plan
from testcluster.faults import ClusterError
from testcluster.versions import BASE_IMAGE
from testcluster.waiting import await_program, is_ready, wait_for

API_PORT = 443  # the one that pods are told for the service "kubernetes"
LONGEST_PATH = 60  # characters: sockets below it have long names, and at most 107 are allowed


@dataclass(frozen=True)
class Options:
    """What a cluster shall have.

    Attributes
    ----------
    kubelet : bool
        A real node that runs containers; needs root.
    gpus : int
        GPUs that the real node claims to have; nothing is behind them.
    kwok_nodes : int
        Nodes that exist in the API only.
    kwok_gpus : int
        GPUs of each of those.
    gpu_resource : str
        The name of the GPUs.
    """

    kubelet: bool = True
    gpus: int = 0
    kwok_nodes: int = 0
    kwok_gpus: int = 8
    gpu_resource: str = "nvidia.com/gpu"


def name_of(state: Path) -> str:
    """Return the name of the cluster's bridge, network and control groups."""
    return f"je-{hashlib.sha256(str(state).encode()).hexdigest()[:8]}"


def start(state: Path, options: Options | None = None) -> Cluster:
    """Start a cluster, after removing what an earlier one left in this folder.

    Parameters
    ----------
    state : pathlib.Path
        Its folder, of its own: everything in it is removed first and at the end.
    options : Options, optional
        What it shall have; a real node only by default.

    Returns
    -------
    Cluster
        With a node that is Ready, if it has any.

    Raises
    ------
    ClusterError
        If something is missing or does not start; what was started has been ended again.
    """
    options = options or Options()
    state = state.resolve()
    _check(state, options)
    files = programs.ensure(kubelet=options.kubelet, kwok=options.kwok_nodes > 0)
    archive = image.ensure(BASE_IMAGE) if options.kubelet else None
    with cache.locked(state.with_name(f"{state.name}.lock"), f"starting or ending {state}"):
        _sweep(state)
        state.mkdir(mode=0o755, parents=True)
        (state / NOTE).write_text(json.dumps(vars(options)), encoding="utf-8")
        try:
            plan, pods = _plan(state, files, options)
            cluster = _start_api(plan)
            if pods is not None and archive is not None:
                _start_containerd(plan, pods, archive)  # while the API server comes up
            _finish_control_plane(cluster, plan)
            if pods is not None:
                _start_kubelet(cluster, plan)
                _add_gpus(cluster, options)
            if options.kwok_nodes:
                gpus, resource = options.kwok_gpus, options.gpu_resource
                kwok.add_nodes(cluster, options.kwok_nodes, gpus=gpus, resource=resource)
        except BaseException:
            _end(state)
            raise
    return cluster


def stop(state: Path) -> None:
    """End the cluster of a folder and remove the folder; nothing happens if there is none.

    Raises
    ------
    ClusterError
        If something of it cannot be removed; it is named.
    """
    state = state.resolve()
    lock = state.with_name(f"{state.name}.lock")
    if not state.exists() and not lock.exists():
        return
    with cache.locked(lock, f"starting or ending {state}"):
        _sweep(state)
        lock.unlink(missing_ok=True)


def obstacles(options: Options) -> list[str]:
    """Return what this machine lacks to build and start such a cluster, each with its remedy."""
    found = []
    if options.kubelet and os.geteuid() != 0:
        found.append("A real node runs containers, which needs root")
    missing = packages.missing_packages() if options.kubelet else []
    if missing:
        found.append(f"Missing programs; on Debian or Ubuntu: {packages.advice(missing)}")
    if programs.absent(kubelet=options.kubelet, kwok=options.kwok_nodes > 0):
        try:
            gobuild.find_go()
        except ClusterError as error:
            found.append(str(error))
    return found


def _check(state: Path, options: Options) -> None:
    """Refuse early what cannot work."""
    if len(str(state)) > LONGEST_PATH:
        raise ClusterError(f"{state} is too long for sockets: at most {LONGEST_PATH} characters")
    found = obstacles(options)
    if found:
        raise ClusterError("\n".join(found))


def _sweep(state: Path) -> None:
    """End what runs with this folder, and remove the folder; it must be a cluster's."""
    if state.exists() and any(state.iterdir()) and not (state / NOTE).exists():
        raise ClusterError(f"{state} is not empty and not a cluster's folder; it is left alone")
    _end(state)


def _end(state: Path) -> None:
    """Take down everything that belongs to the folder, whatever state it is in."""
    name = name_of(state)
    # Nothing in it is worth an orderly end, and orderly the API server waits for its watchers.
    processes.end(lambda: [*processes.marked(state), *cgroups.processes(name)])
    node.sweep(state, name)
    if os.geteuid() == 0:
        network.remove(name)
        cgroups.remove(name)
    if state.exists():
        shutil.rmtree(state)


def _plan(
    state: Path, files: dict[str, Path], options: Options
) -> tuple[Plan, network.Network | None]:
    """Choose address and ports; the network is made here, because its address is the server's."""
    client, peer = ports.free(2)
    if not options.kubelet:
        port = ports.free(1)[0]
        return Plan(state, files, "127.0.0.1", port, "10.96.0.0/24", (client, peer)), None
    pods = network.create(name_of(state))
    if not ports.is_free(API_PORT, pods.gateway):
        raise ClusterError(f"Port {API_PORT} is taken by a program that listens on all addresses")
    return Plan(state, files, pods.gateway, API_PORT, pods.services, (client, peer)), pods


def _start_api(plan: Plan) -> Cluster:
    """Write what everybody needs to trust one another, and start etcd and API server."""
    state = plan.state
    certificates.create(state / "certificates", list(dict.fromkeys(["127.0.0.1", plan.address])))
    authority = (state / "certificates" / "ca.crt").read_bytes()
    admin, kubelet = secrets.token_hex(16), secrets.token_hex(16)
    tokens = state / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(
        f'{admin},test-admin,test-admin,"system:masters"\n'
        f'{kubelet},system:node:{node.NODE},{node.NODE},"system:nodes"\n'
    )
    kubeconfig.write(state / "admin.kubeconfig", plan.server, authority, admin)
    kubeconfig.write(state / "kubelet.kubeconfig", plan.server, authority, kubelet)
    cluster = Cluster(state / "admin.kubeconfig", plan.programs["kubectl"], state=state)
    launch(state, "etcd", control.etcd(plan), cluster.environment)
    launch(state, "kube-apiserver", control.api_server(plan), cluster.environment)
    return cluster


def _finish_control_plane(cluster: Cluster, plan: Plan) -> None:
    def ready() -> bool:
        return cluster.kubectl("get", "--raw=/readyz") == "ok"

    await_program(cluster, "kube-apiserver", ready)
    manager, scheduler = control.controller_manager(plan), control.scheduler(plan)
    launch(plan.state, "kube-controller-manager", manager, cluster.environment)
    launch(plan.state, "kube-scheduler", scheduler, cluster.environment)


def _start_containerd(plan: Plan, pods: network.Network, archive: Path) -> None:
    state = plan.state
    node.write_network(state, name_of(state), pods)
    launch(state, "containerd", node.containerd(state, BASE_IMAGE.reference), {})
    wait_for("containerd", 20, node.socket(state).is_socket)
    node.load_image(state, archive)


def _start_kubelet(cluster: Cluster, plan: Plan) -> None:
    """Start the kubelet and wait until its node is Ready."""
    name = name_of(plan.state)
    cgroups.create(name)
    port = ports.free(1, plan.address)[0]
    launch(plan.state, "kubelet", node.kubelet(plan, port, name), cluster.environment)
    await_program(cluster, "kubelet", lambda: is_ready(cluster.get("node", node.NODE)))


def _add_gpus(cluster: Cluster, options: Options) -> None:
    """Let the real node claim GPUs; the kubelet keeps what it does not know itself."""
    if options.gpus:
        room = {options.gpu_resource: str(options.gpus)}
        patch = json.dumps({"status": {"capacity": room, "allocatable": room}})
        arguments = ["patch", "node", node.NODE, "--subresource=status", "--patch", patch]
        cluster.kubectl(*arguments)
