"""An engine and a keeper in memory: every step is recorded, faults are switched on by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from jupyter_elastic.engines.base import (
    ClusterFacts,
    Engine,
    EngineSnapshot,
    KeeperChannel,
    KeeperStatus,
    ReleaseRules,
    ShellRequest,
)
from jupyter_elastic.errors import Conflict, NotFound, Unreachable
from jupyter_elastic.models import (
    ClusterSpec,
    Container,
    EngineOptions,
    Health,
    HostEntry,
    HostList,
    LastChange,
    Limit,
    Offer,
    Run,
    Sample,
    Settings,
    Shell,
)


class ScriptedChannel(KeeperChannel):
    """A keeper that writes its list at once."""

    def __init__(self, record: list[tuple[Any, ...]], folder: str) -> None:
        self.record = record
        self.folder = folder
        self.status = KeeperStatus(True, 1.0)
        self.changed = asyncio.Event()
        self.rules: ReleaseRules | None = None
        self.requests: list[ShellRequest] = []
        self.program = "/usr/bin/horovodrun"
        self.broken: Exception | None = None

    def set(self, **changes: Any) -> None:
        self.status = replace(self.status, **changes)
        self.changed.set()
        self.changed = asyncio.Event()

    async def watch(self) -> AsyncIterator[KeeperStatus]:
        while True:
            changed = self.changed
            yield self.status
            await changed.wait()

    async def publish(self, hosts: HostList) -> None:
        if self.broken:
            raise self.broken
        self.record.append(("publish", hosts.generation, tuple(item.name for item in hosts.hosts)))
        if hosts.generation > self.status.generation:
            self.set(generation=hosts.generation, hosts=tuple(item.host for item in hosts.hosts))

    async def open_shell(self, request: ShellRequest) -> Shell:
        self.requests.append(request)
        shell = Shell(f"s{len(self.requests)}", request.cwd, 2.0, 1)
        self.set(shells=(*self.status.shells, shell))
        return shell

    def attach_argv(self, shell_id: str) -> list[str]:
        return ["/bin/sh", "-c", f"echo attached {shell_id}; exec cat"]

    async def shell_output(self, shell_id: str) -> str:
        return ""

    async def close_shell(self, shell_id: str) -> None:
        pass

    async def start_run(self, argv: tuple[str, ...], request: ShellRequest) -> Run:
        self.requests.append(request)
        run = Run("r1", "running", argv[0], " ".join(argv), argv, request.cwd, 3.0, np=2)
        self.set(runs=(run,))
        return run

    async def stop_run(self, run_id: str, grace_seconds: float) -> None:
        self.record.append(("stop_run", run_id))
        self.set(
            runs=tuple(replace(run, state="stopped") for run in self.status.runs), busy_hosts=()
        )

    async def run_log(self, run_id: str, max_bytes: int) -> str:
        return "step 1\n"[-max_bytes:]

    async def set_rules(self, rules: ReleaseRules) -> None:
        self.rules = rules

    async def answer_offer(self, run_id: str, choice: str) -> None:
        self.record.append(("answer", run_id, choice))
        self.set(offers=())

    async def preflight(self, request: ShellRequest, program: str) -> dict[str, str]:
        return {"program": self.program, "python": "/usr/bin/python3"}

    def live(self, **changes: Any) -> Run:
        """Make an elastic run live on all hosts."""
        run = Run("r1", "running", "horovodrun", "horovodrun x", ("horovodrun",), "/", 3.0)
        run = replace(run, **{"np": 2, "min_np": 2, "max_np": 4, "elastic": True, **changes})
        self.set(runs=(run,), busy_hosts=tuple(self.status.hosts))
        return run

    def offer(self) -> Offer:
        offer = Offer("release", "The run ended.", ("keep", "release"), None, run="r1")
        self.set(offers=(offer,))
        return offer


class ScriptedEngine(Engine):
    """Places 10.0.0.n; containers are ready at once unless `slow`."""

    name = "scripted"
    title = "Scripted"

    def __init__(self, maximum: int = 8) -> None:
        self.maximum = maximum
        self.clusters: dict[str, ClusterFacts] = {}
        self.channels: dict[str, ScriptedChannel] = {}
        self.record: list[tuple[Any, ...]] = []
        self.operations: dict[str, str] = {}
        self.changed = asyncio.Event()
        self.number = 0
        self.slow = False
        self.scale_seconds = 0.0
        self.broken: dict[str, Exception] = {}
        self.gpus = 0
        self.stopped = False

    def _fault(self, step: str) -> None:
        if step in self.broken:
            raise self.broken[step]

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def set(self, cluster_id: str, **changes: Any) -> None:
        self.clusters[cluster_id] = replace(self.clusters[cluster_id], **changes)
        self._notify()

    def _container(self, cluster_id: str, role: Any) -> tuple[Container, HostEntry]:
        self.number += 1
        uid = f"u{self.number}"
        name = f"{cluster_id}-{self.number}"
        ready = role == "launcher" or not self.slow
        container = Container(
            uid,
            name,
            role,
            "ready" if ready else "starting",
            1.0,
            host=f"10.0.0.{self.number}",
            created=float(self.number),
        )
        slots = max(1, self.gpus)
        return container, HostEntry(uid, name, f"10.0.0.{self.number}", slots)

    async def start(self) -> None:
        self.stopped = False

    async def stop(self) -> None:
        self.stopped = True

    async def options(self) -> EngineOptions:
        limit = Limit(self.maximum, f"This test has {self.maximum} places.")
        return EngineOptions(
            self.name, self.title, "in memory", Health("live", 1.0), self.maximum, limit, ("here",)
        )

    async def watch(self) -> AsyncIterator[EngineSnapshot]:
        while True:
            changed = self.changed
            self._fault("watch")
            yield EngineSnapshot(Health("live", 1.0), tuple(self.clusters.values()))
            await changed.wait()

    async def create(self, spec: ClusterSpec, *, operation: str = "") -> str:
        self._fault("create")
        if operation and operation in self.operations:
            return self.operations[operation]
        if any(item.spec.name == spec.name for item in self.clusters.values()):
            raise Conflict("There is one of this name.", code="name_taken")
        cluster_id = f"c{len(self.operations) + len(self.clusters) + 1}"
        if operation:
            self.operations[operation] = cluster_id
        pairs = [
            self._container(cluster_id, "launcher" if i == 0 else "worker")
            for i in range(spec.size)
        ]
        self.record.append(("create", spec.name, spec.size))
        self.channels[cluster_id] = ScriptedChannel(self.record, f"/tmp/hosts/{cluster_id}")
        self.clusters[cluster_id] = ClusterFacts(
            id=cluster_id,
            spec=spec,
            settings=spec.settings,
            created=time.time(),
            target=spec.size,
            containers=tuple(pair[0] for pair in pairs),
            host_list=HostList(0),
            host_folder=f"/tmp/hosts/{cluster_id}",
            limit=Limit(self.maximum, f"This test has {self.maximum} places."),
            slots_by_uid={pair[0].uid: pair[1] for pair in pairs},
        )
        self._notify()
        return cluster_id

    async def configure(self, cluster_id: str, settings: Settings) -> None:
        self.set(cluster_id, settings=settings)

    async def scale(
        self,
        cluster_id: str,
        target: int,
        *,
        expected: int,
        victims: tuple[str, ...],
        grace_seconds: float,
        by: str,
    ) -> None:
        if self.scale_seconds:
            await asyncio.sleep(self.scale_seconds)
        self._fault("scale")
        facts = self.clusters[cluster_id]
        if facts.target != expected:
            raise Conflict("Somebody else changed the size.", detail={"target": facts.target})
        self.record.append(("scale", target, victims))
        until = time.time() + grace_seconds
        containers = [
            replace(item, state="draining", drain_until=until) if item.uid in victims else item
            for item in facts.containers
        ]
        entries = dict(facts.slots_by_uid)
        while sum(item.state != "draining" for item in containers) < target:
            container, entry = self._container(cluster_id, "worker")
            containers.append(container)
            entries[container.uid] = entry
        self.set(
            cluster_id,
            target=target,
            containers=tuple(containers),
            slots_by_uid=entries,
            last_change=LastChange(facts.target, target, 5.0, by, True),
        )

    async def commit_hosts(self, cluster_id: str, hosts: HostList) -> None:
        self._fault("commit")
        facts = self.clusters[cluster_id]
        if hosts.generation != facts.host_list.generation + 1:
            raise Conflict("Another list was agreed on.")
        self.record.append(("commit", hosts.generation, tuple(item.name for item in hosts.hosts)))
        self.set(cluster_id, host_list=hosts)

    async def extend_drain(self, cluster_id: str, uid: str, until: float | None) -> None:
        facts = self.clusters[cluster_id]
        changes: dict[str, Any] = {"drain_until": until}
        if until is None:
            changes["state"] = "ready"
        self.set(
            cluster_id,
            target=facts.target + (until is None),
            containers=tuple(
                replace(item, **changes) if item.uid == uid else item for item in facts.containers
            ),
        )

    async def remove(self, cluster_id: str, uid: str, *, note: str = "") -> None:
        self._fault("remove")
        self.record.append(("remove", uid, note))
        facts = self.clusters[cluster_id]
        self.set(cluster_id, containers=tuple(item for item in facts.containers if item.uid != uid))

    async def release(self, cluster_id: str) -> None:
        self._fault("release")
        self.record.append(("release", cluster_id))
        self.clusters.pop(cluster_id, None)
        self._notify()

    async def keeper(self, cluster_id: str) -> KeeperChannel:
        self._fault("keeper")
        if cluster_id not in self.channels:
            raise NotFound("No such cluster.")
        return self.channels[cluster_id]

    async def log(self, cluster_id: str, uid: str, max_bytes: int) -> str:
        return f"log of {uid}"[-max_bytes:]

    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        return tuple(Sample(item.name, 1.5, 1024) for item in self.clusters[cluster_id].containers)

    async def refresh(self) -> None:
        self._fault("refresh")
        self._notify()


UNREACHABLE = Unreachable("The world is gone.")

__all__ = ["UNREACHABLE", "ScriptedChannel", "ScriptedEngine"]
