"""Pods that go through phases: scheduled, pulled, running, ready, and ending."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .rules import Rules
from .store import Json, Key, Store


@dataclass(frozen=True)
class PodScript:
    """What becomes of a pod; delays in seconds, each after the phase before.

    Parameters
    ----------
    scheduled, running, ready, ending
        Delays; `ending` after its deletion, and never longer than its grace.
    unschedulable
        The scheduler's message; it then stays Pending.
    waiting
        Reason and message of a container that never starts, such as ``ImagePullBackOff``.
    """

    scheduled: float = 0.0
    running: float = 0.02
    ready: float = 0.02
    ending: float = 0.05
    unschedulable: str = ""
    waiting: tuple[str, str] | None = None


class Kubelet:
    """Scheduler and kubelet of one namespace.

    Parameters
    ----------
    store, rules
        Of the server.
    namespace
        Where its pods are.
    """

    def __init__(self, store: Store, rules: Rules, namespace: str) -> None:
        self._store = store
        self._rules = rules
        self._namespace = namespace
        #: Says what becomes of a pod; asked at each step, so it may change its mind.
        self.script: Callable[[Json], PodScript] = lambda _pod: PodScript()
        #: Whether a new pod gets the address of one that ended.
        self.reuse_addresses = False
        self._numbers = itertools.count(2)
        self._free: list[str] = []
        self._since: dict[str, tuple[str, float]] = {}
        self._ending: dict[str, float] = {}
        self._held: set[str] = set()
        #: Whether time alone will change something.
        self.busy = False
        self._events = itertools.count(1)

    def step(self) -> None:
        """Take each pod on by what its script says."""
        self.busy = bool(self._ending)
        for key, pod in self._store.all("pods", self._namespace):
            if isinstance(pod.get("metadata"), dict) and isinstance(pod.get("spec"), dict):
                self.busy = self.busy or _phase(pod) != "settled"
                # It may be gone since it was read.
                with contextlib.suppress(KeyError):
                    self._step(key, pod)

    def terminate(self, key: Key, found: Json, grace: int) -> None:
        """Begin to end a pod."""
        if found["metadata"].get("deletionTimestamp"):
            return
        delay = min(float(grace), self.script(found).ending)
        self._ending[found["metadata"]["uid"]] = time.monotonic() + delay

        def mark(pod: Json) -> None:
            pod["metadata"]["deletionTimestamp"] = self._store.now()
            pod["metadata"]["deletionGracePeriodSeconds"] = grace

        self._store.edit(key, mark)

    def event(self, kind: str, found: Json, reason: str, message: str) -> None:
        """Write a Warning about an object."""
        metadata = found["metadata"]
        name = f"{metadata['name']}.{next(self._events):x}"
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name},
            "involvedObject": {
                "kind": kind,
                "namespace": self._namespace,
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "type": "Warning",
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": self._store.now(),
            "lastTimestamp": self._store.now(),
        }
        self._store.add(Key("events", self._namespace, name), body)

    # What a test does to a pod

    def set_ready(self, name: str, ready: bool) -> None:
        """Let a pod's readiness flap; it stays so until it is set again."""
        uid = (self._store.find(self._key(name)) or {})["metadata"]["uid"]
        (self._held.discard if ready else self._held.add)(uid)
        self._store.edit(self._key(name), lambda pod: self._conditions(pod, ready))

    def restart(self, name: str, exit_code: int, reason: str = "Error") -> None:
        """End a pod's container; it starts again in the same pod."""

        def edit(pod: Json) -> None:
            for container in pod["status"]["containerStatuses"]:
                ended = {"exitCode": exit_code, "reason": reason, "finishedAt": self._store.now()}
                container["restartCount"] += 1
                container["lastState"] = {"terminated": ended}
                container["containerID"] = (
                    f"fake://{pod['metadata']['uid']}/{container['restartCount']}"
                )
                container["state"] = {"running": {"startedAt": self._store.now()}}

        self._store.edit(self._key(name), edit)

    def end(self, name: str, phase: str = "Succeeded", reason: str = "", message: str = "") -> None:
        """Let a pod be over: ``Succeeded``, or ``Failed`` as by an eviction."""

        def edit(pod: Json) -> None:
            self._conditions(pod, False)
            pod["status"].update(phase=phase, reason=reason, message=message)

        self._store.edit(self._key(name), edit)

    # Phases

    def _step(self, key: Key, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._ending:
            if time.monotonic() >= self._ending[uid]:
                self._remove(key, pod)
            return
        phase = _phase(pod)
        known, since = self._since.get(uid, ("", 0.0))
        if known != phase:
            since = time.monotonic()
            self._since[uid] = (phase, since)
        script, waited = self.script(pod), time.monotonic() - since
        if phase == "new":
            self._schedule(key, pod, script, waited)
        elif phase == "scheduled":
            self._run(key, script, waited)
        elif phase == "running" and waited >= script.ready and uid not in self._held:
            self._store.edit(key, lambda item: self._conditions(item, True))

    def _schedule(self, key: Key, pod: Json, script: PodScript, waited: float) -> None:
        def assign(item: Json) -> None:
            item["spec"]["nodeName"] = "node-1"
            item["status"] = {
                "phase": "Pending",
                "conditions": [self._condition("PodScheduled", True)],
            }

        def refuse(item: Json) -> None:
            condition = self._condition("PodScheduled", False)
            condition.update(reason="Unschedulable", message=script.unschedulable)
            item["status"] = {"phase": "Pending", "conditions": [condition]}

        if not script.unschedulable and waited >= script.scheduled:
            self._store.edit(key, assign)
        elif script.unschedulable and not (pod.get("status") or {}).get("conditions"):
            self._store.edit(key, refuse)
            self.event("Pod", pod, "FailedScheduling", script.unschedulable)

    def _run(self, key: Key, script: PodScript, waited: float) -> None:
        if script.waiting:
            reason, message = script.waiting

            def wait(item: Json) -> None:
                state = {"waiting": {"reason": reason, "message": message}}
                item["status"]["containerStatuses"] = self._containers(item, state, False)

            self._store.edit(key, wait)
        elif waited >= script.running:
            address = self._free.pop() if self._free else self._address()
            self._store.edit(key, lambda item: self._begin(item, address))

    def _begin(self, item: Json, address: str) -> None:
        state = {"running": {"startedAt": self._store.now()}}
        item["status"].update(
            phase="Running",
            podIP=address,
            podIPs=[{"ip": address}],
            hostIP="10.0.0.1",
            startTime=self._store.now(),
            containerStatuses=self._containers(item, state, False),
        )
        self._conditions(item, False)

    def _address(self) -> str:
        number = next(self._numbers)
        return f"10.244.{number // 250}.{number % 250 + 1}"

    def _remove(self, key: Key, pod: Json) -> None:
        uid, address = pod["metadata"]["uid"], (pod.get("status") or {}).get("podIP")
        self._ending.pop(uid)
        if address and self.reuse_addresses:
            self._free.append(address)
        self._store.drop(key)

    def _containers(self, item: Json, state: Json, ready: bool) -> list[Json]:
        return [
            {
                "name": container["name"],
                "image": container.get("image", ""),
                "ready": ready,
                "restartCount": 0,
                "containerID": f"fake://{item['metadata']['uid']}/0",
                "state": state,
                "lastState": {},
            }
            for container in item["spec"].get("containers") or []
        ]

    def _conditions(self, item: Json, ready: bool) -> None:
        status = item["status"]
        wanted = [self._condition(name, ready) for name in ("Ready", "ContainersReady")]
        names = {one["type"] for one in wanted}
        kept = [one for one in status.get("conditions", []) if one["type"] not in names]
        status["conditions"] = kept + wanted
        for container in status.get("containerStatuses", []):
            container["ready"] = ready

    def _condition(self, name: str, holds: bool) -> dict[str, Any]:
        value = "True" if holds else "False"
        return {"type": name, "status": value, "lastTransitionTime": self._store.now()}

    def _key(self, name: str) -> Key:
        return Key("pods", self._namespace, name)


def _phase(pod: Json) -> str:
    """Return how far the scripts have taken a pod."""
    status = pod.get("status") or {}
    if not pod["spec"].get("nodeName"):
        return "new"
    if status.get("phase") == "Pending":
        return "scheduled"
    conditions = [one["type"] for one in status.get("conditions", []) if one["status"] == "True"]
    if status.get("phase") == "Running" and "Ready" not in conditions:
        return "running"
    return "settled"


def ready_time(pod: Json) -> float | None:
    """Return since when a pod is ready, seconds since 1970, or None."""
    for one in (pod.get("status") or {}).get("conditions") or []:
        if one["type"] == "Ready" and one["status"] == "True":
            stamp = datetime.datetime.fromisoformat(
                one["lastTransitionTime"].replace("Z", "+00:00")
            )
            return stamp.timestamp()
    return None
