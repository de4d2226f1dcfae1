"""The fields of a creation that only containers of a cluster have, as the request gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadInput
from ..models import EngineOptions, Toleration

#: Names in the request and in `ClusterSpec`.
POD_FIELDS = ("cpu", "memory", "env", "secret_env", "node_selector", "tolerations")


def pod_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return those that were given, as `ClusterSpec` takes them; the body fits its schema."""
    fields: dict[str, Any] = {
        "cpu": body.get("cpu"),
        "memory": body.get("memory"),
        "env": tuple((body.get("env") or {}).items()),
        "secret_env": tuple(
            (one["name"], one["secret"], one["key"]) for one in body.get("secret_env") or ()
        ),
        "node_selector": tuple((body.get("node_selector") or {}).items()),
        "tolerations": tuple(Toleration(**one) for one in body.get("tolerations") or ()),
    }
    return {name: value for name, value in fields.items() if value not in (None, ())}


def check_pod_fields(given: Mapping[str, Any], options: EngineOptions) -> None:
    """Refuse them where the engine has no pods.

    Raises
    ------
    BadInput
        With the field in ``detail``.
    """
    if options.pod_fields:
        return
    for field in given:
        raise BadInput(
            f"{options.title} has no choice of {field.replace('_', ' ')}.",
            hint="Leave it out: its containers see what this machine has.",
            detail={"field": field},
        )
