"""What a person asks for: the specification of a cluster, and the settings of a living one.

Part of the wire format, see :mod:`jupyter_elastic.models`, which names all of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import BadInput

EngineName = str
LauncherMode = Literal["here", "pod"]
ReleasePolicy = Literal["ask", "release", "keep"]
MOUNT_FOLDER = "/mnt"  # where a claim is that was given by its name alone


@dataclass(frozen=True)
class Settings:
    """What a person may change on a living cluster (PATCH)."""

    script: str | None = None  # absolute path, or relative to the server's root folder
    arguments: tuple[str, ...] = ()
    kernelspec: str | None = None  # name of a Jupyter kernelspec whose Python runs the training
    min_size: int = 1
    max_size: int | None = None  # None: the engine's capacity
    pass_env: tuple[str, ...] = ()  # names only, values stay in the server's environment
    release_policy: ReleasePolicy = "ask"
    framework: str = "horovod"  # horovod <-> horovod-elastic may be switched on a living cluster


@dataclass(frozen=True)
class Mount:
    """A claim on storage, and where every container sees it."""

    claim: str
    path: str
    read_only: bool = False
    sub_path: str = ""  # folder of the claim that is shown; all of it when empty


@dataclass(frozen=True)
class Toleration:
    """A taint of nodes that the containers put up with."""

    key: str = ""  # empty, with operator Exists: every key
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""  # empty: all of them
    seconds: int | None = None  # of NoExecute: how long


@dataclass(frozen=True)
class ClusterSpec:
    """What was asked for at creation. Memory sizes in bytes."""

    name: str
    framework: str
    size: int
    engine: EngineName
    launcher_mode: LauncherMode = "here"
    gpus_per_container: int = 0
    gpu_kind: str | None = None
    image: str | None = None
    shared_memory: int | None = None
    storage: tuple[Mount, ...] = ()
    owner: str = ""
    settings: Settings = field(default_factory=Settings)
    cpu: float | None = None  # cores of each container
    memory: int | None = None  # of each container, shared memory included
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # name, value
    secret_env: tuple[tuple[str, str, str], ...] = ()  # name, Secret, key in it
    node_selector: tuple[tuple[str, str], ...] = ()  # label, value
    tolerations: tuple[Toleration, ...] = ()
    preset: str | None = None  # name of the preset that the form was filled from

    @property
    def slots(self) -> int:
        """Ranks per container."""
        return max(1, self.gpus_per_container)


def read_mounts(
    values: Iterable[str | Mapping[str, Any]], field: str = "storage"
) -> tuple[Mount, ...]:
    """Return the mounts of a request: each the name of a claim, or an object with its fields.

    Parameters
    ----------
    values
        A name alone is mounted at ``/mnt/<name>``.
    field
        Where they come from, for the error.

    Raises
    ------
    BadInput
        One is neither, or lacks claim or path.
    """
    mounts = []
    for number, value in enumerate(values):
        if isinstance(value, str):
            mounts.append(Mount(value, f"{MOUNT_FOLDER}/{value}"))
            continue
        try:
            mounts.append(_mount(value))
        except (KeyError, TypeError, ValueError):
            raise BadInput(
                f"{field}[{number}] must be the name of a claim, or an object with claim and path.",
                hint="Optional beside them: read_only and sub_path.",
                detail={"field": f"{field}[{number}]"},
            ) from None
    return tuple(mounts)


def _mount(value: Mapping[str, Any]) -> Mount:
    mount = Mount(**{"path": f"{MOUNT_FOLDER}/{value['claim']}", **value})
    texts = (mount.claim, mount.path, mount.sub_path)
    if not all(isinstance(item, str) for item in texts) or not isinstance(mount.read_only, bool):
        raise TypeError
    return mount
