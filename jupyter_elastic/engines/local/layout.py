"""Where the files of this user on this machine are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...keeper import identity, paths


@dataclass(frozen=True)
class Layout:
    """The runtime folder (machine-local, private) and the state folder (durable, per machine)."""

    runtime: Path
    state: Path

    @classmethod
    def of_this_user(cls) -> Layout:
        """Return the folders that the environment names, else the defaults."""
        return cls(Path(paths.runtime_dir()), Path(paths.state_dir()))

    @property
    def clusters(self) -> Path:
        """Folder of the state files."""
        return self.state / "clusters"

    @property
    def lock(self) -> Path:
        """The lock of every writer of state."""
        return self.runtime / "lock"

    def cluster(self, cluster: str) -> Path:
        """Return the keeper's own folder of a cluster."""
        return self.runtime / cluster

    def prepare(self) -> None:
        """Make the runtime folder; refuses a link, somebody else's, and one open to others."""
        paths.ensure_private(str(self.runtime))

    @staticmethod
    def boot() -> str:
        """Return the identity of this boot of the machine or container."""
        return identity.boot_id()
