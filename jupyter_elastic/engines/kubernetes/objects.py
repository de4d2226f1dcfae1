"""The small objects of a cluster: anchor, keeper, keys. All that belongs together has one owner."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import TooLarge
from ...models import ClusterSpec, HostList
from . import anchor as anchors
from . import labels, layout
from .keys import ClusterKeys
from .pod import Build

GRACE_SECONDS = 10.0  # between TERM and KILL of a run
MAP_LIMIT = 2**20  # bytes of a ConfigMap


def owner(thing: Mapping[str, Any], kind: str, version: str) -> dict[str, Any]:
    """Return a reference to an object that was created.

    It does not block its owner's deletion: that would need rights on the owner's finalizers.
    """
    metadata = thing["metadata"]
    return {
        "apiVersion": version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }


def metadata(
    build: Build, name: str, owner: Mapping[str, Any] | None, annotations: Mapping[str, str] = {}
) -> dict[str, Any]:
    """Return the metadata of an object of the cluster."""
    result: dict[str, Any] = {
        "name": name,
        "labels": labels.of_cluster(build.id),
        "annotations": {labels.OPERATION: build.operation, **annotations},
    }
    if owner is not None:
        result["ownerReferences"] = [dict(owner)]
    return result


def about(build: Build, created: float) -> anchors.About:
    """Return what the anchor says of the cluster; values of variables stay in the pods' template.

    Parameters
    ----------
    created
        The instant, by the server's clock.
    """
    spec = masked(build.spec)
    return anchors.About(spec, spec.settings, created, build.operation)


def masked(spec: ClusterSpec) -> ClusterSpec:
    """Return a specification without the values of variables."""
    return dataclasses.replace(spec, env=tuple((name, "") for name, _ in spec.env))


def about_text(known: anchors.About) -> str:
    """Return it as text, for the launcher Job."""
    return anchors.to_data(known, HostList(0), anchors.Intent())[anchors.ABOUT]


def anchor(build: Build, known: anchors.About, owner: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the anchor: host list, generation and intent of the cluster; owner of the rest.

    Parameters
    ----------
    owner
        The launcher Job, or in mode `here` Jupyter's pod or its controller.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(build, build.id, owner, {labels.NAME: build.spec.name}),
        "data": anchors.to_data(known, HostList(0), anchors.Intent()),
    }


def keeper_config(
    build: Build,
    programs: Sequence[str],
    *,
    allow_env: Sequence[str] = ("*",),
    ssh_folder: str = layout.SSH,
) -> dict[str, Any]:
    """Return the keeper's configuration.

    Parameters
    ----------
    programs
        Launcher programs for which it holds a starter.
    allow_env
        Names that launch shells get of the keeper's environment: in a pod of its own all of it was
        made for the cluster.
    ssh_folder
        Where the launcher's keys are.
    """
    return {
        "cluster": build.id,
        "name": build.spec.name,
        "host_folder": build.config.host_folder,
        "programs": list(programs),
        "allow_env": list(allow_env),
        "grace_seconds": GRACE_SECONDS,
        "termination_seconds": build.config.termination_seconds,
        "state_file": "",  # the truth is here, in the anchor
        "lock_file": "",
        "ssh_config": layout.ssh_config(build.id, ssh_folder),
    }


def rules(build: Build) -> dict[str, Any]:
    """Return the release rules that a new launcher starts with, until a server says others."""
    return {
        "rules": {
            "on_run_end": build.spec.settings.release_policy,
            "idle_seconds": build.config.idle_seconds,
        }
    }


def keeper_map(
    build: Build, owner: Mapping[str, Any], program: bytes, programs: Sequence[str]
) -> dict[str, Any]:
    """Return the ConfigMap that brings the keeper to the launcher.

    Parameters
    ----------
    program
        ``keeper.pyz``.

    Raises
    ------
    TooLarge
        More than Kubernetes takes.
    """
    encoded = base64.b64encode(program).decode("ascii")
    if len(encoded) > MAP_LIMIT - 2**16:
        raise TooLarge(
            f"The keeper has {len(encoded)} bytes, a ConfigMap takes {MAP_LIMIT}.",
            detail={"limit": MAP_LIMIT},
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(build, layout.keeper_map(build.id), owner),
        "immutable": True,
        "binaryData": {layout.PROGRAM: encoded},
        "data": {
            layout.CONFIG: json.dumps(keeper_config(build, programs), indent=1) + "\n",
            layout.RULES: json.dumps(rules(build)) + "\n",
        },
    }


def ssh_secret(build: Build, owner: Mapping[str, Any], keys: ClusterKeys) -> dict[str, Any]:
    """Return the Secret with the keys; workers mount only a part of it."""
    content = {
        layout.CLIENT_KEY: keys.client.private,
        layout.HOST_KEY: keys.host.private,
        layout.AUTHORIZED: keys.authorized_keys().encode(),
        layout.KNOWN_HOSTS: keys.known_hosts(build.id).encode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata(build, layout.secret(build.id), owner),
        "immutable": True,
        "data": {name: base64.b64encode(data).decode("ascii") for name, data in content.items()},
    }
