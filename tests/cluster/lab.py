"""A real Jupyter server on this machine whose containers are pods, with the rights of ``deploy/`` only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testcluster import namespaces, volumes
from testcluster.cluster import Cluster
from training_env import cache_root

from ..harness.lab import LabServer
from ..harness.training import training_env
from ..story.conftest import prepare

ROLE = Path(__file__).parents[2] / "deploy" / "role.yaml"
ACCOUNT = "jupyter-elastic"
STORY = Path(__file__).parents[1] / "story"


class ClusterLab(LabServer):
    """The server, its namespace, and its work folder mounted into every pod at the same path.

    Parameters
    ----------
    traits
        More of ``ElasticExtensionApp``.
    """

    def __init__(self, cluster: Cluster, namespace: str, **traits: Any) -> None:
        super().__init__(options={})
        self.cluster_object = cluster
        self.namespace = namespace
        # Its name only is secret; a pod comes as user 1000.
        self.folder.chmod(0o755)
        self.work.chmod(0o777)
        namespaces.apply_file(cluster, namespace, ROLE)
        config = namespaces.account_kubeconfig(
            cluster, namespace, ACCOUNT, self.folder / "kubeconfig"
        )
        root = cache_root()
        volumes.host_folder(cluster, namespace, "training", root)
        volumes.host_folder(cluster, namespace, "work", self.work, read_only=False)
        self._config["ElasticExtensionApp"].update(
            {
                "engines": ["kubernetes"],
                "kubernetes_kubeconfig": str(config),
                "kubernetes_default_image": cluster.image,
                "kubernetes_pull_policy": "Never",
                "kubernetes_storage": [
                    {"claim": "training", "path": str(root), "read_only": True},
                    {"claim": "work", "path": str(self.work)},
                ],
                "drain_grace": 3.0,
                **traits,
            }
        )
        prepare(self, training_env())
        (self.work / "where.py").write_bytes(Path(__file__).with_name("where.py").read_bytes())
        for path in self.work.iterdir():
            path.chmod(0o644)

    def create(self, name: str = "tthvd", size: int = 2, **fields: Any) -> Any:
        """Create a cluster and wait until all of it is ready."""
        fields = {"framework": "horovod", "launcher_mode": "pod", **fields}
        made = self.post("clusters", {"name": name, "size": size, "operation": name, **fields})
        self.wait_ready(made["id"], size)
        return self.cluster(made["id"])

    def wait_ready(self, cluster_id: str, size: int, seconds: float = 60) -> None:
        """Wait until `size` containers are ready and the host file in the launcher shows them."""

        def settled() -> bool:
            cluster = self.cluster(cluster_id)
            return bool(
                cluster["state"] == "ready"
                and cluster["ready"] == cluster["target"] == size
                and len(self.hosts(cluster)) == size
            )

        self.wait(settled, seconds=seconds, what=f"{size} ready containers")

    def hosts(self, cluster: Any) -> list[str]:
        """Read the addresses in the host file, in the launcher pod itself."""
        launcher = cluster["containers"][0]["name"]
        path = cluster["hostfile"]["hostfile"]
        where = ("--namespace", self.namespace)
        text = self.cluster_object.kubectl("exec", launcher, *where, "--", "cat", path)
        return [line.split()[0] for line in text.splitlines()]

    def objects(self) -> set[str]:
        """Every object of the namespace."""
        return namespaces.objects(self.cluster_object, self.namespace)
