"""Merges the administrator's pod template over what we build."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

# Lists of objects that have a name: theirs is merged into ours of the same name, or added.
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "topologySpreadConstraints": "topologyKey",
}
_ADDED = ("tolerations",)  # theirs are put behind ours


def merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return `ours` with `theirs` over it; neither is changed.

    Objects are merged key by key, a null takes the key away. Of lists, those whose items have a
    name are merged item by item, tolerations are added, every other list is replaced.
    """
    result = {key: copy.deepcopy(value) for key, value in ours.items()}
    for key, value in theirs.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        elif key in _KEYS and isinstance(value, list) and isinstance(result.get(key), list):
            result[key] = _by_name(result[key], value, _KEYS[key])
        elif key in _ADDED and isinstance(value, list) and isinstance(result.get(key), list):
            result[key] += [copy.deepcopy(item) for item in value if item not in result[key]]
        else:
            result[key] = copy.deepcopy(value)
    return result


def _by_name(ours: list[Any], theirs: list[Any], name: str) -> list[Any]:
    result = list(ours)
    places = {item.get(name): at for at, item in enumerate(ours) if isinstance(item, Mapping)}
    for item in theirs:
        at = places.get(item.get(name)) if isinstance(item, Mapping) else None
        if at is None:
            result.append(copy.deepcopy(item))
        else:
            result[at] = merged(result[at], item)
    return result


def pod(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod template with the administrator's over it, and what makes it ours kept.

    Parameters
    ----------
    ours
        ``metadata`` and ``spec`` of our pod.
    theirs
        Any part of a pod template. Its main container is named ``main``.
    """
    result = merged(ours, theirs)
    result.setdefault("metadata", {})["labels"] = {
        **(result["metadata"].get("labels") or {}),
        **ours["metadata"]["labels"],
    }
    result["spec"]["restartPolicy"] = ours["spec"]["restartPolicy"]
    return result
