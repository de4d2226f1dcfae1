"""From raw objects to clusters as the manager wants to see them. Pure.

A cluster is a function of the newest objects, never of the order in which they came. A broken
object costs its own row at most. All instants are turned into those of the local clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...models import ClusterSpec, HostList, LastChange, Limit, Reason, Settings
from ..base import ClusterFacts
from ..decode import DecodeError, decode
from . import anchor as anchors
from . import labels, site
from .config import KubernetesConfig
from .fields import Json, instant, mapping, mappings, text
from .happenings import Happenings
from .members import Parts, Rows, ended, moved, replicas, rows
from .notebook import Notebook
from .reasons import is_deleting
from .site import Site
from .validation import SIZE

CLOCK_ERROR = 2.0  # seconds: a smaller difference is no difference, it would only move with time
NO_ANCHOR = Reason(
    "anchor_gone",
    "The record of this cluster is gone or cannot be read: somebody changed it. "
    "What is left can be given back.",
)
WORKERS_GONE = Limit(
    1, "The workers' ReplicaSet was deleted by somebody: create the cluster again."
)
UNLIMITED = Limit(SIZE, "Kubernetes decides what can start.")

Limits = Callable[[ClusterSpec, int], Limit]


@dataclass
class _Found:
    """The objects of one cluster while they are collected."""

    anchor: Json | None = None
    job: Json | None = None
    workers: Json | None = None
    pods: list[Json] = field(default_factory=list)


def cluster_facts(
    *,
    pods: Iterable[object],
    replicasets: Iterable[object],
    jobs: Iterable[object],
    configmaps: Iterable[object],
    events: Iterable[object] = (),
    config: KubernetesConfig,
    offset: float = 0.0,
    limit: Limits | None = None,
    notebooks: Sequence[Notebook] = (),
    here: Site | None = None,
) -> tuple[ClusterFacts, ...]:
    """Return the clusters of a namespace, oldest first.

    Parameters
    ----------
    offset
        Seconds to add to the local clock to have the server's. The caller keeps it still: each
        change of it moves all instants.
    limit
        Returns the largest size of a cluster that has this size now.
    notebooks
        Pods that are launchers in mode `here`.
    here
        What is known of the pod of this server.
    """
    happenings = Happenings(one for one in events if isinstance(one, Mapping))
    back = -offset if abs(offset) >= CLOCK_ERROR else 0.0
    found = []
    for parts in collect(
        pods=pods,
        replicasets=replicasets,
        jobs=jobs,
        configmaps=configmaps,
        notebooks=notebooks,
    ):
        facts = _facts(parts, config, happenings, limit, here or Site())
        if facts is not None:
            found.append(_moved(facts, back))
    return tuple(sorted(found, key=lambda facts: (facts.created, facts.id)))


def collect(
    *,
    pods: Iterable[object],
    replicasets: Iterable[object],
    jobs: Iterable[object],
    configmaps: Iterable[object],
    notebooks: Sequence[Notebook] = (),
) -> list[Parts]:
    """Return the objects by cluster; what does not carry our labels is nobody's of ours."""
    by_id: dict[str, _Found] = {}
    for things, kind in (
        (configmaps, "anchor"),
        (jobs, "job"),
        (replicasets, "workers"),
        (pods, "pod"),
    ):
        for thing in things:
            if not isinstance(thing, Mapping):
                continue
            cluster = labels.cluster_of(thing)
            if cluster is None:
                continue
            found = by_id.setdefault(cluster, _Found())
            if kind == "pod":
                found.pods.append(thing)
            elif text(mapping(thing, "metadata").get("name")) == cluster:
                setattr(found, kind, thing)
    return [
        Parts(
            cluster,
            one.anchor,
            one.job,
            one.workers,
            tuple(one.pods),
            _notebook(one.anchor, notebooks),
        )
        for cluster, one in by_id.items()
    ]


def _notebook(anchor: Json | None, notebooks: Sequence[Notebook]) -> Notebook | None:
    """Return the pod that the anchor belongs to, itself or by its controller."""
    owners = {
        text(one.get("uid")) for one in mappings(mapping(anchor, "metadata").get("ownerReferences"))
    }
    for one in notebooks:
        if one.uid in owners or text((one.owner or {}).get("uid")) in owners - {""}:
            return one
    return None


def _facts(
    parts: Parts,
    config: KubernetesConfig,
    happenings: Happenings,
    limit: Limits | None,
    here: Site,
) -> ClusterFacts | None:
    """Return the facts by the server's clock, or None where nothing says what cluster it is."""
    try:
        anchor = anchors.read(parts.anchor or {})
    except DecodeError:
        return _remains(parts, config, happenings)
    spec, intent = anchor.about.spec, anchor.intent
    # Before the first list was agreed on the cluster is only being made.
    gone = parts.workers is None and anchor.hosts.generation > 0
    target = 1 + replicas(parts.workers)
    if parts.workers is None and not gone:
        target = spec.size
    change = intent.last_change
    seen = rows(parts, spec, config, happenings, change.at if change is not None else None)
    return ClusterFacts(
        id=parts.id,
        spec=spec,
        settings=anchor.about.settings,
        created=anchor.about.created,
        target=target,
        containers=seen.containers,
        host_list=anchor.hosts,
        host_folder=site.host_folder(parts.anchor) or config.host_folder,
        limit=WORKERS_GONE if gone else limit(spec, target) if limit is not None else UNLIMITED,
        slots_by_uid=seen.lines,
        last_change=change,
        ended=ended(parts.job) or site.ended(parts.id, parts.anchor, here),
        releasing=intent.releasing
        or any(is_deleting(one) for one in (parts.anchor, parts.job) if one is not None),
        history=intent.history,
    )


def _remains(parts: Parts, config: KubernetesConfig, happenings: Happenings) -> ClusterFacts | None:
    """Return what is left of a cluster whose anchor is gone or broken, so that it can be released.

    A Job that waits belongs to a cluster that is only being made.
    """
    job = parts.job
    if parts.anchor is None and (job is None or mapping(job, "spec").get("suspend") is True):
        return None
    metadata = mapping(parts.anchor if job is None else job, "metadata")
    notes = mapping(metadata, "annotations")
    try:
        about = decode(anchors.About, json.loads(text(notes.get(labels.ABOUT))))
    except ValueError:
        name = text(notes.get(labels.NAME)) or parts.id
        spec = ClusterSpec(name=name, framework="horovod", size=1, engine="kubernetes")
        about = anchors.About(spec, Settings(), 0.0)
    seen: Rows = rows(parts, about.spec, config, happenings, None)
    return ClusterFacts(
        id=parts.id,
        spec=about.spec,
        settings=about.settings,
        created=about.created or instant(metadata.get("creationTimestamp")) or 0.0,
        target=1 + replicas(parts.workers),
        containers=seen.containers,
        host_list=HostList(0),
        host_folder=config.host_folder,
        limit=Limit(1, NO_ANCHOR.text),
        slots_by_uid=seen.lines,
        ended=NO_ANCHOR,
        releasing=any(is_deleting(one) for one in (parts.anchor, job) if one is not None),
    )


def _moved(facts: ClusterFacts, seconds: float) -> ClusterFacts:
    """Return the facts with all instants moved."""
    if not seconds:
        return facts
    change: LastChange | None = facts.last_change
    return replace(
        facts,
        created=facts.created + seconds,
        containers=tuple(moved(one, seconds) for one in facts.containers),
        last_change=None if change is None else replace(change, at=change.at + seconds),
    )
