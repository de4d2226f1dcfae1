"""The controllers behind the fake API server: ReplicaSets, Jobs, a kubelet, garbage collection."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from typing import Any

from .faults import RefusedError
from .kubelet import Kubelet, ready_time
from .patches import selects
from .rules import Rules
from .store import Json, Key, Store, labels_of, owners_of

_LOOP_SECONDS = 0.01


class Controllers:
    """One loop that does what the real ones do; `start` it where a test wants it.

    Parameters
    ----------
    store, rules
        Of the server.
    namespace
        Where it works.
    """

    def __init__(self, store: Store, rules: Rules, namespace: str) -> None:
        self._store = store
        self._rules = rules
        self._namespace = namespace
        self.kubelet = Kubelet(store, rules, namespace)
        #: Pods that quota allows; None: any number.
        self.quota_pods: int | None = None
        #: Seconds by which the ReplicaSet controller's view is behind.
        self.lag = 0.0
        #: Seconds after which a denied ReplicaSet is tried again without a change.
        self.retry_seconds = 60.0
        self._denied: dict[str, tuple[float, str]] = {}
        self._seen: dict[str, tuple[float, str]] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        rules.terminate = self.kubelet.terminate

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for it."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        serial = -1
        while not self._stopping.wait(_LOOP_SECONDS):
            waiting = self.kubelet.busy or self._denied or self.lag
            if waiting or serial != self._store.serial:
                serial = self._store.serial
                self.step()

    def step(self) -> None:
        """Go round once."""
        self.kubelet.step()
        for key, job in self._store.all("jobs", self._namespace):
            # An object may be gone, or changed, since it was read: the next round sees that.
            with contextlib.suppress(KeyError):
                self._job(key, job)
        for key, found in self._store.all("replicasets", self._namespace):
            with contextlib.suppress(KeyError):
                self._replica_set(key, found)
        self._collect()

    # Garbage

    def _collect(self) -> None:
        objects = self._store.all(namespace=self._namespace)
        uids = {(found.get("metadata") or {}).get("uid") for _, found in objects}
        for key, found in objects:
            owners = owners_of(found)
            if owners and not uids & set(owners):
                with contextlib.suppress(RefusedError):
                    self._rules.delete(key, {})

    # ReplicaSets

    def _replica_set(self, key: Key, found: Json) -> None:
        if not self._caught_up(key, found):
            return
        pods = self._claimed("ReplicaSet", key, found)
        living = [
            pod for pod in pods if not pod["metadata"].get("deletionTimestamp") and not _over(pod)
        ]
        wanted = found["spec"].get("replicas", 1)
        failure = ""
        if len(living) < wanted:
            failure = self._grow(key, found, wanted - len(living))
        elif len(living) > wanted:
            for victim in victims(living, time.time())[: len(living) - wanted]:
                with contextlib.suppress(RefusedError):
                    self._rules.delete(self._pod_key(victim), {})
        self._report(key, found, living, failure)

    def _caught_up(self, key: Key, found: Json) -> bool:
        """Whether the controller's own cache shows this spec by now."""
        uid, spec = found["metadata"]["uid"], repr(found.get("spec"))
        since, seen = self._seen.get(uid, (-math.inf, spec))
        if seen != spec:
            since = time.monotonic()
        self._seen[uid] = (since, spec)
        return time.monotonic() - since >= self.lag

    def _claimed(self, kind: str, key: Key, owner: Json) -> list[Json]:
        """Return the owner's pods, after it let go of those whose labels are another's."""
        uid = owner["metadata"]["uid"]
        wanted = owner["spec"]["selector"]["matchLabels"]
        selector = ",".join(f"{name}={value}" for name, value in wanted.items())
        claimed = []
        for pod_key, pod in self._store.all("pods", self._namespace):
            mine, fits = uid in owners_of(pod), selects(selector, labels_of(pod))
            if mine and not fits:
                self._store.edit(pod_key, lambda item: _release(item, uid))
            elif not mine and fits and not owners_of(pod) and not _ends(pod):
                self._store.edit(pod_key, lambda item: _adopt(item, kind, key.name, uid))
                claimed.append(pod)
            elif mine:
                claimed.append(pod)
        return claimed

    def _grow(self, key: Key, found: Json, missing: int) -> str:
        """Make pods, and return why one was not made."""
        uid = found["metadata"]["uid"]
        at, why = self._denied.get(uid, (-math.inf, ""))
        nudge = repr((found.get("spec"), found["metadata"].get("annotations")))
        if why and why.partition("\0")[2] == nudge and time.monotonic() - at < self.retry_seconds:
            return why.partition("\0")[0]
        self._denied.pop(uid, None)
        for _ in range(missing):
            refusal = self._make_pod("ReplicaSet", key, found)
            if refusal:
                self._denied[uid] = (time.monotonic(), f"{refusal}\0{nudge}")
                self.kubelet.event(
                    "ReplicaSet", found, "FailedCreate", f"Error creating: {refusal}"
                )
                return refusal
        return ""

    def _make_pod(self, kind: str, key: Key, owner: Json) -> str:
        used = len([1 for _, pod in self._store.all("pods", self._namespace) if not _over(pod)])
        template = owner["spec"]["template"]
        metadata = {**template.get("metadata", {}), "generateName": f"{key.name}-"}
        pod: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": template["spec"],
        }
        if self.quota_pods is not None and used >= self.quota_pods:
            return (
                f'pods "{key.name}-" is forbidden: exceeded quota: team-quota, requested: pods=1, '
                f"used: pods={used}, limited: pods={self.quota_pods}"
            )
        _adopt(pod, kind, key.name, owner["metadata"]["uid"])
        try:
            self._rules.create("pods", self._namespace, pod)
        except RefusedError as refusal:
            return str(refusal)
        return ""

    def _report(self, key: Key, found: Json, living: list[Json], failure: str) -> None:
        ready = len([pod for pod in living if ready_time(pod) is not None])
        status: Json = {
            "replicas": len(living),
            "fullyLabeledReplicas": len(living),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": found["metadata"].get("generation", 1),
        }
        if failure:
            before = (found.get("status") or {}).get("conditions") or [{}]
            since = before[0].get("lastTransitionTime") or self._store.now()
            condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
            condition.update(message=failure, lastTransitionTime=since)
            status["conditions"] = [condition]
        if found.get("status") != status:
            self._store.edit(key, lambda item: item.update(status=status))

    # Jobs

    def _job(self, key: Key, job: Json) -> None:
        uid = job["metadata"]["uid"]
        pods = [pod for _, pod in self._store.all("pods", self._namespace) if uid in owners_of(pod)]
        done = [c for c in (job.get("status") or {}).get("conditions", []) if c["status"] == "True"]
        if done:
            if job["spec"].get("ttlSecondsAfterFinished") == 0:
                self._rules.delete(key, {})
            return
        succeeded = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded"]
        living = [pod for pod in pods if not _over(pod)]
        status: Json = {"active": len(living), "ready": len([p for p in living if ready_time(p)])}
        if succeeded:
            condition = {
                "type": "Complete",
                "status": "True",
                "lastTransitionTime": self._store.now(),
            }
            status.update(succeeded=1, conditions=[condition])
        elif not living:
            failure = self._make_pod("Job", key, job)
            if failure:
                self.kubelet.event("Job", job, "FailedCreate", f"Error creating: {failure}")
        if job.get("status") != status:
            self._store.edit(key, lambda item: item.update(status=status))

    def _pod_key(self, pod: Json) -> Key:
        return Key("pods", self._namespace, pod["metadata"]["name"])


