"""Which program files a cluster runs, taken from the machine or built."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from testcluster import gobuild
from testcluster.versions import ETCD, KUBERNETES, KWOK, MPI_OPERATOR, Build

CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# What a folder named by KUBEBUILDER_ASSETS may bring.
ASSETS = ("kube-apiserver", "etcd", "kubectl")


def ensure(
    *, kubelet: bool = True, kwok: bool = False, mpi_operator: bool = False
) -> dict[str, Path]:
    """Return the file of each program that is needed, after building those that are absent.

    Parameters
    ----------
    kubelet, kwok, mpi_operator : bool
        Whether these are needed beside the control plane.

    Returns
    -------
    dict of str to pathlib.Path
        Program name to file.

    Raises
    ------
    ClusterError
        If one cannot be built.
    """
    wanted = _wanted(kubelet, kwok, mpi_operator)
    found = {name: path for name in wanted if (path := of_the_machine(name)) is not None}
    ours = {name: build for name, build in wanted.items() if name not in found}
    # Etcd is the quickest to build: what is wrong with Go shows early.
    for build in (ETCD, KUBERNETES, KWOK, MPI_OPERATOR):
        gobuild.ensure(build, [name for name, owner in ours.items() if owner is build])
    return found | {name: gobuild.built(build, name) for name, build in ours.items()}


def absent(*, kubelet: bool = True, kwok: bool = False, mpi_operator: bool = False) -> list[str]:
    """Return the programs that :func:`ensure` would have to build."""
    wanted = _wanted(kubelet, kwok, mpi_operator)
    return [
        name
        for name, build in wanted.items()
        if of_the_machine(name) is None and not gobuild.built(build, name).exists()
    ]


def _wanted(kubelet: bool, kwok: bool, mpi_operator: bool) -> dict[str, Build]:
    """Return each program that is needed, with the build it comes from."""
    wanted = dict.fromkeys(CONTROL_PLANE, KUBERNETES)
    wanted |= {"kubectl": KUBERNETES, "etcd": ETCD}
    wanted |= {"kubelet": KUBERNETES} if kubelet else {}
    wanted |= {"kwok": KWOK} if kwok else {}
    wanted |= {"mpi-operator": MPI_OPERATOR} if mpi_operator else {}
    return wanted


def of_the_machine(name: str) -> Path | None:
    """Return a program that need not be built: an asset, or the machine's own kubectl."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and name in ASSETS and (Path(assets) / name).exists():
        return Path(assets) / name
    kubectl = shutil.which("kubectl") if name == "kubectl" else None
    return Path(kubectl) if kubectl else None
