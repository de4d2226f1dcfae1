"""Namespaces for tests, and accounts with a Role in them."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

from testcluster import kubeconfig
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError
from testcluster.waiting import wait_for

# Label of what was made for a namespace but cannot live in it.
BELONGS_TO = "jupyter-elastic-test/namespace"


def create(cluster: Cluster, name: str, *, security: str = "restricted") -> None:
    """Make a namespace and wait until pods can be created in it.

    Parameters
    ----------
    cluster : Cluster
        Where.
    name : str
        Its name.
    security : str
        Pod Security level that is enforced: privileged, baseline or restricted.
    """
    labels = {"pod-security.kubernetes.io/enforce": security}
    metadata = {"name": name, "labels": labels}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    account = ("serviceaccount", "default", "--namespace", name)
    wait_for(f"default account of {name}", 30, lambda: cluster.get(*account))


def delete(cluster: Cluster, name: str, *, seconds: float = 90) -> None:
    """Delete a namespace, its pods without grace, and the volumes made for it.

    Parameters
    ----------
    cluster : Cluster
        Where.
    name : str
        Its name; it need not exist any more.
    seconds : float
        Longest time to wait for the end; with 0 the cluster finishes the rest by itself, which
        takes it some seconds.
    """
    everything = ("--all", "--namespace", name, "--wait=false")
    with contextlib.suppress(ClusterError):
        # The sets first, so that they do not replace the pods that go.
        cluster.kubectl("delete", "jobs,deployments,statefulsets,replicasets", *everything)
        cluster.kubectl("delete", "pods", *everything, "--force", "--grace-period=0")
    wait = ["--ignore-not-found", f"--wait={'true' if seconds else 'false'}"]
    wait += [f"--timeout={seconds:.0f}s"] if seconds else []
    cluster.kubectl("delete", "namespace", name, *wait, timeout=seconds + 60)
    selector = f"--selector={BELONGS_TO}={name}"
    cluster.kubectl("delete", "persistentvolumes", selector, *wait, timeout=seconds + 60)


def create_account(
    cluster: Cluster, namespace: str, name: str, rules: list[dict[str, Any]]
) -> None:
    """Make a service account with a Role of the same name.

    Parameters
    ----------
    cluster : Cluster
        Where.
    namespace, name : str
        The account's.
    rules : list of dict
        Rules as in a Role: apiGroups, resources, verbs.
    """
    group = "rbac.authorization.k8s.io"
    metadata = {"name": name, "namespace": namespace}
    role = {"apiGroup": group, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [subject],
        },
    )


def account_kubeconfig(
    cluster: Cluster, namespace: str, account: str, path: Path, *, minutes: int = 120
) -> Path:
    """Write a kubeconfig that is an account, by a token that expires.

    Parameters
    ----------
    cluster : Cluster
        Where.
    namespace, account : str
        The service account.
    path : pathlib.Path
        The file.
    minutes : int
        Life of the token; 10 is the least that the API server gives.

    Returns
    -------
    pathlib.Path
        The file.
    """
    arguments = ("create", "token", account, "--namespace", namespace, f"--duration={minutes}m")
    token = cluster.kubectl(*arguments).strip()
    connection = cluster.connection()
    authority = base64.b64decode(connection.get("certificate-authority-data", ""))
    kubeconfig.write(path, connection["server"], authority, token, namespace=namespace)
    return path


def apply_file(cluster: Cluster, namespace: str, path: Path) -> None:
    """Apply a manifest, such as those of ``deploy/``, in a namespace."""
    cluster.kubectl("apply", "--namespace", namespace, "--filename", str(path))


def objects(cluster: Cluster, namespace: str) -> set[str]:
    """Return every object of a namespace but events, as kind/name: what must be as before."""
    listed = cluster.kubectl("api-resources", "--namespaced", "--verbs=list", "--output=name")
    kinds = sorted(kind for kind in listed.split() if not kind.startswith("events"))
    wanted = ("--namespace", namespace, "--ignore-not-found", "--output=json")
    found = json.loads(cluster.kubectl("get", ",".join(kinds), *wanted) or '{"items": []}')
    return {f"{item['kind']}/{item['metadata']['name']}" for item in found["items"]}
