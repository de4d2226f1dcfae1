"""The labels and annotations of our objects: by them a restarted server finds everything again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...models import Role

PREFIX = "jupyter-elastic"
CLUSTER = f"{PREFIX}/cluster"  # id of the cluster, on everything
ROLE = f"{PREFIX}/role"  # launcher or worker, on pods
SET = f"{PREFIX}/set"  # on workers that the ReplicaSet counts; a leaver has lost it
VERSION = f"{PREFIX}/version"  # of these labels, so that a later release knows old clusters
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "jupyter-elastic"
LABEL_VERSION = "1"

OPERATION = f"{PREFIX}/operation"  # which request made it: the same request again finds it
NAME = f"{PREFIX}/name"  # the display name, any Unicode text
ABOUT = f"{PREFIX}/about"  # on the launcher Job: what the anchor says, should that be deleted
DRAIN_UNTIL = f"{PREFIX}/drain-until"  # on a leaver: seconds since 1970, the server's time
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"  # the set deletes the lower first
BOOT = f"{PREFIX}/boot"  # on an anchor of mode here: of which start of Jupyter's pod
HOST_FOLDER = f"{PREFIX}/host-folder"  # on the same: where its host file is
NUDGE = f"{PREFIX}/nudge"  # changed to make the controller try again at once


def of_cluster(cluster: str) -> dict[str, str]:
    """Return the labels of every object of a cluster."""
    return {CLUSTER: cluster, MANAGED_BY: MANAGER, VERSION: LABEL_VERSION}


def of_pod(cluster: str, role: Role) -> dict[str, str]:
    """Return the labels of a pod."""
    labels = {**of_cluster(cluster), ROLE: role}
    if role == "worker":
        labels[SET] = cluster
    return labels


def set_selector(cluster: str) -> dict[str, str]:
    """Return the labels by which the ReplicaSet counts its pods."""
    return {CLUSTER: cluster, SET: cluster}


def selector(cluster: str | None = None) -> str:
    """Return the selector of all objects of one cluster, or of every cluster."""
    which = CLUSTER if cluster is None else f"{CLUSTER}={cluster}"
    return f"{MANAGED_BY}={MANAGER},{which}"


def cluster_of(thing: Mapping[str, Any]) -> str | None:
    """Return the id of the cluster that an object belongs to, or None when it is not ours."""
    metadata = thing.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not isinstance(labels, Mapping) or labels.get(MANAGED_BY) != MANAGER:
        return None
    cluster = labels.get(CLUSTER)
    return cluster if isinstance(cluster, str) and cluster else None