def victims(pods: list[Json], now: float) -> list[Json]:
    """Return pods in the order in which a ReplicaSet controller deletes them."""
    nodes: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        nodes[node] = nodes.get(node, 0) + 1

    def rank(pod: Json) -> tuple[Any, ...]:
        spec, status, metadata = pod["spec"], pod.get("status") or {}, pod["metadata"]
        since = ready_time(pod)
        cost = (metadata.get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost")
        # Whoever is ready about as long as another is its equal: times count by their logarithm.
        age = 0 if since is None else int(math.log2(max(1.0, now - since)))
        restarts = max(
            (c.get("restartCount", 0) for c in status.get("containerStatuses", [])), default=0
        )
        return (
            bool(spec.get("nodeName")),
            {"Pending": 0, "Unknown": 1}.get(status.get("phase", "Pending"), 2),
            since is not None,
            int(cost or 0),
            -nodes[spec.get("nodeName", "")],
            age,
            -restarts,
            metadata["uid"],
        )

    return sorted(pods, key=rank)


def _adopt(pod: Json, kind: str, name: str, uid: str) -> None:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]


def _release(pod: Json, uid: str) -> None:
    owners = [owner for owner in pod["metadata"]["ownerReferences"] if owner["uid"] != uid]
    pod["metadata"]["ownerReferences"] = owners


def _over(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _ends(pod: Json) -> bool:
    return bool((pod.get("metadata") or {}).get("deletionTimestamp")) or _over(pod)
