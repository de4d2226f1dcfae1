"""What there is in a namespace: quota, limits, GPUs, storage, Pod Security."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...engines.kubernetes import quantities
from ...keeper.kube.kinds import LIMITRANGES, PVCS, QUOTAS
from ..check import Check
from .questions import Questions

ENFORCE = "pod-security.kubernetes.io/enforce"
SHARED = "ReadWriteMany"
Json = Mapping[str, Any]


def checks(
    questions: Questions, gpus: Sequence[tuple[str, str]], labels: Mapping[str, str] | None
) -> list[Check]:
    """Say what there is; nothing of it is a failure where we may not look.

    Parameters
    ----------
    gpus
        Resources that are GPUs, each with the node label that names the model, or "".
    labels
        Of the namespace; None: they may not be read.
    """
    quotas = questions.objects(QUOTAS)
    return [
        *quota(quotas),
        *limits(questions.objects(LIMITRANGES)),
        gpu_kinds(gpus, quotas, questions.nodes()),
        storage(questions.objects(PVCS)),
        security(labels, questions.namespace),
    ]


def quota(quotas: Sequence[Json] | None) -> list[Check]:
    """Show each quota with what is used."""
    if quotas is None:
        return [Check("quota", None, "unknown: quotas may not be listed")]
    if not quotas:
        return [Check("quota", None, "none is set: what the nodes have is the limit")]
    found = []
    for one in quotas:
        status = one.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        rows = [f"{key} {used.get(key, '0')} of {most}" for key, most in sorted(hard.items())]
        full = [key for key, most in hard.items() if _full(used.get(key), most)]
        name = f"quota {_name(one)}"
        text = ", ".join(rows) or "not counted yet"
        if full:
            fix = "Release what is not used; the administrator of the namespace can raise it."
            found.append(Check(name, None, f"{text}; used up: {', '.join(sorted(full))}", fix))
        else:
            found.append(Check(name, True, text))
    return found


def limits(ranges: Sequence[Json] | None) -> list[Check]:
    """Show what one container may have."""
    found = []
    for one in ranges or []:
        for limit in (one.get("spec") or {}).get("limits") or []:
            words = [
                f"{word} {key} {value}"
                for word in ("min", "max", "default")
                for key, value in sorted((limit.get(word) or {}).items())
            ]
            name = f"limits {_name(one)}, {limit.get('type', '?')}"
            found.append(Check(name, True, ", ".join(words)))
    return found


def gpu_kinds(
    gpus: Sequence[tuple[str, str]], quotas: Sequence[Json] | None, nodes: Sequence[Json] | None
) -> Check:
    """Say which GPUs there are, by nodes where we may look and by quota."""
    rows = []
    for resource, label in gpus:
        on_nodes = None if nodes is None else _on_nodes(resource, label, nodes)
        allowed = _allowed(resource, quotas or [])
        if on_nodes or allowed:
            rows.append(
                f"{resource}: "
                + ", ".join(
                    (["on nodes " + ", ".join(on_nodes)] if on_nodes else [])
                    + ([f"quota {allowed}"] if allowed else [])
                )
            )
    known = ", ".join(resource for resource, _ in gpus)
    if rows:
        return Check("GPUs of Kubernetes", True, "; ".join(rows))
    if nodes is None:
        text = f"unknown: nodes may not be listed, and no quota names {known}"
        return Check("GPUs of Kubernetes", None, text)
    return Check("GPUs of Kubernetes", None, f"no node has {known}: clusters use CPU")


def _on_nodes(resource: str, label: str, nodes: Sequence[Json]) -> list[str]:
    count: Counter[str] = Counter()
    for node in nodes:
        amount = ((node.get("status") or {}).get("allocatable") or {}).get(resource)
        value = quantities.parse(amount) if amount is not None else None
        if value:
            labels = (node.get("metadata") or {}).get("labels") or {}
            count[str(labels.get(label) or "")] += int(value)
    return [f"{many} {model}".rstrip() for model, many in sorted(count.items())]


def _allowed(resource: str, quotas: Sequence[Json]) -> str:
    key = f"requests.{resource}"
    for one in quotas:
        status = one.get("status") or {}
        hard = (status.get("hard") or {}).get(key)
        if hard is not None:
            return f"{(status.get('used') or {}).get(key, '0')} of {hard} used"
    return ""


def storage(claims: Sequence[Json] | None) -> Check:
    """Say which claims there are, and which of them every container can mount."""
    if claims is None:
        return Check("storage", None, "unknown: claims may not be listed")
    rows, shared = [], False
    for claim in claims:
        modes = [str(mode) for mode in (claim.get("spec") or {}).get("accessModes") or []]
        shared = shared or SHARED in modes
        phase = (claim.get("status") or {}).get("phase") or "?"
        rows.append(f"{_name(claim)} ({', '.join(modes)}; {phase})")
    if shared:
        return Check("storage", True, ", ".join(rows))
    text = ", ".join(rows) or "no claims"
    fix = f"Ask the administrator for a claim with access mode {SHARED} in this namespace."
    return Check("storage", None, f"{text}: none is {SHARED}, so no folder is shared", fix)


def security(labels: Mapping[str, str] | None, namespace: str) -> Check:
    """Say which Pod Security level is enforced; our pods keep to the strictest."""
    name = "Pod Security"
    if labels is None:
        return Check(name, None, f"unknown: the namespace {namespace} may not be read")
    level = labels.get(ENFORCE, "")
    if level == "restricted":
        return Check(name, True, "restricted")
    fix = (
        f"The administrator can run: kubectl label --overwrite namespace {namespace} "
        f"{ENFORCE}=restricted"
    )
    said = f"{level} is enforced" if level else "no level is enforced by a label"
    return Check(name, None, f"{said}: other pods here may run as root", fix)


def _full(used: Any, most: Any) -> bool:
    taken, limit = quantities.parse(used or "0"), quantities.parse(most)
    return limit is not None and limit > 0 and (taken or 0) >= limit


def _name(one: Json) -> str:
    return str((one.get("metadata") or {}).get("name"))
