"""A scripted cluster and what each engine call does to it; refuses what a real engine refuses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...errors import BadInput, Conflict
from ...models import ClusterSpec, HostEntry, HostList, LastChange, Limit, Reason, Settings
from ...naming import launcher_name, worker_name
from ..base import ClusterFacts
from ..checks import check_size
from .keeper import FakeKeeper
from .pods import Need, Pod
from .scenario import Event

HISTORY_LIMIT = 50


@dataclass
class FakeCluster:
    """One cluster of the simulator."""

    id: str
    spec: ClusterSpec
    settings: Settings
    created: float
    target: int
    folder: str
    keeper: FakeKeeper
    operation: str = ""
    pods: list[Pod] = field(default_factory=list)
    next_number: int = 1
    hosts: HostList = field(default_factory=lambda: HostList(0))
    last_change: LastChange | None = None
    history: list[str] = field(default_factory=list)
    releasing: bool = False
    due: list[Event] = field(default_factory=list)

    @property
    def members(self) -> list[Pod]:
        """Pods that count towards the target."""
        return [pod for pod in self.pods if not pod.draining]

    @property
    def need(self) -> Need:
        """What each container asks for."""
        return Need(self.spec.gpus_per_container, self.spec.gpu_kind)

    def note(self, text: str) -> None:
        """Add a line of history, newest first."""
        self.history.insert(0, text)
        del self.history[HISTORY_LIMIT:]

    def top_up(self, now: float) -> None:
        """Ask for pods until there are as many members as the target."""
        while len(self.members) < self.target:
            number = self.next_number
            first = number == 1
            name = self.spec.name
            self.pods.append(
                Pod(
                    number=number,
                    uid=f"{self.id}.{number}",
                    name=launcher_name(name) if first else worker_name(name, self.id, number),
                    role="launcher" if first else "worker",
                    asked=now,
                    since=now,
                )
            )
            self.next_number += 1

    def pod(self, uid: str) -> Pod | None:
        """Return a pod, or None."""
        return next((pod for pod in self.pods if pod.uid == uid), None)

    def put(self, changed: Pod) -> None:
        """Replace one pod."""
        self.pods = [changed if pod.uid == changed.uid else pod for pod in self.pods]

    def drop(self, uid: str) -> None:
        """Delete one pod."""
        self.pods = [pod for pod in self.pods if pod.uid != uid]

    def check_alive(self) -> None:
        """Refuse a change while it is being released."""
        if self.releasing:
            raise Conflict(f"{self.spec.name} is being released.", code="releasing")

    def scale(
        self,
        target: int,
        expected: int,
        victims: tuple[str, ...],
        grace: float,
        by: str,
        limit: Limit,
        now: float,
    ) -> None:
        """Set the target and mark the leavers."""
        self.check_alive()
        if self.target != expected:
            raise Conflict(
                f"The size was changed to {self.target} meanwhile.",
                detail={"target": self.target, "expected": expected},
                code="target_changed",
            )
        check_size(target, limit, self.target)
        if self.pods[0].uid in victims:
            raise Conflict("The launcher cannot be removed.", code="launcher")
        self._detach(target, victims, now, grace)
        if target != expected:
            self.last_change = LastChange(expected, target, now, by, undo=True)
            self.note(f"size {expected} to {target} by {by}")
        self.target = target

    def _detach(self, target: int, victims: tuple[str, ...], now: float, grace: float) -> None:
        workers = self.members[1:]
        rest = [pod for pod in workers if pod.uid not in victims]
        named = [pod for pod in workers if pod.uid in victims]
        surplus = 1 + len(rest) - target
        # Not ready first, then the newest.
        order = sorted(rest, key=lambda pod: (pod.state == "ready", -pod.number))
        for pod in [*named, *order[: max(0, surplus)]]:
            if pod.created is None:
                self.drop(pod.uid)  # it was never created, so there is nothing to wait for
            else:
                self.put(replace(pod, draining=True, since=now, drain_until=now + grace))

    def commit(self, hosts: HostList) -> None:
        """Agree on the next list by compare-and-swap."""
        self.check_alive()
        if hosts == self.hosts:
            return
        if hosts.generation != self.hosts.generation + 1:
            raise Conflict(
                f"Host list {hosts.generation} does not follow {self.hosts.generation}.",
                detail={"generation": self.hosts.generation},
                code="generation",
            )
        if not hosts.hosts or hosts.hosts[0].uid != self.pods[0].uid:
            raise BadInput("A host list has the launcher first.")
        lines = self.lines()
        members = {pod.uid for pod in self.members}
        for entry in hosts.hosts:
            if entry.uid not in members or lines.get(entry.uid) != entry:
                raise Conflict(
                    f"{entry.name} changed or is leaving meanwhile.", code="container_changed"
                )
        self.hosts = hosts

    def extend(self, uid: str, until: float | None, now: float) -> None:
        """Give a leaver more time, or take it back."""
        self.check_alive()
        pod = self.pod(uid)
        if pod is None or not pod.draining:
            raise Conflict("This container is not leaving any more.", code="not_draining")
        if until is not None:
            self.put(replace(pod, drain_until=until))
            return
        self.put(replace(pod, draining=False, since=now, drain_until=None))
        for waiting in [item for item in self.members if item.created is None]:
            if len(self.members) > self.target:
                self.drop(waiting.uid)
        if len(self.members) > self.target:
            self.last_change = LastChange(self.target, len(self.members), now, "", undo=False)
            self.target = len(self.members)
        self.note(f"{pod.name} kept")

    def remove(self, uid: str, note: str) -> None:
        """Delete a leaver that is out of the agreed list."""
        pod = self.pod(uid)
        if pod is None:
            return
        if not pod.draining:
            raise Conflict(f"{pod.name} is a member, it is not leaving.", code="not_draining")
        if any(entry.uid == uid for entry in self.hosts.hosts):
            raise Conflict(f"{pod.name} is still in the host file.", code="still_listed")
        self.drop(uid)
        self.note(f"{pod.name} removed" + (f": {note}" if note else ""))

    def lines(self) -> dict[str, HostEntry]:
        """Return the line each container with an address would have."""
        return {
            pod.uid: HostEntry(pod.uid, pod.name, pod.host, self.spec.slots)
            for pod in self.pods
            if pod.host is not None
        }

    def facts(self, limit: Limit) -> ClusterFacts:
        """Return what the manager wants to see."""
        return ClusterFacts(
            id=self.id,
            spec=self.spec,
            settings=self.settings,
            created=self.created,
            target=self.target,
            containers=tuple(pod.container(busy=False) for pod in self.pods),
            host_list=self.hosts,
            host_folder=self.folder,
            limit=limit,
            slots_by_uid=self.lines(),
            last_change=self.last_change,
            releasing=self.releasing,
            history=tuple(self.history),
        )

    def happen(self, event: Event, now: float) -> None:
        """Let a scripted event happen."""
        if event.kind == "frozen":
            self.keeper.freeze(now + event.seconds)
            return
        if not 0 <= event.container < len(self.pods):
            return
        pod = self.pods[event.container]
        if event.kind == "vanish" and pod.role == "worker":
            self.drop(pod.uid)
            self.note(f"{pod.name} was deleted by somebody else")
        elif event.kind == "unready":
            self.put(replace(pod, unready_until=now + event.seconds))
        elif event.kind == "fail":
            text = event.text or "its process ended with 1"
            reason = Reason("failed", text)
            self.put(replace(pod, state="failed", since=now, reason=reason, failure=text))
