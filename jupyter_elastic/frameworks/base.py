"""What a framework adapter is: a pure object, no input or output.

Adding one is one file and one line in :mod:`.registry`; another package adds its own with an entry
point of the group ``jupyter_elastic.frameworks`` that names an instance or a class without
arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..models import Change, HostEntry


@dataclass(frozen=True)
class CommandContext:
    """What a command is made of. Sizes count containers, launcher included."""

    cluster: str
    hosts: tuple[HostEntry, ...]  # the agreed list, launcher first
    slots: int  # ranks per container
    hostfile: str
    discovery_script: str
    script: str  # relative to the folder the command runs in
    arguments: tuple[str, ...] = ()
    min_size: int = 1
    max_size: int = 1

    @property
    def np(self) -> int:
        """Sum of the slots in the agreed list."""
        return sum(entry.slots for entry in self.hosts)

    @property
    def loopback(self) -> bool:
        """Whether every container is a place of this machine."""
        return all(
            entry.host.startswith("127.") or entry.host == "localhost" for entry in self.hosts
        )


class Framework(ABC):
    """One training framework."""

    name: str
    title: str
    program: str  # what the launch button is named after
    growth: Change
    shrink: Change
    elastic: bool = False
    #: Other names under which the program is started; the keeper records all of them.
    programs: tuple[str, ...] = ()
    #: Exit codes of a rank that left because the cluster shrank; never shown as failures.
    normal_exits: frozenset[int] = frozenset({0})
    #: How a container of this framework proves that it can take a rank.
    readiness: str = "ssh"

    @abstractmethod
    def command(self, context: CommandContext) -> tuple[str, ...]:
        """Return the command as a list of words.

        Raises
        ------
        BadInput
            When the context cannot make a command, e.g. an empty host list.
        """

    @abstractmethod
    def files(self, context: CommandContext) -> tuple[str, ...]:
        """Return the paths of our files that the command reads."""

    def valid_sizes(self, limit: int) -> tuple[int, ...] | None:
        """Return the sizes up to `limit` that can train, or None when every size can."""
        return None

    def environment(self, context: CommandContext) -> dict[str, str]:
        """Return variables that the launch shell needs."""
        return {}

    def preflight_checks(self) -> tuple[str, ...]:
        """Return programs that must be found in the launch shell."""
        return (self.program, "python")

    def script_warning(self, source: str) -> str | None:
        """Return a warning about the script's text, or None."""
        return None
