"""Folders of this machine as volumes of pods on the real node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training_env import cache_root

from testcluster.cluster import Cluster
from testcluster.namespaces import BELONGS_TO


def host_folder(
    cluster: Cluster, namespace: str, name: str, folder: Path, *, read_only: bool = True
) -> str:
    """Offer a folder of this machine to the pods of a namespace.

    Parameters
    ----------
    cluster : Cluster
        Where.
    namespace, name : str
        Namespace and name of the claim; it goes with :func:`testcluster.namespaces.delete`.
    folder : pathlib.Path
        The folder. Where a pod may write, it has to be writable for its uid.
    read_only : bool
        Whether the volume refuses writing.

    Returns
    -------
    str
        The claim's name.
    """
    modes = ["ReadOnlyMany"] if read_only else ["ReadWriteMany"]
    room = {"storage": "10Gi"}
    claim = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    volume = f"{namespace}-{name}"
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume, "labels": {BELONGS_TO: namespace}},
            "spec": {
                "capacity": room,
                "accessModes": modes,
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"apiVersion": "v1", **claim},
                "hostPath": {"path": str(folder), "type": "Directory"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "accessModes": modes,
                "storageClassName": "",
                "volumeName": volume,
                "resources": {"requests": room},
            },
        },
    )
    jsonpath = "--for=jsonpath={.status.phase}=Bound"
    cluster.kubectl("wait", f"pvc/{name}", "--namespace", namespace, jsonpath, "--timeout=60s")
    return name


def training(cluster: Cluster, namespace: str, name: str = "training") -> dict[str, Any]:
    """Offer the built environments, the training one among them, at the path they have here.

    Their programs hold absolute paths, so it has to be the same one. The environment's own
    folder is what ``scripts/training_env.py`` prints; it works in the test image because both
    have Debian's ``/usr/bin/python3.11``.

    Returns
    -------
    dict
        As from :func:`mount`.
    """
    folder = cache_root()
    return mount(name, host_folder(cluster, namespace, name, folder), folder)


def mount(name: str, claim: str, path: Path, *, read_only: bool = True) -> dict[str, Any]:
    """Return the ``volumes`` and ``volumeMounts`` entries that put a claim at a path.

    Returns
    -------
    dict
        Keys ``volume`` and ``mount``.
    """
    source = {"claimName": claim, "readOnly": read_only}
    return {
        "volume": {"name": name, "persistentVolumeClaim": source},
        "mount": {"name": name, "mountPath": str(path), "readOnly": read_only},
    }
