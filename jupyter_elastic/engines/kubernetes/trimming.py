"""What is kept of an object in memory: a thousand pods must not cost a hundred megabytes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_CONTAINER = ("name", "resources")
# The template of a set and of a Job repeats what the anchor says.
_SPEC = ("replicas", "suspend", "activeDeadlineSeconds")


def trim_object(value: Json) -> Json:
    """Return what facts are made of."""
    metadata = {
        key: item
        for key, item in (value.get("metadata") or {}).items()
        if key not in ("managedFields", "selfLink", "generateName", "generation")
    }
    kept: Json = {"metadata": metadata, "status": value.get("status") or {}}
    if "data" in value:
        kept["data"] = value["data"]
    spec = value.get("spec")
    if isinstance(spec, dict):
        kept["spec"] = _pod_spec(spec) if "containers" in spec else _other_spec(spec)
    return kept


def _pod_spec(spec: Json) -> Json:
    containers = spec.get("containers")
    kept = [
        {key: one[key] for key in _CONTAINER if key in one}
        for one in (containers if isinstance(containers, list) else [])
        if isinstance(one, dict)
    ]
    return {"nodeName": spec.get("nodeName"), "containers": kept}


def _other_spec(spec: Json) -> Json:
    return {key: spec[key] for key in _SPEC if key in spec}


def trim_event(value: Json) -> Json:
    """Return who an event is about, what it says, and when."""
    metadata = value.get("metadata") or {}
    about = value.get("involvedObject") or {}
    return {
        "metadata": {
            key: metadata.get(key)
            for key in ("uid", "name", "namespace", "resourceVersion", "creationTimestamp")
        },
        "involvedObject": {key: about.get(key) for key in ("kind", "name", "uid")},
        **{
            key: value.get(key)
            for key in (
                "reason",
                "message",
                "type",
                "count",
                "firstTimestamp",
                "lastTimestamp",
                "eventTime",
            )
        },
    }
