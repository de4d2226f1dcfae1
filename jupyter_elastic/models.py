"""Frozen dataclasses that are both the domain model and the wire format.

``to_json`` turns any of them into plain JSON values, field names unchanged. No clock, age or sample
may be a field of anything inside :class:`State`: its body is compared byte for byte by ETag, so it
holds instants (seconds since 1970, UTC) and never durations that grow.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from .spec import ClusterSpec as ClusterSpec
from .spec import EngineName as EngineName
from .spec import LauncherMode as LauncherMode
from .spec import Mount as Mount
from .spec import ReleasePolicy as ReleasePolicy
from .spec import Settings as Settings
from .spec import Toleration as Toleration

Role = Literal["launcher", "worker"]
Change = Literal["live", "restarts ranks", "restart needed", "next job"]

ContainerState = Literal[
    "not created",  # asked for, but a limit did not let it be created: `reason` says which
    "pending",  # exists, waits for a place
    "starting",  # has a place, not ready yet
    "ready",  # can take a rank
    "draining",  # left the host file, waits for its rank to end
    "failed",  # ended or keeps ending; `reason` says why
    "unknown",  # its state cannot be read
]
ClusterState = Literal["creating", "ready", "scaling", "degraded", "releasing", "ended"]
RunState = Literal["running", "stopping", "ended", "failed", "stopped", "lost"]
HealthState = Literal["starting", "live", "stale", "forbidden", "unauthenticated", "gone", "failed"]


@dataclass(frozen=True)
class Reason:
    """Why something is not as asked: a stable code, one sentence, and the raw text it came from."""

    code: str
    text: str
    detail: str = ""


@dataclass(frozen=True)
class Gpu:
    """One accelerator of a container."""

    index: int
    name: str
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Container:
    """One member of a cluster. ``since`` is the instant its present state began."""

    uid: str
    name: str
    role: Role
    state: ContainerState
    since: float
    host: str | None = None
    gpus: tuple[Gpu, ...] = ()
    reason: Reason | None = None
    created: float | None = None
    drain_until: float | None = None
    busy: bool = False  # a rank runs on it now, as far as the keeper knows


@dataclass(frozen=True)
class HostEntry:
    """One line of the host file; ``devices`` are the GPUs that ranks of a local place may see."""

    uid: str
    name: str
    host: str
    slots: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True)
class HostList:
    """The agreed list, launcher first, in join order; each change adds one to ``generation``."""

    generation: int
    hosts: tuple[HostEntry, ...] = ()


@dataclass(frozen=True)
class HostFile:
    """Where the host file is and whether it shows the agreed list."""

    folder: str
    hostfile: str
    discovery_script: str
    generation: int  # what the keeper wrote last
    wanted: int  # the agreed list's generation
    in_sync: bool
    frozen_since: float | None = None  # set while the keeper cannot be reached or cannot write
    reason: Reason | None = None


@dataclass(frozen=True)
class Run:
    """One training command; one ``found`` running was started elsewhere, its exit stays unknown."""

    id: str
    state: RunState
    program: str
    text: str
    argv: tuple[str, ...]
    cwd: str
    started: float
    np: int | None = None
    min_np: int | None = None
    max_np: int | None = None
    elastic: bool = False
    ended: float | None = None
    exit: int | None = None
    found: bool = False
    shell: str | None = None
    pid: int | None = None
    reason: Reason | None = None

    @property
    def live(self) -> bool:
        """Whether its processes still run."""
        return self.state in ("running", "stopping")


@dataclass(frozen=True)
class Shell:
    """A keeper shell: ``run`` is the live run in it, ``attached`` how many terminals show it."""

    id: str
    cwd: str
    started: float
    pid: int
    attached: int = 0
    run: str | None = None


@dataclass(frozen=True)
class Offer:
    """A decision that waits for the person; at ``due`` the default is taken without an answer."""

    kind: Literal["drain", "release"]
    text: str
    choices: tuple[str, ...]  # drain: wait, delete, keep; release: keep, release
    due: float | None
    container: str | None = None
    run: str | None = None


@dataclass(frozen=True)
class Limit:
    """The largest size now, who set it and what to do about it."""

    size: int
    text: str


@dataclass(frozen=True)
class LastChange:
    """The last change of target, for Undo and the history."""

    previous: int
    target: int
    at: float
    by: str
    undo: bool  # whether it can be undone now


@dataclass(frozen=True)
class Cluster:
    """A cluster as everybody sees it."""

    id: str
    name: str
    owner: str
    engine: EngineName
    framework: str
    framework_title: str
    launcher_mode: LauncherMode
    state: ClusterState
    created: float
    target: int
    ready: int
    np: int
    slots: int
    gpus_per_container: int
    gpu_kind: str | None
    containers: tuple[Container, ...]
    hostfile: HostFile
    settings: Settings
    limit: Limit
    growth: Change
    shrink: Change
    valid_sizes: tuple[int, ...] | None = None  # None: every size in 1..limit
    runs: tuple[Run, ...] = ()  # newest first, live ones always there
    shells: tuple[Shell, ...] = ()
    offers: tuple[Offer, ...] = ()
    last_change: LastChange | None = None
    reason: Reason | None = None
    history: tuple[str, ...] = ()  # newest first: changes in words


@dataclass(frozen=True)
class Health:
    """How well an engine sees its world."""

    state: HealthState
    since: float
    text: str = ""


@dataclass(frozen=True)
class EngineStatus:
    """One engine of this server."""

    name: EngineName
    title: str
    health: Health


@dataclass(frozen=True)
class Revision:
    """(epoch, n): n grows with each change, a new server is a new epoch."""

    epoch: str
    n: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.n}"


@dataclass(frozen=True)
class State:
    """Answer of ``GET clusters``."""

    revision: Revision
    version: str
    engines: tuple[EngineStatus, ...]
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True)
class Plan:
    """What a change would do, computed without doing it."""

    cluster: str
    current: int  # containers that are there and not leaving
    target: int
    add: int
    remove: tuple[str, ...]  # container names
    starts_now: int
    waits: int
    gpus: int  # difference in GPUs, negative when given back
    change: Change
    confirm: bool  # a person must agree first (ends or restarts a run, removes a busy worker)
    text: str  # one or two plain sentences
    warnings: tuple[str, ...] = ()
    eta_seconds: float | None = None
    np: int | None = None  # np once all is ready


@dataclass(frozen=True)
class Launch:
    """The command for a cluster at one revision."""

    cluster: str
    revision: Revision
    program: str
    argv: tuple[str, ...]
    text: str
    cwd: str
    ready: bool  # false: `reason` says why the button is disabled
    reason: Reason | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class FrameworkOption:
    """One framework as the form shows it."""

    name: str
    title: str
    program: str
    growth: Change
    shrink: Change
    elastic: bool
    available: bool
    reason: str = ""


@dataclass(frozen=True)
class GpuKind:
    """GPUs of one kind. ``free`` is None where we may not look."""

    name: str
    total: int
    free: int | None


@dataclass(frozen=True)
class KernelOption:
    """A Python environment to train in."""

    name: str
    title: str
    python: str


@dataclass(frozen=True)
class EngineOptions:
    """What the create form may offer on one engine."""

    name: EngineName
    title: str
    summary: str  # "this machine, 8 CPU cores, no GPU"
    health: Health
    max_size: int
    capacity: Limit
    launcher_modes: tuple[LauncherMode, ...]
    launcher_note: str = ""  # why the default is a launcher of its own
    launcher_gpus: int | None = None  # of the launcher of mode `here`; None: as many as wanted
    gpu_kinds: tuple[GpuKind, ...] = ()
    gpu_note: str = ""
    images: tuple[str, ...] | None = None  # None: this engine has no images
    storage: tuple[str, ...] | None = None
    shared_memory: bool = False
    pod_fields: bool = False  # CPU, memory, environment and placement may be chosen


@dataclass(frozen=True)
class Options:
    """Answer of ``GET options``."""

    version: str
    engines: tuple[EngineOptions, ...]
    default_engine: EngineName
    frameworks: tuple[FrameworkOption, ...]
    kernels: tuple[KernelOption, ...]
    default_kernel: str | None
    passable_env: tuple[str, ...]  # names that exist in the server's environment and may be passed
    terminals: bool
    min_size: int = 2  # of the create form
    example: str | None = None  # path of the example script, when it is on this machine
    root_folder: str = ""  # the folder that relative paths of scripts start at
    notices: tuple[str, ...] = ()  # e.g. a JupyterLab without all security fixes


@dataclass(frozen=True)
class Sample:
    """Use of one container now. None: not available."""

    container: str
    cpu_percent: float | None = None
    memory_bytes: int | None = None
    gpu_percent: tuple[float | None, ...] = ()
    gpu_memory_bytes: tuple[int | None, ...] = ()


def to_json(value: Any) -> Any:
    """Turn a model (or a tuple, list or dict of models) into plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value
