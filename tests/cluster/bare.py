"""A server with pods but no volumes: where nothing trains, a test need not wait for claims."""

from __future__ import annotations

from typing import Any

from testcluster import namespaces
from testcluster.cluster import Cluster

from ..harness.lab import LabServer
from .lab import ACCOUNT, ROLE, ClusterLab


class BareLab(ClusterLab):
    """As :class:`ClusterLab`, without work folder, environment and kernelspec for training."""

    def __init__(self, cluster: Cluster, namespace: str, **traits: Any) -> None:
        LabServer.__init__(self, options={})
        self.cluster_object = cluster
        self.namespace = namespace
        namespaces.apply_file(cluster, namespace, ROLE)
        config = namespaces.account_kubeconfig(
            cluster, namespace, ACCOUNT, self.folder / "kubeconfig"
        )
        self._config["ElasticExtensionApp"].update(
            {
                "engines": ["kubernetes"],
                "kubernetes_kubeconfig": str(config),
                "kubernetes_default_image": cluster.image,
                "kubernetes_pull_policy": "Never",
                "drain_grace": 3.0,
                **traits,
            }
        )
