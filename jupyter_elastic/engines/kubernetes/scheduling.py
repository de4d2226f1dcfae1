"""Why the scheduler found no node, in words."""

from __future__ import annotations

import re

from ...models import Reason
from . import wording
from .wording import count

CODE = "unschedulable"
STORAGE = "storage"

_NODES = re.compile(r"\d+/\d+ nodes are available(?P<body>.*)", re.DOTALL)
_PART = re.compile(r"(?P<number>\d+) (?P<phrase>.+)", re.DOTALL)
_TAINT = re.compile(
    r"node\(s\) had (?:untolerated )?taints? ?\{(?P<key>[^:}]*)(?:: ?(?P<value>[^}]*))?\}"
)
_MISSING_CLAIM = re.compile(r'persistentvolumeclaim "(?P<name>[^"]*)" not found')
_CLAIM = re.compile(r'persistentvolumeclaim "(?P<name>[^"]*)" (?P<rest>[^.,]*)')
_KNOWN_TAINTS = {
    "node.kubernetes.io/not-ready": ("is not ready", "are not ready"),
    "node.kubernetes.io/unreachable": ("does not answer", "do not answer"),
    "node.kubernetes.io/unschedulable": ("is closed for new pods", "are closed for new pods"),
    "node.kubernetes.io/memory-pressure": ("is short of memory", "are short of memory"),
    "node.kubernetes.io/disk-pressure": ("is short of disk", "are short of disk"),
    "node.kubernetes.io/pid-pressure": ("is short of processes", "are short of processes"),
    "node.kubernetes.io/network-unavailable": ("has no network", "have no network"),
}
_KNOWN = (
    ("were unschedulable", "is closed for new pods", "are closed for new pods"),
    ("were not ready", "is not ready", "are not ready"),
    ("Too many pods", "takes no more pods", "take no more pods"),
    ("node affinity/selector", "has not the labels asked for", "have not the labels asked for"),
    ("node selector", "has not the labels asked for", "have not the labels asked for"),
    ("anti-affinity", "is kept apart by an affinity rule", "are kept apart by an affinity rule"),
    ("affinity rules", "does not fit an affinity rule", "do not fit an affinity rule"),
    ("topology spread", "does not fit the spread rule", "do not fit the spread rule"),
    ("volume node affinity conflict", "cannot reach the storage", "cannot reach the storage"),
    ("no available volume zone", "cannot reach the storage", "cannot reach the storage"),
    ("max volume count", "takes no more volumes", "take no more volumes"),
    ("free ports", "has the port in use", "have the port in use"),
    ("untolerated taint", "has a taint", "have a taint"),
)  # fmt: skip
_FIRST = "no node"  # what is missing comes first, then what is closed


def unschedulable(message: str, gpus: int = 1, kind: str | None = None) -> Reason:
    """Return why a pod has no node.

    Parameters
    ----------
    message
        Of the scheduler: condition PodScheduled, or event FailedScheduling.
    gpus
        GPUs that the pod asks for.
    kind
        Their kind, where that is all that the pod wants of a node's labels.
    """
    message = message[: wording.READ_LIMIT]
    claim = _MISSING_CLAIM.search(message)
    if claim is not None:
        words = f"The storage claim {claim['name']} does not exist in this namespace."
        return wording.reason(STORAGE, words, message)
    if "unbound immediate PersistentVolumeClaims" in message:
        words = "A storage claim has no volume yet; nothing can start before it has one."
        return wording.reason(STORAGE, words, message)
    claim = _CLAIM.search(message)
    if claim is not None:
        words = f"The storage claim {claim['name']} cannot be used: {claim['rest']}."
        return wording.reason(STORAGE, words, message)
    if "no nodes available" in message:
        return wording.reason(CODE, "The cluster has no node.", message)
    parts = _words(message, gpus, kind)
    if not parts:
        first = wording.cleaned(message, wording.LINE_LIMIT)
        words = f"The scheduler found no node: {first}" if first else "It waits for a node"
        return wording.reason(CODE, wording.sentence(words), message)
    return wording.reason(CODE, wording.sentence("; ".join(parts)), message)


def _words(message: str, gpus: int, kind: str | None) -> list[str]:
    match = _NODES.search(message)
    if match is None:
        return []
    body = re.split(r"\.\s|\.$|, preemption:", match["body"].lstrip(": "), maxsplit=1)[0]
    found: dict[str, int] = {}
    for part in re.split(r",\s+(?=\d+ )", body):
        pair = _PART.fullmatch(part.strip())
        if pair is not None:
            found[pair["phrase"]] = found.get(pair["phrase"], 0) + int(pair["number"][:6])
    sentences = list(
        dict.fromkeys(_phrase(phrase, nodes, gpus, kind) for phrase, nodes in found.items())
    )
    return sorted(sentences, key=lambda words: not words.startswith(_FIRST))


def _phrase(phrase: str, nodes: int, gpus: int, kind: str | None) -> str:
    if phrase.startswith("Insufficient "):
        return _missing(phrase.removeprefix("Insufficient ").strip(), gpus)
    taint = _TAINT.search(phrase)
    which = count(nodes, "node")
    if taint is not None:
        known = _KNOWN_TAINTS.get(taint["key"].strip())
        if known is not None:
            return f"{which} {known[nodes != 1]}"
        key, value = taint["key"].strip(), (taint["value"] or "").strip()
        return (
            f"{which} {'has' if nodes == 1 else 'have'} taint {key}{'=' + value if value else ''}"
        )
    if kind is not None and "node affinity/selector" in phrase:
        return f"{which} {'has' if nodes == 1 else 'have'} no {kind}"
    for mark, one, many in _KNOWN:
        if mark in phrase:
            return f"{which} {one if nodes == 1 else many}"
    return f"{which}: {phrase.removeprefix('node(s) ')}"


def _missing(resource: str, gpus: int) -> str:
    if resource in ("cpu", "memory", "ephemeral-storage"):
        words = {"cpu": "CPU", "ephemeral-storage": "disk"}.get(resource, resource)
        return f"no node has enough free {words}"
    if resource == "pods":
        return "no node takes more pods"
    if is_gpu(resource):
        return f"no node has {count(gpus, 'free GPU')}"
    return f"no node has enough free {resource}"


def is_gpu(resource: str) -> bool:
    """Whether a resource of this name is a GPU or a part of one."""
    vendor, _, name = resource.partition("/")
    return bool(name) and ("gpu" in name.lower() or name.startswith("mig-") or vendor == "gpu")
