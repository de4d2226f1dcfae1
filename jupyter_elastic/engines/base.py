"""What an engine is: where containers come from.

The engine is the truth. The manager decides *what* and in which order, an engine makes one step
happen and retries what is safe to retry. Every step is idempotent: the manager may repeat it after
a crash. Compare-and-swap failures raise :class:`~jupyter_elastic.errors.Conflict`; a world that
cannot be reached raises :class:`~jupyter_elastic.errors.Unreachable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..models import (
    ClusterSpec,
    Container,
    EngineOptions,
    Health,
    HostEntry,
    HostList,
    LastChange,
    Limit,
    Offer,
    Reason,
    ReleasePolicy,
    Run,
    Sample,
    Settings,
    Shell,
)


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster as the engine sees it now: containers in join order, also the draining ones."""

    id: str
    spec: ClusterSpec
    settings: Settings
    created: float
    target: int
    containers: tuple[Container, ...]
    host_list: HostList  # the agreed list, durable, changed by compare-and-swap only
    host_folder: str
    limit: Limit
    slots_by_uid: dict[str, HostEntry]  # the line each container would have (host, slots, devices)
    last_change: LastChange | None = None
    ended: Reason | None = None  # e.g. the machine was restarted: shown as ended until released
    releasing: bool = False
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineSnapshot:
    """All clusters of one engine at one moment."""

    health: Health
    clusters: tuple[ClusterFacts, ...]


@dataclass(frozen=True)
class KeeperStatus:
    """What the keeper of one cluster says. ``reachable`` False: the rest is the last known."""

    reachable: bool
    since: float  # when reachable last changed
    generation: int = 0  # of the list that is in the file
    sha256: str = ""
    hosts: tuple[str, ...] = ()
    busy_hosts: tuple[
        str, ...
    ] = ()  # hosts with a rank started through our ssh, or by a live run's starter
    runs: tuple[Run, ...] = ()  # newest first
    shells: tuple[Shell, ...] = ()
    error: Reason | None = None  # cannot write the host file
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True)
class ShellRequest:
    """A keeper shell to open.

    ``python_folder`` goes into PATH right after the keeper's own folder; ``env`` holds values for
    the names that the person chose to pass. Beyond the allow-list nothing else of the server's
    environment gets in.
    """

    cwd: str
    python_folder: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    program: str | None = None  # path of the shell; None: the user's own
    rows: int = 24
    columns: int = 80


@dataclass(frozen=True)
class ReleaseRules:
    """When the keeper gives the cluster back by itself. Seconds; None: never."""

    on_run_end: ReleasePolicy = (
        "ask"  # ask: an Offer without `due`; release: an Offer with `due`; keep: nothing
    )
    after_seconds: float = 60.0
    idle_seconds: float | None = None  # no run and no attached terminal for this long
    deadline: float | None = None  # instant, seconds since 1970


class KeeperChannel(ABC):
    """The way to one cluster's keeper."""

    @abstractmethod
    def watch(self) -> AsyncIterator[KeeperStatus]:
        """Yield the status now and at each change; never ends by itself, reconnects for ever."""

    @abstractmethod
    async def publish(self, hosts: HostList) -> None:
        """Hand over the list. The keeper ignores a generation older than the one it has."""

    @abstractmethod
    async def open_shell(self, request: ShellRequest) -> Shell:
        """Start a shell that outlives this server."""

    @abstractmethod
    def attach_argv(self, shell_id: str) -> list[str]:
        """Return the command that shows a shell in a terminal."""

    @abstractmethod
    async def shell_output(self, shell_id: str) -> str:
        """Return the bounded output of a shell."""

    @abstractmethod
    async def close_shell(self, shell_id: str) -> None:
        """End a shell and what runs in it."""

    @abstractmethod
    async def start_run(self, argv: tuple[str, ...], request: ShellRequest) -> Run:
        """Start a command without a terminal, by explicit action of the person."""

    @abstractmethod
    async def stop_run(self, run_id: str, grace_seconds: float) -> None:
        """TERM, grace, KILL; returns when it is asked for, the status shows when it ended."""

    @abstractmethod
    async def run_log(self, run_id: str, max_bytes: int) -> str:
        """Return the end of a run's output."""

    @abstractmethod
    async def set_rules(self, rules: ReleaseRules) -> None:
        """Replace the release rules; the keeper keeps them on disk."""

    @abstractmethod
    async def answer_offer(self, run_id: str, choice: str) -> None:
        """Answer the release offer of an ended run: keep or release."""

    @abstractmethod
    async def preflight(self, request: ShellRequest, program: str) -> dict[str, str]:
        """Resolve `program` and `python` as the shell would; keys program, python, error."""


class Engine(ABC):
    """Where containers come from."""

    name: str
    title: str
    #: Seconds without run and terminal after which a keeper gives its cluster back, unless the
    #: administrator says it for all engines. None: never.
    idle_seconds: float | None = None

    @abstractmethod
    async def start(self) -> None:
        """Connect; returns at once, the first snapshot follows from `watch`."""

    @abstractmethod
    async def stop(self) -> None:
        """Let go of everything in this process; deletes nothing. Never raises, at most 5 s."""

    async def introduce(self, server: Mapping[str, Any]) -> None:  # noqa: B027 - not every engine has to know
        """Take note of how this server is reached (pid, start, socket, url) for the keepers."""

    @abstractmethod
    async def options(self) -> EngineOptions:
        """What the create form may offer now."""

    @abstractmethod
    def watch(self) -> AsyncIterator[EngineSnapshot]:
        """Yield a full snapshot now and after each change; never gives up."""

    @abstractmethod
    async def create(self, spec: ClusterSpec, *, operation: str = "") -> str:
        """Create a cluster and its keeper, return its id; same `operation`, same id.

        Raises
        ------
        LimitReached
            When not even the launcher can be placed; a part of the workers is not an error.
        Conflict
            When the owner has a cluster of this name.
        """

    @abstractmethod
    async def configure(self, cluster_id: str, settings: Settings) -> None:
        """Store new settings."""

    @abstractmethod
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
        """Make `target` the target; Conflict when it is not `expected` now.

        `victims` (uids) are detached and marked draining in the same step, never deleted here.
        """

    @abstractmethod
    async def commit_hosts(self, cluster_id: str, hosts: HostList) -> None:
        """Agree on the next list: Conflict unless its generation is the stored one plus one."""

    @abstractmethod
    async def extend_drain(self, cluster_id: str, uid: str, until: float | None) -> None:
        """Wait longer for a leaver; None takes it back as a member, and the target grows."""

    @abstractmethod
    async def remove(self, cluster_id: str, uid: str, *, note: str = "") -> None:
        """Delete a draining container. Gone already is success."""

    @abstractmethod
    async def release(self, cluster_id: str) -> None:
        """Give everything back: runs, containers, keeper, last the files. Idempotent."""

    @abstractmethod
    async def keeper(self, cluster_id: str) -> KeeperChannel:
        """Return the channel to this cluster's keeper, starting the keeper again where it died."""

    @abstractmethod
    async def log(self, cluster_id: str, uid: str, max_bytes: int) -> str:
        """Return the end of a container's output."""

    @abstractmethod
    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        """Measure use now."""

    @abstractmethod
    async def refresh(self) -> None:
        """Read the world again from scratch; the person pressed refresh."""
