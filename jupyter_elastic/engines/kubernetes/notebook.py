"""What workers copy of Jupyter's own pod, when that pod is the launcher (mode `here`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...models import Mount
from . import quantities
from .fields import mapping, mappings
from .layout import CONTAINER

_OWN_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True)
class Notebook:
    """Its image, claims, working folder, user, tolerations and pull secrets: nothing secret.

    Environment, account, token, Secrets and ConfigMaps are never copied.
    """

    uid: str
    name: str
    host: str | None
    image: str | None
    mounts: tuple[Mount, ...] = ()
    working_folder: str | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    fs_group: int | None = None
    tolerations: tuple[Mapping[str, Any], ...] = ()
    pull_secrets: tuple[str, ...] = ()
    gpus: tuple[tuple[str, int], ...] = ()  # resource and count
    node: str | None = None
    owner: Mapping[str, Any] | None = None  # its controller's reference


def read(pod: Mapping[str, Any], container: str | None = None) -> Notebook:
    """Return what can be copied of a pod.

    Parameters
    ----------
    pod
        As the API server gives it.
    container
        Jupyter's container; when None, one with a usual name, else the first.
    """
    metadata, spec = mapping(pod.get("metadata")), mapping(pod.get("spec"))
    main = _container(spec, container)
    own, of_pod = mapping(main.get("securityContext")), mapping(spec.get("securityContext"))
    owners = [item for item in mappings(metadata.get("ownerReferences")) if item.get("controller")]
    return Notebook(
        uid=str(metadata.get("uid") or ""),
        name=str(metadata.get("name") or ""),
        host=mapping(pod, "status").get("podIP"),
        image=main.get("image"),
        mounts=tuple(_mounts(spec, main)),
        working_folder=main.get("workingDir"),
        run_as_user=own.get("runAsUser", of_pod.get("runAsUser")),
        run_as_group=own.get("runAsGroup", of_pod.get("runAsGroup")),
        fs_group=of_pod.get("fsGroup"),
        tolerations=tuple(
            item for item in mappings(spec.get("tolerations")) if item.get("key") not in _OWN_TAINTS
        ),
        pull_secrets=tuple(
            str(item["name"]) for item in mappings(spec.get("imagePullSecrets")) if item.get("name")
        ),
        gpus=tuple(_gpus(main)),
        node=spec.get("nodeName"),
        owner=owners[0] if owners else None,
    )


def _container(spec: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    containers = mappings(spec.get("containers"))
    wanted = (name,) if name else ("notebook", CONTAINER)
    for item in containers:
        if item.get("name") in wanted:
            return item
    return containers[0] if containers else {}


def _mounts(spec: Mapping[str, Any], main: Mapping[str, Any]) -> Iterator[Mount]:
    claims = {
        item.get("name"): mapping(item.get("persistentVolumeClaim"))
        for item in mappings(spec.get("volumes"))
        if item.get("persistentVolumeClaim")
    }
    for item in mappings(main.get("volumeMounts")):
        claim = claims.get(item.get("name"))
        if claim is None or not claim.get("claimName") or not item.get("mountPath"):
            continue
        if item.get("subPathExpr"):
            continue  # made of the environment, which is not copied
        yield Mount(
            claim=str(claim["claimName"]),
            path=str(item["mountPath"]),
            read_only=bool(claim.get("readOnly") or item.get("readOnly")),
            sub_path=str(item.get("subPath") or ""),
        )


def _gpus(main: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in mapping(main, "resources", "limits").items():
        if ("/" in name and "gpu" in name.lower()) or name.startswith("nvidia.com/mig-"):
            yield name, quantities.whole(value)
