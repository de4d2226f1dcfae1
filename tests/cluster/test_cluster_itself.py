"""The test cluster does what the other tests rely on, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from testcluster import (
    cgroups,
    kwok,
    life,
    mounts,
    namespaces,
    network,
    processes,
    sessions,
    volumes,
)
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError
from testcluster.waiting import is_ready, wait_for

from tests.cluster import pods

pytestmark = pytest.mark.cluster
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
IN_CLUSTER = """
import json, os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
read = lambda name: open(f"{folder}/{name}").read()
where = "https://{}:{}".format(*map(os.environ.get, ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"]))
request = urllib.request.Request(f"{where}/api/v1/namespaces/{read('namespace')}/pods")
request.add_header("Authorization", "Bearer " + read("token"))
context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
print(len(json.load(urllib.request.urlopen(request, context=context))["items"]))
"""
# Starts a cluster with a running pod, says so, and waits for its end.
KILLED = """
import sys, time
sys.path[:0] = sys.argv[1:3]
from testcluster import life, namespaces, sessions
from tests.cluster import pods
cluster = life.start(sessions.folder())
namespaces.create(cluster, "left")
cluster.apply(pods.sshd_set(cluster, "left", 1, gpus=0))
pods.wait_ready(cluster, "left", 1)
print(cluster.state, flush=True)
time.sleep(600)
"""


def test_node_is_ready_and_claims_gpus(cluster: Cluster) -> None:
    nodes = [item for item in cluster.get("nodes")["items"] if is_ready(item)]
    rooms = [int(item["status"]["allocatable"].get("nvidia.com/gpu", 0)) for item in nodes]
    assert 8 in rooms


def test_sshd_pods_start_answer_and_grow(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pods.sshd_set(cluster, namespace, 2))
    first = pods.wait_ready(cluster, namespace, 2)
    where = ("--namespace", namespace)
    for name in first:
        assert cluster.kubectl("exec", name, *where, "--", "id", "-un").strip() == "jovyan"
    addresses = {
        item["status"]["podIP"] for item in cluster.get("pods", *where, *first).get("items", [])
    }
    assert len(addresses) == 2
    banner = "import socket,sys; print(socket.create_connection((sys.argv[1], 2222), 5).recv(7))"
    other = cluster.get("pod", first[1], *where)["status"]["podIP"]
    heard = cluster.kubectl("exec", first[0], *where, "--", "python3", "-c", banner, other)
    assert "SSH-2.0" in heard
    cluster.kubectl("scale", "rs/sshd", "--replicas=4", *where)
    assert set(first) < set(pods.wait_ready(cluster, namespace, 4))


def test_restricted_is_enforced(cluster: Cluster, namespace: str) -> None:
    pod = pods.run_pod(cluster, namespace, "root", ["true"], hostNetwork=True)
    with pytest.raises(ClusterError, match="violates PodSecurity"):
        cluster.kubectl("create", "--filename=-", stdin=json.dumps(pod))


def test_pod_reaches_the_api_as_its_account(cluster: Cluster, namespace: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    namespaces.create_account(cluster, namespace, "reader", rules)
    command = ["python3", "-c", IN_CLUSTER]
    pod = pods.run_pod(cluster, namespace, "inside", command, serviceAccountName="reader")
    assert pods.output(cluster, namespace, pod).strip() == "1"


def test_account_kubeconfig_has_the_role_and_no_more(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    namespaces.create_account(cluster, namespace, "reader", rules)
    file = namespaces.account_kubeconfig(cluster, namespace, "reader", tmp_path / "config")
    assert file.stat().st_mode & 0o077 == 0
    assert "kube-root-ca.crt" in cluster.kubectl("get", "configmaps", kubeconfig=file)
    with pytest.raises(ClusterError, match="forbidden"):
        cluster.kubectl("get", "pods", kubeconfig=file)


def test_folder_of_this_machine_is_mounted_read_only(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    if cluster.state is None:
        pytest.skip("A given cluster's node need not be this machine")
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "word").write_text("from outside")
    claim = volumes.host_folder(cluster, namespace, "shared", folder)
    parts = volumes.mount("shared", claim, folder)
    script = f"cat {folder}/word && ! touch {folder}/new"
    pod = pods.run_pod(
        cluster,
        namespace,
        "reader",
        ["sh", "-c", script],
        volumes=[parts["volume"]],
        mounts=[parts["mount"]],
    )
    assert "from outside" in pods.output(cluster, namespace, pod)
    assert not (folder / "new").exists()


def test_namespace_is_gone_with_its_volumes(
    cluster: Cluster, make_namespace: Callable[..., str], tmp_path: Path
) -> None:
    name = make_namespace("baseline")
    before = namespaces.objects(cluster, name)
    volumes.host_folder(cluster, name, "data", tmp_path)
    assert namespaces.objects(cluster, name) - before == {"PersistentVolumeClaim/data"}
    namespaces.delete(cluster, name)
    selector = f"--selector={namespaces.BELONGS_TO}={name}"
    assert cluster.get("persistentvolumes", selector)["items"] == []
    with pytest.raises(ClusterError, match="not found"):
        cluster.get("namespace", name)


def test_nodes_without_a_machine_take_pods(cluster: Cluster, namespace: str) -> None:
    kwok.add_nodes(cluster, 2)
    try:
        workers = pods.sshd_set(cluster, namespace, 4, gpus=4)
        spec = workers["spec"]["template"]["spec"]
        spec |= {"tolerations": [kwok.TOLERATION], "nodeSelector": kwok.LABEL}
        cluster.apply(workers)
        assert len(pods.wait_ready(cluster, namespace, 4)) == 4
    finally:
        kwok.remove_nodes(cluster)


def test_api_server_comes_back_after_a_kill(cluster: Cluster, namespace: str) -> None:
    before = cluster.process("kube-apiserver")
    cluster.send("kube-apiserver", signal.SIGKILL)
    wait_for("end", 5, lambda: processes.birth(before) is None)
    with pytest.raises(ClusterError):
        cluster.get("namespace", namespace)
    assert cluster.restart("kube-apiserver") != before
    wait_for("API server", 30, lambda: cluster.get("namespace", namespace))


def traces(state: Path) -> dict[str, object]:
    """Return everything that a cluster of this folder has on the machine."""
    name = life.name_of(state)
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    found: dict[str, object] = {
        "processes": processes.marked(state),
        "containers": cgroups.processes(name),
        "control groups": [str(path) for path in cgroups.ROOT.glob(f"**/{name}")],
        "mounts": mounts.below(state),
        "bridge": [name] if network.exists(name) else [],
        "rules": [line for line in rules.splitlines() if name in line],
        "network notes": [path.name for path in Path("/var/lib/cni").glob(f"*/{name}-*")],
        "logs": [
            path.name
            for path in Path("/var/log/containers").glob("*")
            if path.is_symlink() and str(path.readlink()).startswith(f"{state}/")
        ],
        "folder": [str(state)] if state.exists() else [],
    }
    return {key: value for key, value in found.items() if value}


def test_killed_run_is_swept_without_a_trace(cluster: Cluster) -> None:
    if cluster.state is None:
        pytest.skip("No cluster of ours is wanted here")
    shims = Path("/run/containerd/s")
    sockets = set(shims.iterdir())
    arguments = [sys.executable, "-c", KILLED, str(SCRIPTS), str(SCRIPTS.parent)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        state = Path(child.stdout.readline().strip())
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert {"processes", "containers", "mounts", "bridge", "folder"} <= set(traces(state))
    assert state in sessions.sweep()
    assert traces(state) == {}
    assert set(shims.iterdir()) == sockets
    # The tests' own cluster lives on.
    assert any(is_ready(item) for item in cluster.get("nodes")["items"])


def test_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis").write_text("years of work")
    with pytest.raises(ClusterError, match="left alone"):
        life.stop(folder)
    assert (folder / "thesis").exists()
