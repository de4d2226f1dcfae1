"""What the create form may offer on this cluster, as far as we may look. Blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...keeper.kube.calls import PVCS, QUOTAS, Api, Kind
from ...keeper.kube.errors import Forbidden
from ...models import EngineOptions, GpuKind, Health, Limit
from . import quantities
from .config import GpuResource, KubernetesConfig
from .site import Site

Json = dict[str, Any]
# No cluster has this many; where no quota says less, Kubernetes decides what can start.
MOST = 1000
_POD_KEYS = ("pods", "count/pods")


class Choices:
    """Reads claims and quotas of the namespace.

    Parameters
    ----------
    api
        The calls.
    here
        What is known of the pod of this server.
    """

    def __init__(self, api: Api, config: KubernetesConfig, here: Site) -> None:
        self._api = api
        self._config = config
        self._here = here

    def options(self, name: str, title: str, health: Health) -> EngineOptions:
        """Return the options now; what we may not look at is unknown, not an error."""
        claims = self._list(PVCS)
        quotas = self._list(QUOTAS)
        room = capacity(quotas or [], self._api.namespace)
        images = self._images()
        modes, why = self._here.modes(images)
        notebook = self._here.notebook
        gpus, note = _gpus(self._config.gpus, quotas)
        return EngineOptions(
            name=name,
            title=title,
            summary=f"namespace {self._api.namespace}" + (f", {note}" if note else ""),
            health=health,
            max_size=room.size,
            capacity=room,
            launcher_modes=modes,
            launcher_note=why,
            launcher_gpus=None if notebook is None else sum(n for _, n in notebook.gpus),
            gpu_kinds=gpus,
            gpu_note=note,
            images=images,
            storage=tuple(sorted(one["metadata"]["name"] for one in claims or [])),
            shared_memory=True,
            pod_fields=True,
        )

    def _images(self) -> tuple[str, ...]:
        default = (self._config.default_image,) if self._config.default_image else ()
        offered = (image for images in self._config.images.values() for image in images)
        return tuple(dict.fromkeys((*default, *offered)))

    def _list(self, kind: Kind) -> list[Json] | None:
        """Return all objects of a kind, or None where we may not look."""
        try:
            return self._api.list(kind)[0]
        except Forbidden:
            return None


def capacity(quotas: Sequence[Mapping[str, Any]], namespace: str) -> Limit:
    """Return the largest size that the quotas on pods leave room for."""
    size, text = MOST, "Kubernetes decides what can start."
    for quota in quotas:
        name = (quota.get("metadata") or {}).get("name")
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for key in _POD_KEYS:
            left = _left(hard, used, key)
            if left is not None and left < size:
                size = left
                text = (
                    f"The quota {name} of the namespace {namespace} leaves room for {left} more "
                    f"pods ({used.get(key, 0)} of {hard[key]} are used); the administrator sets it."
                )
    return Limit(size, text)


def _left(hard: Mapping[str, Any], used: Mapping[str, Any], key: str) -> int | None:
    most, taken = quantities.parse(hard.get(key)), quantities.parse(used.get(key, "0"))
    return None if most is None else max(0, math.floor(most - (taken or 0)))


def _gpus(
    known: Sequence[GpuResource], quotas: Sequence[Mapping[str, Any]] | None
) -> tuple[tuple[GpuKind, ...], str]:
    """Return the kinds with what the quotas leave; where none speaks of them it is not known."""
    kinds = []
    for resource in known:
        left = total = None
        for quota in quotas or []:
            status = quota.get("status") or {}
            hard, used = status.get("hard") or {}, status.get("used") or {}
            key = f"requests.{resource.resource}"
            free = _left(hard, used, key)
            if free is not None and (left is None or free < left):
                left, total = free, _left(hard, {}, key)
        kinds.append(GpuKind(resource.resource, total or 0, left))
    seen = any(kind.free is not None for kind in kinds)
    return tuple(kinds), "" if seen else "free GPUs: unknown"
