"""What the administrator decided about clusters on Kubernetes, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...models import ClusterSpec, Mount

PullPolicy = Literal["Always", "IfNotPresent", "Never"]


@dataclass(frozen=True)
class GpuResource:
    """A kind of accelerator: the resource that pods ask for, and the node label that says which.

    A resource that already says which one it is, such as a MIG slice, has no label.
    """

    resource: str
    label: str = ""
    title: str = "GPU"


NVIDIA = GpuResource("nvidia.com/gpu", "nvidia.com/gpu.product", "NVIDIA GPU")
AMD = GpuResource("amd.com/gpu", "amd.com/gpu.product-name", "AMD GPU")


@dataclass(frozen=True)
class KubernetesConfig:
    """Settings of the engine. Times in seconds, sizes in bytes.

    A GPU kind of a cluster is the name of a resource (``nvidia.com/mig-1g.5gb``), a value of the
    node label of the first resource that has one (``Tesla-P4``), or both (``amd.com/gpu=MI210``).
    """

    namespace: str = ""
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by framework
    default_image: str | None = None
    pull_policy: PullPolicy | None = None
    pull_secrets: tuple[str, ...] = ()
    gpus: tuple[GpuResource, ...] = (NVIDIA, AMD)
    run_as_user: int | None = 1000  # None: the image's own user, which must be a number above 0
    run_as_group: int | None = 1000  # also the group of storage; None: the image's own
    pod_template: Mapping[str, Any] = field(default_factory=dict)  # merged last, into every pod
    keeper_account: str = ""  # service account of the launcher; empty: it gets no token
    idle_seconds: float | None = 1800.0  # a launcher without run and terminal gives all back then
    max_lifetime: int | None = None  # of a launcher of its own
    storage: tuple[Mount, ...] = ()  # mounted into every cluster
    host_folder: str = "/etc/mpi"
    here: bool = True  # whether Jupyter's own pod may be a launcher
    pod_name: str = ""  # its name; empty: found by itself
    shared_memory: int = 2**30  # of a container where the form says nothing
    cpu_limit: bool = True  # whether the cores asked for are also the most it gets
    worker_loss_seconds: int = 30  # a node that does not answer keeps its workers so long
    launcher_loss_seconds: int = 300
    termination_seconds: int = 30  # from the wish to end to the end by force

    def image(self, spec: ClusterSpec) -> str | None:
        """Return the image of a cluster: the chosen one, else the first one of its framework."""
        offered = self.images.get(spec.framework) or ()
        return spec.image or next(iter(offered), None) or self.default_image

    def gpu(self, kind: str | None) -> tuple[GpuResource, str] | None:
        """Return the resource of a GPU kind and the value of its node label; None if there is none.

        The value is empty where any node with the resource will do.
        """
        by_name = {item.resource: item for item in self.gpus}
        if kind is None:
            return (self.gpus[0], "") if self.gpus else None
        if kind in by_name:
            return by_name[kind], ""
        resource, found, value = kind.partition("=")
        if found:
            chosen = by_name.get(resource)
            return (chosen, value) if chosen is not None and chosen.label and value else None
        labelled = next((item for item in self.gpus if item.label), None)
        return None if labelled is None else (labelled, kind)

    def kind(self, resource: str, value: str) -> str:
        """Return the name of a GPU kind, such that :meth:`gpu` finds it again."""
        chosen = next((item for item in self.gpus if item.resource == resource), None)
        if chosen is None or not chosen.label or not value:
            return resource
        first = next(item for item in self.gpus if item.label)
        return value if first is chosen else f"{resource}={value}"
