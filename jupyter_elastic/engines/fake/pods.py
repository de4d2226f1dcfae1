"""A small simulator: containers pass through quota, scheduling and phases as time goes on.

No clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...models import Container, ContainerState, Gpu, Reason, Role
from .scenario import Node, Quota, Scenario


@dataclass(frozen=True)
class Pod:
    """One container. ``placed`` is when it got its node."""

    number: int
    uid: str
    name: str
    role: Role
    asked: float
    created: float | None = None
    node: str | None = None
    placed: float | None = None
    gpus: tuple[Gpu, ...] = ()
    state: ContainerState = "not created"
    since: float = 0.0
    reason: Reason | None = None
    draining: bool = False
    drain_until: float | None = None
    unready_until: float = 0.0
    failure: str = ""

    @property
    def host(self) -> str | None:
        """The address it has once it is on a node; never given to another one."""
        if self.node is None:
            return None
        return f"10.42.{self.number // 250}.{self.number % 250 + 1}"

    def container(self, busy: bool) -> Container:
        """Return what others see."""
        return Container(
            uid=self.uid,
            name=self.name,
            role=self.role,
            state="draining" if self.draining else self.state,
            since=self.since,
            host=self.host,
            gpus=self.gpus,
            reason=self.reason,
            created=self.created,
            drain_until=self.drain_until,
            busy=busy,
        )


@dataclass(frozen=True)
class Need:
    """What each container of a cluster asks for."""

    gpus: int
    kind: str | None


def stepped(pod: Pod, need: Need, others: Iterable[Pod], scenario: Scenario, now: float) -> Pod:
    """Return the pod as it is at `now`; `others` are all pods of all clusters beside it."""
    everybody = list(others)
    if pod.draining:
        return pod
    if pod.created is None:
        pod = _create(pod, everybody, scenario.quota, now)
    if pod.created is not None and pod.node is None:
        pod = _place(pod, need, everybody, scenario, now)
    if pod.placed is None:
        return pod
    return _advance(pod, scenario, now)


def _create(pod: Pod, others: list[Pod], quota: Quota | None, now: float) -> Pod:
    used = sum(other.created is not None for other in others)
    if quota is not None and used >= quota.containers:
        text = (
            f"Quota {quota.name} allows {quota.containers} containers and {used} are used; "
            f"{quota.who} can raise it."
        )
        return _in_state(pod, "not created", pod.asked, Reason("quota", text))
    return replace(pod, created=now)


def _place(pod: Pod, need: Need, others: list[Pod], scenario: Scenario, now: float) -> Pod:
    if not scenario.nodes and need.gpus == 0:
        return replace(pod, node="node-1", placed=now)
    tainted: dict[str, int] = {}
    for node in scenario.nodes:
        fits = need.gpus == 0 or need.kind in (None, node.gpu_kind)
        free = _free(node, others)
        if node.taint is not None:
            tainted[node.taint] = tainted.get(node.taint, 0) + fits
        elif fits and len(free) >= need.gpus:
            gpus = tuple(
                Gpu(index, node.gpu_kind, node.memory_bytes) for index in free[: need.gpus]
            )
            return replace(pod, node=node.name, placed=now, gpus=gpus)
    what = (need.kind or "GPU").removeprefix("NVIDIA ")
    text = f"no node has {need.gpus} free {what}"
    for taint, count in tainted.items():
        text += f"; {count} node{' has' if count == 1 else 's have'} taint {taint}"
    return _in_state(pod, "pending", pod.created or now, Reason("unschedulable", text))


def _free(node: Node, others: list[Pod]) -> list[int]:
    taken = {gpu.index for other in others if other.node == node.name for gpu in other.gpus}
    return [index for index in range(node.gpus) if index not in taken]


def _advance(pod: Pod, scenario: Scenario, now: float) -> Pod:
    if pod.failure:
        return pod
    at = pod.placed or now
    for phase in scenario.phases:
        if now < at + phase.seconds:
            reason = Reason(phase.code, phase.text) if phase.text else None
            return _in_state(pod, phase.state, at, reason)
        at += phase.seconds
    if now < pod.unready_until:
        return _in_state(pod, "starting", now, Reason("not_ready", "its probe does not answer"))
    return _in_state(pod, "ready", max(at, pod.unready_until), None)


def _in_state(pod: Pod, state: ContainerState, since: float, reason: Reason | None) -> Pod:
    if pod.state == state and pod.reason == reason:
        return pod
    return replace(pod, state=state, since=since, reason=reason)


def next_change(pod: Pod, scenario: Scenario, now: float) -> float | None:
    """Return when the pod changes by time alone, or None."""
    if pod.placed is None or pod.draining or pod.failure:
        return None
    at = pod.placed
    for phase in scenario.phases:
        at += phase.seconds
        if at > now:
            return at
    return pod.unready_until if pod.unready_until > now else None
