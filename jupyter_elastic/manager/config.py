"""What the administrator decided, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..models import ReleasePolicy


@dataclass(frozen=True)
class ManagerConfig:
    """Values of the traits of the same names. Times in seconds, sizes in containers."""

    engines: tuple[str, ...] = ("local",)
    default_engine: str = "local"
    max_size: int | None = None
    local_places: int | None = None
    form_min_size: int = 2
    allowed_frameworks: tuple[str, ...] | None = None
    allowed_images: tuple[str, ...] | None = None
    base_folder: str = ""
    shared_folder: str = "/etc/mpi"
    drain_grace: float = 30.0
    drain_grace_with_run: float = 600.0
    drain_answer: float = 60.0
    join_batch: float = 0.0
    release_policy: ReleasePolicy = "ask"
    release_after: float = 60.0
    idle_release: float | None = None
    max_lifetime: float | None = None
    keep_alive_while_training: bool = True
    max_clusters_per_user: int | None = None
    events_per_second: float = 4.0
    fake_scenario: dict[str, Any] = field(default_factory=dict)
    kubernetes: dict[str, Any] = field(default_factory=dict)  # names without `kubernetes_`
    keeper_command: tuple[str, ...] = ()
    root_folder: str = "."
    owner: str = ""
    version: str = ""
