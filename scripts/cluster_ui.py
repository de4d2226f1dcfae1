#!/usr/bin/env python3
"""Run the browser tests whose containers are pods: a cluster and a namespace of their own.

Called from ``ui-tests`` by the cluster stage, with the environment of the ui stage.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from steps import REPO, VENV, say
from testcluster import cluster as clusters
from testcluster import life, namespaces, sessions, volumes
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError
from training_env import cache_root

NAMESPACE, ACCOUNT = "browser", "jupyter-elastic"


def traits(cluster: Cluster, work: Path, kubeconfig: Path) -> dict[str, object]:
    """Make the namespace with the Role of ``deploy/`` only, and return the extension's traits."""
    namespaces.create(cluster, NAMESPACE)
    namespaces.apply_file(cluster, NAMESPACE, REPO / "deploy" / "role.yaml")
    namespaces.account_kubeconfig(cluster, NAMESPACE, ACCOUNT, kubeconfig)
    root = cache_root()
    volumes.host_folder(cluster, NAMESPACE, "training", root)
    volumes.host_folder(cluster, NAMESPACE, "work", work, read_only=False)
    return {
        "engines": ["kubernetes"],
        "kubernetes_kubeconfig": str(kubeconfig),
        "kubernetes_default_image": cluster.image,
        "kubernetes_pull_policy": "Never",
        "kubernetes_storage": [
            {"claim": "training", "path": str(root), "read_only": True},
            {"claim": "work", "path": str(work)},
        ],
    }


def browse(cluster: Cluster, folder: Path) -> int:
    """Run the tests and return their exit code."""
    # Containers are not root, and have to see the server's working folder.
    folder.chmod(0o755)
    work = folder / "kubernetes" / "work"
    work.mkdir(parents=True)
    work.chmod(0o777)
    environment = {
        **os.environ,
        "ELASTIC_UI_FOLDER": str(folder),
        "ELASTIC_UI_KINDS": "kubernetes",
        "ELASTIC_UI_TRAITS": json.dumps(traits(cluster, work, folder / "kubeconfig")),
    }
    jlpm = str(VENV / "bin" / "jlpm")
    for command in (
        [jlpm, "install", "--immutable"],
        [jlpm, "playwright", "test", "--reporter=list,json"],
    ):
        done = subprocess.run(command, cwd=REPO / "ui-tests", env=environment, check=False)
        if done.returncode:
            return done.returncode
    return 0


def main() -> int:
    """Bring a cluster up, run the tests, and leave nothing behind."""
    existing = clusters.given()
    state = sessions.folder()
    folder = Path(tempfile.mkdtemp(prefix="jeu-", dir="/tmp"))
    try:
        if existing is None:
            sessions.sweep()
        cluster = existing or life.start(state, life.Options(gpus=8))
        return browse(cluster, folder)
    except ClusterError as error:
        say(f"COULD NOT RUN: {error}")
        return 1
    finally:
        if existing is None:
            life.stop(state)
        else:
            namespaces.delete(existing, NAMESPACE)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
