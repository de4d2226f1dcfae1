"""From the caches to a snapshot, and what else the engine reads out of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...errors import ElasticError
from ...models import ClusterSpec, Health, HealthState, Limit
from ..base import EngineSnapshot
from ..decode import DecodeError
from . import anchor as anchors
from . import labels
from .changes import STUCK_SECONDS
from .config import KubernetesConfig
from .facts import cluster_facts
from .options import MOST
from .site import Site, is_here
from .world import Objects

Json = dict[str, Any]

_STATES: dict[str, HealthState] = {
    "unauthenticated": "unauthenticated",
    "forbidden": "forbidden",
    "gone": "gone",
}
# A smaller step of the server's clock against ours would move every instant for nothing.
STILL_SECONDS = 5.0


class Overview:
    """Remembers the newest objects beside the snapshot made of them.

    Parameters
    ----------
    clock
        Local time, seconds since 1970.
    """

    def __init__(self, config: KubernetesConfig, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._clock = clock
        self._objects: Objects | None = None
        self._last: EngineSnapshot | None = None
        self._offset = 0.0

    def snapshot(
        self, objects: Objects, health: Health, offset: float, here: Site | None = None
    ) -> EngineSnapshot:
        """Return what is seen now.

        Parameters
        ----------
        objects
            The caches.
        health
            How good they are.
        offset
            Seconds to add to the local clock to have the server's, as measured last.
        here
            What is known of the pod of this server.
        """
        if abs(offset - self._offset) >= STILL_SECONDS:
            self._offset = offset
        clusters = cluster_facts(
            pods=objects.pods.values(),
            replicasets=objects.replicasets.values(),
            jobs=objects.jobs.values(),
            configmaps=objects.configmaps.values(),
            events=objects.events.values(),
            config=self._config,
            offset=self._offset,
            limit=_limit,
            notebooks=[here.notebook] if here is not None and here.notebook is not None else [],
            here=here,
        )
        self._objects = objects
        self._last = EngineSnapshot(health, clusters)
        return self._last

    def not_connected(self, error: Exception) -> EngineSnapshot:
        """Return what was seen last, with the reason why there is no way to the cluster."""
        if isinstance(error, ElasticError):
            # Nobody asked for anything, so no answer carries the hint: it is shown here.
            text = " ".join(filter(None, (error.message, error.hint)))
        else:
            text = str(error)[:300]
        code = error.code if isinstance(error, ElasticError) else ""
        state = _STATES.get(code, "failed")
        before = self._last
        if before is not None and (before.health.state, before.health.text) == (state, text):
            return before
        clusters = before.clusters if before is not None else ()
        self._last = EngineSnapshot(Health(state, self._clock(), text), clusters)
        return self._last

    def is_here(self, cluster: str) -> bool:
        """Whether a cluster's launcher is a Jupyter pod, as far as its anchor is known."""
        objects = self._objects
        return objects is not None and any(
            thing["metadata"]["name"] == cluster and is_here(thing)
            for thing in objects.configmaps.values()
        )

    def launcher(self, cluster: str) -> str | None:
        """Return the name of the launcher pod that runs now."""
        if self._objects is None:
            return None
        for pod in self._objects.pods.values():
            metadata, marks = pod["metadata"], pod["metadata"].get("labels") or {}
            if marks.get(labels.CLUSTER) != cluster or marks.get(labels.ROLE) != "launcher":
                continue
            if pod["status"].get("phase") == "Running" and not metadata.get("deletionTimestamp"):
                return str(metadata["name"])
        return None

    def stuck(self, now: float) -> list[str]:
        """Return the clusters in which a change of size was begun and left.

        Parameters
        ----------
        now
            The instant by the server's clock.
        """
        found = []
        for thing in self._objects.configmaps.values() if self._objects is not None else ():
            try:
                anchor = anchors.read(thing)
            except DecodeError:
                continue  # the keeper's, or broken: the facts say so
            pending = anchor.intent.pending
            if pending is not None and now - pending.at > STUCK_SECONDS:
                found.append(anchor.id)
        return found


def _limit(spec: ClusterSpec, size: int) -> Limit:
    """Return the most that can be asked for; whether it can start is for Kubernetes to say."""
    return Limit(max(MOST, size), "Kubernetes decides what can start.")
