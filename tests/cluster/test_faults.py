"""What can go wrong around a cluster: each time nothing is lost, it is said, and it recovers by itself."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from testcluster import namespaces
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError

from ..harness.lab import HttpError, LabServer
from .bare import BareLab
from .lab import ACCOUNT, ROLE

ENGINE = "ElasticExtensionApp"
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


@pytest.fixture
def lab(cluster: Cluster, namespace: str) -> Iterator[BareLab]:
    server = BareLab(cluster, namespace)
    try:
        yield server.start()  # type: ignore[misc]
    finally:
        server.close()


@pytest.fixture
def own(cluster: Cluster) -> Cluster:
    """The cluster, where its programs may be stopped."""
    if cluster.state is None:
        pytest.skip("The programs of a cluster that was given are not ours")
    return cluster


def health(lab: LabServer) -> dict[str, Any]:
    return dict(lab.get("clusters")["engines"][0]["health"])


def wait_health(lab: LabServer, state: str, seconds: float) -> dict[str, Any]:
    lab.wait(
        lambda: health(lab)["state"] == state,
        seconds=seconds,
        what=f"{state}; it is {health(lab)}",
    )
    return health(lab)


def members(lab: LabServer, cluster_id: str) -> set[str]:
    return {one["uid"] for one in lab.cluster(cluster_id)["containers"]}


def kubectl(lab: BareLab, *arguments: str, stdin: str = "") -> str:
    return lab.cluster_object.kubectl("--namespace", lab.namespace, *arguments, stdin=stdin)


def put(lab: LabServer, cluster_id: str, size: int) -> Any:
    return lab.put(f"clusters/{cluster_id}/target", {"size": size})


def quota(lab: BareLab, pods: int) -> None:
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": lab.namespace},
        "spec": {"hard": {"pods": str(pods)}},
    }
    lab.cluster_object.apply(body)
    where = ("resourcequota", "small", "--namespace", lab.namespace)
    lab.wait(
        lambda: (
            lab.cluster_object.get(*where).get("status", {}).get("hard") == body["spec"]["hard"]
        ),
        seconds=20,
        what="the quota",
    )


# -- the API server ---------------------------------------------------------------------------


def test_api_server_that_hangs(own: Cluster, lab: BareLab) -> None:
    cluster = lab.create()
    before, hosts = members(lab, cluster["id"]), lab.hosts(cluster)
    own.send("kube-apiserver", signal.SIGSTOP)
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            began = time.monotonic()
            assert members(lab, cluster["id"]) == before
            assert time.monotonic() - began < 1, "what is known is shown at once"
            time.sleep(1)
    finally:
        own.send("kube-apiserver", signal.SIGCONT)
    wait_health(lab, "live", 30)
    assert members(lab, cluster["id"]) == before
    assert lab.hosts(cluster) == hosts
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3)


def test_api_server_that_is_killed(own: Cluster, lab: BareLab) -> None:
    cluster = lab.create()
    before, hosts = members(lab, cluster["id"]), lab.hosts(cluster)
    own.send("kube-apiserver", signal.SIGKILL)
    try:
        stale = wait_health(lab, "stale", 5)
        assert stale["text"]
        assert time.time() - stale["since"] < 15
        assert members(lab, cluster["id"]) == before
        with pytest.raises(HttpError) as refused:
            put(lab, cluster["id"], 3)
        assert refused.value.status == 503
    finally:
        own.restart("kube-apiserver")
    wait_health(lab, "live", 60)
    lab.wait_ready(cluster["id"], 2, seconds=60)
    assert members(lab, cluster["id"]) == before
    assert lab.hosts(cluster) == hosts
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3)


def test_history_that_etcd_has_compacted(own: Cluster, lab: BareLab) -> None:
    cluster = lab.create()
    assert lab.process is not None
    lab.process.send_signal(signal.SIGSTOP)
    try:
        kubectl(lab, "scale", f"rs/{cluster['id']}", "--replicas=2")
        etcd = json.loads((own.own_state() / "programs" / "etcd.json").read_text())["command"]
        url = next(word.partition("=")[2] for word in etcd if "--listen-client-urls" in word)

        def ask(path: str, body: dict[str, Any]) -> Any:
            call = urllib.request.Request(f"{url}/v3/kv/{path}", json.dumps(body).encode())
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(call, timeout=20) as answer:
                return json.load(answer)

        revision = ask("range", {"key": "AA=="})["header"]["revision"]
        ask("compaction", {"revision": revision, "physical": True})
        own.restart("kube-apiserver")
    finally:
        lab.process.send_signal(signal.SIGCONT)
    wait_health(lab, "live", 60)
    lab.wait_ready(cluster["id"], 3, seconds=60)


# -- what is refused --------------------------------------------------------------------------


def test_quota_while_it_grows(lab: BareLab) -> None:
    cluster = lab.create()
    quota(lab, 3)
    put(lab, cluster["id"], 5)

    def missing() -> list[Any]:
        rows = lab.cluster(cluster["id"])["containers"]
        return [row for row in rows if row["state"] == "not created"]

    lab.wait(lambda: len(missing()) == 2, seconds=30, what="two that are not created")
    lab.wait(
        lambda: all("small" in json.dumps(row["reason"] or "") for row in missing()),
        seconds=30,
        what=f"the quota's words: {missing()}",
    )
    lab.wait(lambda: lab.cluster(cluster["id"])["ready"] == 3, seconds=60, what="three ready")
    assert len(lab.hosts(cluster)) == 3
    before = {row["uid"] for row in lab.cluster(cluster["id"])["containers"] if row["host"]}
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3)
    assert members(lab, cluster["id"]) == before, "only what was not there was given up"
    put(lab, cluster["id"], 4)
    lab.wait(lambda: len(missing()) == 1, seconds=30, what="one that is not created")
    quota(lab, 10)
    lab.wait_ready(cluster["id"], 4, seconds=90)
    assert before < members(lab, cluster["id"])


def test_quota_at_the_creation(lab: BareLab) -> None:
    quota(lab, 0)
    before = lab.objects()
    with pytest.raises(HttpError) as refused:
        lab.create()
    assert refused.value.status == 422
    assert "small" in refused.value.body["hint"]
    assert lab.objects() == before


def test_pod_security_at_the_creation(cluster: Cluster, namespace: str) -> None:
    lab = BareLab(cluster, namespace, kubernetes_pod_template={"spec": {"hostNetwork": True}})
    try:
        lab.start()
        before = lab.objects()
        with pytest.raises(HttpError) as refused:
            lab.create()
        assert refused.value.body["code"] == "pod_security"
        assert "hostNetwork" in refused.value.body["message"]
        assert lab.objects() == before
    finally:
        lab.close()


def test_rights_that_are_missing_or_taken(lab: BareLab) -> None:
    cluster = lab.create()
    before = members(lab, cluster["id"])
    role = json.loads(kubectl(lab, "get", "role", ACCOUNT, "--output=json"))
    for rule in role["rules"]:
        if "replicasets" in rule["resources"]:
            rule["verbs"].remove("patch")
    kubectl(lab, "replace", "--filename=-", stdin=json.dumps(role))
    # Before that a change would be made, and the next one would find nothing to do.
    lab.wait(lambda: not _may(lab, "patch", "replicasets"), seconds=20, what="the Role's change")
    answer = _refused(lab, cluster["id"])
    assert answer is not None
    assert answer["code"] == "rights"
    assert '"patch replicasets' in answer["message"]
    kubectl(lab, "delete", "role", ACCOUNT)
    lab.wait(
        lambda: "get " in (_refused(lab, cluster["id"]) or {"message": ""})["message"],
        seconds=20,
        what="a refusal that names get",
    )
    assert members(lab, cluster["id"]) == before
    namespaces.apply_file(lab.cluster_object, lab.namespace, ROLE)
    lab.wait(lambda: _refused(lab, cluster["id"]) is None, seconds=30, what="the right again")
    lab.wait_ready(cluster["id"], 3)
    assert before < members(lab, cluster["id"])


def _may(lab: BareLab, verb: str, resource: str) -> bool:
    account = f"--as=system:serviceaccount:{lab.namespace}:{ACCOUNT}"
    try:
        return kubectl(lab, "auth", "can-i", verb, resource, account).strip() == "yes"
    except ClusterError:
        return False  # kubectl ends with 1 for a no


def _refused(lab: BareLab, cluster_id: str) -> Any:
    """Ask for three containers and return what is answered, where that is a refusal of rights."""
    try:
        put(lab, cluster_id, 3)
    except HttpError as error:
        return error.body if error.status == 403 else {"code": "", "message": str(error.body)}
    return None


def test_token_that_is_not_valid_any_more(own: Cluster, lab: BareLab) -> None:
    cluster = lab.create()
    before = members(lab, cluster["id"])
    kubectl(lab, "delete", "serviceaccount", ACCOUNT)
    own.restart("kube-apiserver")
    lost = wait_health(lab, "unauthenticated", 60)
    assert lost["text"]
    assert members(lab, cluster["id"]) == before
    namespaces.apply_file(own, lab.namespace, ROLE)
    namespaces.account_kubeconfig(own, lab.namespace, ACCOUNT, lab.folder / "kubeconfig")
    wait_health(lab, "live", 90)
    assert members(lab, cluster["id"]) == before
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3)


# -- others -----------------------------------------------------------------------------------


def test_somebody_else_scales_and_deletes(lab: BareLab) -> None:
    cluster = lab.create()
    kubectl(lab, "scale", f"rs/{cluster['id']}", "--replicas=3")
    lab.wait_ready(cluster["id"], 4)
    worker = lab.cluster(cluster["id"])["containers"][1]
    kubectl(lab, "delete", "pod", worker["name"], "--force", "--grace-period=0")
    lab.wait(
        lambda: worker["uid"] not in members(lab, cluster["id"]), seconds=20, what="it is gone"
    )
    lab.wait_ready(cluster["id"], 4)
    assert worker["host"] not in lab.hosts(lab.cluster(cluster["id"]))


def test_two_servers_scale_at_once(lab: BareLab) -> None:
    cluster = lab.create()
    other = LabServer()
    other._config = {
        **lab._config,
        ENGINE: {**lab._config[ENGINE], "shared_folder": str(other.folder / "mpi")},
    }
    try:
        other.start()
        other.wait(
            lambda: [one["id"] for one in other.get("clusters")["clusters"]] == [cluster["id"]],
            seconds=30,
            what="the same cluster",
        )

        def ask(server: LabServer, size: int) -> int:
            try:
                put(server, cluster["id"], size)
            except HttpError as error:
                return error.status
            return 202

        with ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(ask, lab, 3), threads.submit(ask, other, 4)]
        answers = [one.result() for one in asked]
        assert 202 in answers
        assert set(answers) <= {202, 409}
        time.sleep(1)
        size = lab.cluster(cluster["id"])["target"]
        assert size in (3, 4)
        if 409 in answers:
            assert size == (3, 4)[answers.index(202)]
        lab.wait_ready(cluster["id"], size)
        other.wait(
            lambda: members(other, cluster["id"]) == members(lab, cluster["id"]),
            seconds=10,
            what="both show the same",
        )
    finally:
        other.kill()
        other.close()


def test_namespace_that_is_deleted(lab: BareLab) -> None:
    lab.create()
    namespaces.delete(lab.cluster_object, lab.namespace, seconds=60)
    lab.wait(lambda: not lab.get("clusters")["clusters"], seconds=30, what="none shown")
    with pytest.raises(HttpError) as refused:
        lab.post("clusters", {"name": "again", "size": 2, "framework": "horovod"})
    # The Role and the account went with the namespace; whoever may look at it says that it is gone.
    assert refused.value.status in (403, 404, 503)
    assert refused.value.body["hint"]
    left = lab.cluster_object.kubectl("get", "namespaces", "--output=name")
    assert lab.namespace not in left, "nobody made it again"


def test_object_of_somebody_else(lab: BareLab) -> None:
    cluster = lab.create()
    lab.delete(f"clusters/{cluster['id']}")
    lab.wait(lambda: not lab.get("clusters")["clusters"], seconds=60, what="all given back")
    kubectl(lab, "create", "configmap", cluster["id"], "--from-literal=mine=yes")
    before = lab.objects()
    with pytest.raises(HttpError) as refused:
        lab.create()
    assert refused.value.status == 409
    assert "not ours" in refused.value.body["message"]
    lab.wait(lambda: lab.objects() == before, seconds=30, what="nothing made or deleted")
    found = json.loads(kubectl(lab, "get", "configmap", cluster["id"], "--output=json"))
    assert found["data"] == {"mine": "yes"}
    assert "ownerReferences" not in found["metadata"]


# -- the launcher -----------------------------------------------------------------------------

KILL_KEEPER = """
import os, signal
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
    except OSError:
        continue
    if any(word.endswith(b"keeper.pyz") for word in words) and pid != os.getpid():
        print(pid, words)
        os.kill(pid, signal.SIGTERM if pid == 1 else signal.SIGKILL)
