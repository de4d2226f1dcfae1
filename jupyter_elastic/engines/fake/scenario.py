"""What a scripted cluster is like: nodes, limits, durations, and what goes wrong when."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import BadInput
from ...models import ContainerState
from ..decode import DecodeError, decode


@dataclass(frozen=True)
class Node:
    """A machine with GPUs. A tainted one takes no container."""

    name: str
    gpus: int = 0
    gpu_kind: str = "NVIDIA P4"
    memory_bytes: int = 16 * 1024**3
    taint: str | None = None


@dataclass(frozen=True)
class Phase:
    """What a container passes through on its node before it is ready."""

    state: ContainerState
    seconds: float
    code: str = ""
    text: str = ""


@dataclass(frozen=True)
class Event:
    """Something that happens by itself, seconds after the cluster was created.

    ``container`` counts in join order, the launcher is 0. ``seconds`` is how long it lasts: for
    ``unready``, ``frozen`` (the keeper does not answer) and ``unreachable`` (the whole cluster does
    not).
    """

    at: float
    kind: Literal["fail", "vanish", "unready", "frozen", "unreachable"]
    container: int = 1
    seconds: float = 5.0
    text: str = ""


@dataclass(frozen=True)
class Quota:
    """A limit on containers that somebody else set; what is above it is not even created."""

    containers: int
    name: str = "team-a"
    who: str = "the owner of the namespace"


@dataclass(frozen=True)
class RunScript:
    """How each run goes. ``seconds`` None: until it is stopped."""

    seconds: float | None = None
    exit: int = 0
    text: str = ""  # why it failed, when `exit` is not 0
    output: str = "step 1 loss 0.9\n"
    start_at: float | None = None  # begins by itself so long after the cluster was created


@dataclass(frozen=True)
class Scenario:
    """Everything that is scripted. Times in seconds."""

    title: str = "Scripted cluster"
    max_size: int = 8
    nodes: tuple[Node, ...] = ()
    quota: Quota | None = None
    phases: tuple[Phase, ...] = ()
    events: tuple[Event, ...] = ()
    run: RunScript = field(default_factory=RunScript)
    images: tuple[str, ...] | None = None
    storage: tuple[str, ...] | None = None
    shared_memory: bool = False
    pod_fields: bool = False  # CPU, memory, environment and placement are offered
    shells: bool = False
    drain_seconds: float = 0.5  # a rank ends so long after its host left the list
    call_seconds: float = 0.0  # each call takes so long
    create_error: str = ""  # every creation fails with this text
    health: Literal["live", "stale", "forbidden", "unauthenticated", "gone", "failed"] = "live"
    health_text: str = ""

    @property
    def gpu_total(self) -> int:
        """GPUs of all nodes, tainted ones included."""
        return sum(node.gpus for node in self.nodes)


def read_scenario(value: Mapping[str, Any]) -> Scenario:
    """Read a scenario from plain values; keys that are not there have their defaults.

    Raises
    ------
    BadInput
        An unknown key or a value of another type; the message names it.
    """
    known = {item.name for item in dataclasses.fields(Scenario)}
    unknown = sorted(set(value) - known)
    if unknown:
        raise BadInput(
            f"The scenario has an unknown key: {unknown[0]}.",
            hint="Known: " + ", ".join(sorted(known)) + ".",
            detail={"field": f"fake_scenario.{unknown[0]}"},
        )
    try:
        return decode(Scenario, dict(value))
    except DecodeError as error:
        raise BadInput(f"The scenario: {error}.", detail={"field": "fake_scenario"}) from None
