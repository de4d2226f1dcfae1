#!/usr/bin/env python3
"""A real Kubernetes on this machine: build, start, status and stop.

``start`` prints the path of the administrator's kubeconfig on standard output; everything else
goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from steps import say
from testcluster import cluster as clusters
from testcluster import image, life, packages, programs, waiting
from testcluster.faults import ClusterError
from testcluster.versions import BASE_IMAGE

FOLDER = Path("/var/tmp/jupyter-elastic-cluster")  # noqa: S108


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("action", choices=["build", "start", "status", "stop"])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="state folder of the cluster")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs the real node claims to have")
    parser.add_argument("--kwok-nodes", type=int, default=0, help="nodes without a machine")
    parser.add_argument("--no-kubelet", action="store_true", help="no real node; needs no root")
    parser.add_argument("--mpi-operator", action="store_true", help="build it too")
    parser.add_argument("--install", action="store_true", help="install missing Debian packages")
    return parser.parse_args()


def build(options: argparse.Namespace) -> None:
    """Build everything that a start needs."""
    if not options.no_kubelet:
        packages.require()
        say(f"Image: {image.ensure(BASE_IMAGE)}")
    kwok = options.kwok_nodes > 0
    kubelet = not options.no_kubelet
    found = programs.ensure(kubelet=kubelet, kwok=kwok, mpi_operator=options.mpi_operator)
    for name, path in sorted(found.items()):
        say(f"{name}: {path}")


def start(options: argparse.Namespace) -> None:
    """Start a cluster, or say that it runs already."""
    try:
        cluster = clusters.attach(options.folder)
        cluster.process("kube-apiserver")
    except ClusterError:
        wanted = life.Options(
            kubelet=not options.no_kubelet, gpus=options.gpus, kwok_nodes=options.kwok_nodes
        )
        cluster = life.start(options.folder, wanted)
    say(f"Kubernetes runs at {cluster.server}; image for pods: {cluster.image}")
    print(cluster.kubeconfig)


def status(options: argparse.Namespace) -> None:
    """Print what runs."""
    cluster = clusters.attach(options.folder)
    alive = waiting.running(cluster)
    for name in cluster.programs():
        print(f"{name}: {'runs' if name in alive else 'has ended'}")
    print(cluster.kubeconfig)


def main() -> int:
    """Do what the command line says."""
    options = arguments()
    try:
        if options.install:
            packages.install(packages.missing_packages())
        if options.action == "build":
            build(options)
        elif options.action == "start":
            start(options)
        elif options.action == "status":
            status(options)
        else:
            life.stop(options.folder)
    except ClusterError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