"""


def test_keeper_that_is_killed(lab: BareLab) -> None:
    cluster = lab.create()
    launcher = cluster["containers"][0]["name"]
    workers = {one["uid"] for one in cluster["containers"] if one["role"] == "worker"}
    killed = kubectl(lab, "exec", launcher, "--", "python3", "-c", KILL_KEEPER)
    assert re.match(r"\d", killed)
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3, seconds=90)
    assert workers < members(lab, cluster["id"])


def test_launcher_that_is_deleted(lab: BareLab) -> None:
    cluster = lab.create()
    launcher, worker = cluster["containers"]
    kubectl(lab, "delete", "pod", launcher["name"], "--force", "--grace-period=0")
    lab.wait(
        lambda: launcher["uid"] not in members(lab, cluster["id"]), seconds=30, what="it is gone"
    )
    lab.wait_ready(cluster["id"], 2, seconds=90)
    after = lab.cluster(cluster["id"])
    assert after["containers"][1]["uid"] == worker["uid"]
    assert lab.hosts(after) == [after["containers"][0]["host"], worker["host"]]


def test_server_that_is_killed_while_it_scales(lab: BareLab) -> None:
    cluster = lab.create()
    before = members(lab, cluster["id"])
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(put, lab, cluster["id"], 4)
        time.sleep(0.02)
        lab.kill()
        asked.exception()
    lab.start()
    lab.wait(lambda: bool(lab.get("clusters")["clusters"]), seconds=30, what="the cluster")
    time.sleep(8)  # a change that was left is finished after 5 s
    size = lab.cluster(cluster["id"])["target"]
    assert size in (2, 4)
    lab.wait_ready(cluster["id"], size)
    assert before <= members(lab, cluster["id"])
    put(lab, cluster["id"], 3)
    lab.wait_ready(cluster["id"], 3)
