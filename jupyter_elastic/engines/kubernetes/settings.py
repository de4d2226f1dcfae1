"""From the administrator's settings to the engine's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import BadInput
from ...spec import read_mounts
from .config import AMD, NVIDIA, GpuResource, KubernetesConfig


def from_settings(settings: Mapping[str, Any], max_lifetime: float | None) -> KubernetesConfig:
    """Return the configuration.

    Parameters
    ----------
    settings
        Values of the traits ``kubernetes_*``, by their names without the prefix.
    max_lifetime
        Seconds after which a launcher ends, or None.

    Raises
    ------
    BadInput
        A setting that cannot be; it is named.
    """
    images = {}
    for framework, offered in settings["images"].items():
        if isinstance(offered, str):
            offered = [offered]
        if not isinstance(offered, (list, tuple)) or not all(
            isinstance(one, str) for one in offered
        ):
            raise BadInput(
                f"kubernetes_images[{framework!r}] must be a list of images.",
                detail={"field": "kubernetes_images"},
            )
        images[str(framework)] = tuple(offered)
    return KubernetesConfig(
        namespace=settings["namespace"],
        images=images,
        default_image=settings["default_image"] or None,
        pull_policy=settings["pull_policy"] or None,
        pull_secrets=tuple(settings["pull_secrets"]),
        gpus=tuple(map(_gpu, settings["gpus"])) or (NVIDIA, AMD),
        run_as_user=settings["run_as_user"],
        run_as_group=settings["run_as_group"],
        pod_template=settings["pod_template"],
        keeper_account=settings["keeper_account"],
        idle_seconds=settings["idle_seconds"],
        max_lifetime=None if max_lifetime is None else max(1, round(max_lifetime)),
        storage=read_mounts(settings["storage"], "kubernetes_storage"),
        host_folder=settings["host_folder"],
        here=settings["here"],
        pod_name=settings["pod_name"],
        cpu_limit=settings["cpu_limit"],
    )


def _gpu(value: Mapping[str, Any]) -> GpuResource:
    try:
        return GpuResource(**value)
    except TypeError:
        raise BadInput(
            f"kubernetes_gpus: {dict(value)!r:.120} must have `resource`, and may have `label` "
            "and `title`.",
            detail={"field": "kubernetes_gpus"},
        ) from None
