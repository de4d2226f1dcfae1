#!/usr/bin/env python3
"""Prepare ``make lab ENGINE=kubernetes``: a cluster, a namespace, and the settings for both.

Starts the cluster of ``make cluster`` where it does not run, makes a namespace that enforces Pod
Security ``restricted``, gives it the Role of ``deploy/`` and nothing more, offers the working
folder and the training environment as claims, and prints the path of a configuration file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from cluster import FOLDER
from steps import REPO, say
from testcluster import cluster as clusters
from testcluster import image, life, namespaces, packages, programs, volumes
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError
from testcluster.versions import BASE_IMAGE
from training_env import cache_root

NAMESPACE = "elastic-lab"
ACCOUNT = "jupyter-elastic"


def running() -> Cluster:
    """Return the cluster, started where it does not run."""
    try:
        cluster = clusters.attach(FOLDER)
        cluster.process("kube-apiserver")
    except ClusterError:
        packages.require()
        image.ensure(BASE_IMAGE)
        programs.ensure()
        cluster = life.start(FOLDER, life.Options(gpus=8))
    return cluster


def settings(cluster: Cluster, work: Path) -> dict[str, object]:
    """Make the namespace and return the traits of the extension."""
    namespaces.create(cluster, NAMESPACE)
    namespaces.apply_file(cluster, NAMESPACE, REPO / "deploy" / "role.yaml")
    account = namespaces.account_kubeconfig(
        cluster, NAMESPACE, ACCOUNT, FOLDER / "lab.kubeconfig", minutes=24 * 60
    )
    root = cache_root()
    volumes.host_folder(cluster, NAMESPACE, "training", root)
    volumes.host_folder(cluster, NAMESPACE, "work", work, read_only=False)
    return {
        "engines": ["kubernetes", "local"],
        "kubernetes_kubeconfig": str(account),
        "kubernetes_default_image": cluster.image,
        "kubernetes_pull_policy": "Never",
        "kubernetes_storage": [
            {"claim": "training", "path": str(root), "read_only": True},
            {"claim": "work", "path": str(work)},
        ],
    }


def main(work: Path) -> int:
    """Prepare everything."""
    work.mkdir(parents=True, exist_ok=True)
    # Containers are not root, and write their results here.
    work.chmod(0o777)
    try:
        traits = settings(running(), work)
    except ClusterError as error:
        say(str(error))
        return 1
    path = FOLDER / "lab.json"
    path.write_text(json.dumps({"ElasticExtensionApp": traits}, indent=1), encoding="utf-8")
    say("Pods of the namespace elastic-lab; `make cluster-stop` ends the cluster and all of them.")
    print(path)
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(Path(sys.argv[1])))
