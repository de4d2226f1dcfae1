"""What ``deploy/`` gives is enough and not more, on a real API server; doctor and gc there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from testcluster import namespaces
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError

from jupyter_elastic.checks import kubernetes
from jupyter_elastic.checks.kubernetes import Target
from jupyter_elastic.engines.kubernetes import labels, leftovers

from .lab import ACCOUNT, ROLE, ClusterLab

DEPLOY = ROLE.parent
OTHERS = ("networkpolicy.yaml", "hub-clusterrole.yaml", "kubeflow-notebook.yaml")
# Kubeflow's own kinds are not here.
KNOWN = ("v1", "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1")


@pytest.fixture
def account(cluster: Cluster, namespace: str, tmp_path: Path) -> Path:
    """A kubeconfig of the account of ``deploy/role.yaml``."""
    namespaces.apply_file(cluster, namespace, ROLE)
    return namespaces.account_kubeconfig(cluster, namespace, ACCOUNT, tmp_path / "kubeconfig")


def look(path: Path) -> dict[str, Any]:
    found = kubernetes.checks(Target(kubeconfig=str(path), wanted=True), {})
    return {item.name: item for item in found}


def test_the_role_is_enough_and_not_more(cluster: Cluster, namespace: str, account: Path) -> None:
    found = look(account)
    assert {name: item.text for name, item in found.items() if item.ok is False} == {}
    assert found["rights beyond the role"].ok is True
    assert f"as system:serviceaccount:{namespace}:{ACCOUNT}" in found["Kubernetes"].text

    role = json.loads(
        cluster.kubectl("get", "role", ACCOUNT, "--namespace", namespace, "--output=json")
    )
    for rule in role["rules"]:
        if rule["resources"] == ["replicasets"]:
            rule["verbs"].remove("patch")
    cluster.apply(role)
    lacking = look(account)["right to replicasets"]
    assert lacking.ok is False
    granting = lacking.fix.removeprefix("Ask the administrator to run: ")
    for command in granting.split(" && "):
        cluster.kubectl(*command.split()[1:])
    assert look(account)["right to replicasets"].ok is True


def test_an_administrator_is_warned(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    namespaces.create_account(cluster, namespace, "chief", everything)
    path = namespaces.account_kubeconfig(cluster, namespace, "chief", tmp_path / "chief")
    warning = look(path)["rights beyond the role"]
    assert warning.ok is None
    assert warning.text.endswith("do everything in this namespace")


@pytest.mark.parametrize("name", [ROLE.name, *OTHERS])
def test_the_server_takes_the_files(cluster: Cluster, namespace: str, name: str) -> None:
    for one in yaml.safe_load_all((DEPLOY / name).read_text()):
        if one["apiVersion"] not in KNOWN:
            continue
        text = json.dumps(one).replace("NAMESPACE", namespace)
        arguments = ("apply", "--dry-run=server", "--namespace", namespace, "--filename=-")
        assert "dry run" in cluster.kubectl(*arguments, stdin=text)


def test_gc_leaves_a_living_cluster_alone(
    cluster: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "SETTLED_SECONDS", -5.0)
    lab = ClusterLab(cluster, namespace)
    try:
        lab.start()
        made = lab.create()
        before = lab.objects()
        report = leftovers.sweep(kubeconfig=str(lab.folder / "kubeconfig"), delete=True)
        assert (report.found, report.living) == ((), (made["id"],))
        assert lab.objects() == before
    finally:
        lab.close()


def test_gc_takes_what_is_left_and_nothing_else(
    cluster: Cluster, namespace: str, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "SETTLED_SECONDS", -5.0)
    ours = labels.of_cluster("dead-1")
    template = {
        "metadata": {"labels": {**ours, labels.SET: "dead-1"}},
        "spec": {"containers": [{"name": "main", "image": "none.invalid/x"}]},
    }
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels.set_selector("dead-1")},
        "template": template,
    }
    about = {"namespace": namespace, "labels": ours}
    cluster.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "dead-1", **about},
            "spec": spec,
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dead-1-keeper", **about}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "live-1",
                "namespace": namespace,
                "labels": labels.of_cluster("live-1"),
            },
        },
    )
    report = leftovers.sweep(kubeconfig=str(account))
    assert [one.name for one in report.found] == ["dead-1", "dead-1-keeper"]
    assert report.living == ("live-1",)
    assert "Secrets may not be listed" in report.notes[0]
    assert cluster.get("replicaset", "dead-1", "--namespace", namespace)
    assert len(leftovers.sweep(kubeconfig=str(account), delete=True).deleted) == 2
    with pytest.raises(ClusterError):
        cluster.get("replicaset", "dead-1", "--namespace", namespace)
    assert cluster.get("configmap", "live-1", "--namespace", namespace)
