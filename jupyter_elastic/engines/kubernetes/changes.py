"""What each engine call does to the objects of a cluster. Blocks: run it in a thread.

The anchor is changed by compare-and-swap on its version. A change of size is written into it before
the first object is touched and taken out after the last one, so that any server that finds it can
finish it: each of its steps may be repeated.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from ...errors import Conflict, NotFound
from ...keeper.kube.calls import CONFIGMAPS, PODS, REPLICASETS, Api
from ...keeper.kube.errors import Clash, Forbidden, Invalid, Missing
from ...models import HostList, LastChange, Settings
from . import anchor as anchors
from . import labels
from .anchor import Anchor, Intent, Pending
from .objects import owner

SWAP_TRIES = 5
KEEP_COST = "1000"
STUCK_SECONDS = 5.0  # a change that is pending for longer was left by a server that is gone


class Changes:
    """Changes of living clusters.

    Parameters
    ----------
    api
        The calls.
    clock
        Instants of the API server's clock, seconds since 1970.
    """

    def __init__(self, api: Api, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._clock = clock

    def anchor(self, cluster: str) -> Anchor:
        """Read a cluster's anchor afresh.

        Raises
        ------
        NotFound
            There is no such cluster, or an object of this name that is not ours.
        """
        try:
            found = self._api.get(CONFIGMAPS, cluster)
        except Missing:
            found = {}
        if labels.cluster_of(found) != cluster:
            raise NotFound(
                f"There is no cluster {cluster[:80]!r}.", detail={"cluster": cluster[:80]}
            )
        return anchors.read(found)

    def configure(self, cluster: str, settings: Settings) -> None:
        """Store new settings."""

        def step(old: Anchor) -> Anchor:
            return dataclasses.replace(old, about=dataclasses.replace(old.about, settings=settings))

        self._swap(cluster, step)

    def commit_hosts(self, cluster: str, hosts: HostList) -> None:
        """Agree on the next list; the same one again is success.

        Raises
        ------
        Conflict
            Another list was agreed on first.
        """

        def step(old: Anchor) -> Anchor:
            if hosts == old.hosts:
                return old
            if hosts.generation != old.hosts.generation + 1:
                raise Conflict(
                    f"Host list {hosts.generation} does not follow {old.hosts.generation}.",
                    detail={"generation": old.hosts.generation},
                    code="generation",
                )
            return dataclasses.replace(old, hosts=hosts)

        self._swap(cluster, step)

    def mark_releasing(self, cluster: str) -> Anchor:
        """Write that everything goes; nothing takes this back."""

        def step(old: Anchor) -> Anchor:
            intent = dataclasses.replace(old.intent, releasing=True, pending=None)
            return dataclasses.replace(old, intent=intent)

        return self._swap(cluster, step, releasing=True)

    # -- size ---------------------------------------------------------------------------------

    def scale(
        self, cluster: str, target: int, *, expected: int, victims: tuple[str, ...], grace: float,
        by: str,
    ) -> None:  # fmt: skip
        """Make `target` the size and mark the victims.

        Raises
        ------
        Conflict
            The size is not `expected`, or another change of it is under way.
        """
        now = self._clock()
        pending = Pending(target, expected, victims, now + grace, by, now)

        def step(old: Anchor) -> Anchor:
            other = old.intent.pending
            if other is not None and now - other.at < STUCK_SECONDS:
                raise Conflict(
                    f"The size is being changed to {other.target} right now.",
                    hint="Look at the new size, then ask again.",
                    detail={"target": other.target, "expected": expected},
                    code="target_changed",
                )
            return dataclasses.replace(old, intent=dataclasses.replace(old.intent, pending=pending))

        self._check_size(cluster, expected)
        self._swap(cluster, step)
        try:
            self._finish(cluster, pending)
        except (Forbidden, Invalid):
            # It was refused, so nobody shall finish it later.
            self._swap(cluster, lambda old: _done(old, pending, False), releasing=True)
            raise

    def finish(self, cluster: str) -> bool:
        """Finish a change that a server began and left; False when there is none."""
        pending = self.anchor(cluster).intent.pending
        if pending is None or self._clock() - pending.at < STUCK_SECONDS:
            return False
        self._finish(cluster, pending)
        return True

    def _finish(self, cluster: str, pending: Pending) -> None:
        anchor = self.anchor(cluster)
        if pending.victims:
            pods = self._pods(cluster)
            for uid in pending.victims:
                self._detach(anchor, pods.get(uid), pending.until)
        outcome = True
        if pending.target != pending.expected:
            outcome = self._set_replicas(cluster, pending.expected - 1, pending.target - 1)
        self._swap(cluster, lambda old: _done(old, pending, outcome), releasing=True)
        if not outcome:
            raise self._changed(cluster, pending.expected)

    def _detach(self, anchor: Anchor, pod: dict[str, Any] | None, until: float) -> None:
        """Take a worker out of the set for good; nothing heals it, and it goes on running."""
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return  # gone, or going: there is nothing left to drain
        metadata = {
            "uid": pod["metadata"]["uid"],
            "labels": {labels.SET: None},
            "ownerReferences": [owner(anchor.reference, "ConfigMap", "v1")],
            "annotations": {labels.DRAIN_UNTIL: f"{until:.3f}"},
        }
        try:
            self._api.merge_patch(PODS, pod["metadata"]["name"], {"metadata": metadata})
        except (Missing, Clash):
            return  # another pod has this name now, which cannot be: the one we mean is gone

    def _set_replicas(self, cluster: str, old: int, new: int) -> bool:
        """Change the number of workers if it is `old`; True also when it is `new` already."""
        try:
            self._api.json_patch(
                REPLICASETS,
                cluster,
                [
                    {"op": "test", "path": "/spec/replicas", "value": old},
                    {"op": "replace", "path": "/spec/replicas", "value": new},
                ],
            )
        except Clash:
            return self._replicas(cluster) == new
        return True

    def _replicas(self, cluster: str) -> int:
        return int((self._api.get(REPLICASETS, cluster).get("spec") or {}).get("replicas") or 0)

    def _check_size(self, cluster: str, expected: int) -> None:
        size = self._replicas(cluster) + 1
        if size != expected:
            raise self._changed(cluster, expected, size)

    def _changed(self, cluster: str, expected: int, size: int | None = None) -> Conflict:
        size = self._replicas(cluster) + 1 if size is None else size
        return Conflict(
            f"The size was changed to {size} meanwhile.",
            hint="Look at the new size, then ask again.",
            detail={"target": size, "expected": expected},
            code="target_changed",
        )

    # -- leavers ------------------------------------------------------------------------------

    def extend_drain(self, cluster: str, uid: str, until: float | None) -> None:
        """Give a leaver more time, or with None take it back as a member.

        Raises
        ------
        Conflict
            It is gone, or is not leaving.
        """
        pod = self._pods(cluster).get(uid)
        notes = {} if pod is None else pod["metadata"].get("annotations") or {}
        if (
            pod is None
            or pod["metadata"].get("deletionTimestamp")
            or labels.DRAIN_UNTIL not in notes
        ):
            raise Conflict(
                "This container is not leaving any more.",
                hint="Refresh to see the containers as they are.",
                code="not_draining",
            )
        if until is not None:
            body: dict[str, Any] = {"annotations": {labels.DRAIN_UNTIL: f"{until:.3f}"}}
        else:
            # First room for it: the set would delete one of its own otherwise, and not the newest.
            self._set_replicas_up(cluster)
            workers = self._api.get(REPLICASETS, cluster)
            body = {
                "labels": {labels.SET: cluster},
                "ownerReferences": [
                    {**owner(workers, "ReplicaSet", "apps/v1"), "controller": True}
                ],
                # The set has one too many for a moment, and must not choose this one.
                "annotations": {labels.DRAIN_UNTIL: None, labels.DELETION_COST: KEEP_COST},
            }
        self._api.merge_patch(PODS, pod["metadata"]["name"], {"metadata": {"uid": uid, **body}})
        if until is None:
            name = pod["metadata"]["name"]
            self._note(cluster, f"{name} kept")

    def _set_replicas_up(self, cluster: str) -> None:
        for _ in range(SWAP_TRIES):
            now = self._replicas(cluster)
            if self._set_replicas(cluster, now, now + 1):
                return
        raise Conflict("The size changes all the time.", hint="Try again.", code="target_changed")

    def remove(self, cluster: str, uid: str, note: str) -> None:
        """Delete a leaver; gone already is success.

        Raises
        ------
        Conflict
            It is not leaving, or the agreed list still holds it.
        """
        pod = self._pods(cluster).get(uid)
        if pod is None:
            return
        name = pod["metadata"]["name"]
        if labels.DRAIN_UNTIL not in (pod["metadata"].get("annotations") or {}):
            raise Conflict(f"{name} is a member, it is not leaving.", code="not_draining")
        if any(entry.uid == uid for entry in self.anchor(cluster).hosts.hosts):
            raise Conflict(f"{name} is still in the host file.", code="still_listed")
        if pod["metadata"].get("deletionTimestamp"):
            return
        try:
            self._api.delete(PODS, name, uid=uid)
        except (Missing, Clash):
            return
        self._note(cluster, f"{name} removed" + (f": {note}" if note else ""))

    # -- inside -------------------------------------------------------------------------------

    def _pods(self, cluster: str) -> dict[str, dict[str, Any]]:
        """Read the pods afresh, by uid: a cache is no ground to change or delete on."""
        found, _ = self._api.list(PODS, labels.selector(cluster))
        return {str(pod["metadata"]["uid"]): pod for pod in found}

    def _note(self, cluster: str, text: str) -> None:
        def step(old: Anchor) -> Anchor:
            return dataclasses.replace(old, intent=old.intent.noted(text))

        self._swap(cluster, step, releasing=True)

    def _swap(
        self, cluster: str, step: Callable[[Anchor], Anchor], *, releasing: bool = False
    ) -> Anchor:
        """Change the anchor by compare-and-swap; `releasing`: also while everything goes."""
        for _ in range(SWAP_TRIES):
            old = self.anchor(cluster)
            if old.intent.releasing and not releasing:
                raise Conflict(f"{old.about.spec.name} is being released.", code="releasing")
            new = step(old)
            data = anchors.changed_data(old, new)
            if not data:
                return old
            body = {"metadata": {"resourceVersion": old.version}, "data": data}
            try:
                return anchors.read(self._api.merge_patch(CONFIGMAPS, cluster, body))
            except Clash:
                continue
        raise Conflict(
            "The cluster is changed by others all the time.", hint="Try again.", code="changed"
        )


def _done(old: Anchor, pending: Pending, outcome: bool) -> Anchor:
    """Take a finished change out of the anchor and remember it."""
    intent = old.intent
    if intent.pending is not None and intent.pending != pending:
        return old  # a later change has taken its place
    if intent.pending is None:
        return old  # another server finished it
    intent = dataclasses.replace(intent, pending=None)
    if not outcome:
        return dataclasses.replace(old, intent=intent)
    return dataclasses.replace(old, intent=_told(intent, pending))


def _told(intent: Intent, pending: Pending) -> Intent:
    if pending.target == pending.expected:
        count = len(pending.victims)
        return intent.noted(f"{count} replaced by {pending.by}") if count else intent
    change = LastChange(pending.expected, pending.target, at=pending.at, by=pending.by, undo=True)
    text = f"size {pending.expected} to {pending.target} by {pending.by}"
    return dataclasses.replace(intent.noted(text), last_change=change)
