"""Whether the namespace is that of a JupyterHub: nobody may be given rights on pods there."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from ...keeper.kube.kinds import PODS
from ..check import Check
from .questions import Questions

HUB_LABELS = "app=jupyterhub,component=hub"
NAME = "not a hub's namespace"


def refusal(questions: Questions, environ: Mapping[str, str], own_namespace: str) -> Check:
    """Check that no hub lives in the namespace.

    Parameters
    ----------
    environ
        Of this process; a hub names itself in ``JUPYTERHUB_API_URL``.
    own_namespace
        That of the pod we are in; empty: we are in none.
    """
    namespace = questions.namespace
    url = environ.get("JUPYTERHUB_API_URL", "")
    if url and hub_namespace(url, own_namespace) == namespace:
        return _refused(namespace, f"the hub of this server is there ({url})")
    pods = questions.objects(PODS, HUB_LABELS)
    if pods:
        name = (pods[0].get("metadata") or {}).get("name")
        return _refused(namespace, f"the hub's pod {name} runs there")
    if pods is None:
        return Check(NAME, None, f"no hub is known in {namespace}; its pods may not be listed")
    return Check(NAME, True, f"no hub in {namespace}")


def hub_namespace(url: str, own_namespace: str) -> str:
    """Return the namespace of a hub by its address; empty where that does not say.

    A name without a dot is looked up in the pod's own namespace.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        parts = host.split(".")
    else:
        return ""
    if len(parts) == 1:
        return own_namespace if host not in ("", "localhost") else ""
    return parts[1] if len(parts) == 2 or parts[2] == "svc" else ""


def _refused(namespace: str, why: str) -> Check:
    text = (
        f"{namespace} is the namespace of a JupyterHub: {why}. Whoever may make pods there can "
        "read the hub's secrets and every user's files, so clusters do not belong there"
    )
    request = (
        "Send this to the administrator: «Please give me a namespace of my own for training "
        f"clusters, outside of {namespace}: kubectl create namespace NAME && kubectl label "
        "namespace NAME pod-security.kubernetes.io/enforce=restricted && kubectl apply "
        "--namespace=NAME --filename=deploy/role.yaml ; and either start my server in it "
        "(deploy/zero-to-jupyterhub.yaml) or bind my account to its Role and set "
        "ElasticExtensionApp.kubernetes_namespace (deploy/zero-to-jupyterhub-training-namespace"
        ".yaml).»"
    )
    return Check(NAME, False, text, request)
