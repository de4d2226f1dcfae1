"""What is right and wrong with this installation and machine; works without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .checks import clusters, environments, installed, kubernetes, machine
from .checks.check import Check
from .checks.kubernetes import Target
from .keeper.paths import runtime_dir

__all__ = ["Check", "Target", "run_checks", "run_checks_async"]

SHARED_FOLDER = "/etc/mpi"


def run_checks(
    *,
    base_folder: str = "",
    shared_folder: str = SHARED_FOLDER,
    target: Target = Target(),  # noqa: B008 - frozen
) -> list[Check]:
    """Look at everything that a cluster needs, here and on Kubernetes. Takes up to some seconds.

    Parameters
    ----------
    base_folder
        Where clusters keep their host files when `shared_folder` is taken or not writable;
        empty: the machine-local folder of this user.
    shared_folder
        The folder that belongs to one cluster at a time.
    target
        Which Kubernetes to look at.

    Returns
    -------
    list of Check
        Each one that failed says in `fix` what to do. Never raises.
    """
    themes: tuple[tuple[str, Callable[[], list[Check]]], ...] = (
        ("installation", installed.checks),
        ("machine", lambda: machine.checks(base_folder or runtime_dir(), shared_folder)),
        ("kernel environments", environments.checks),
        ("clusters", clusters.checks),
        ("Kubernetes", lambda: kubernetes.checks(target)),
    )
    found: list[Check] = []
    for name, checks in themes:
        try:
            found.extend(checks())
        except Exception as error:
            text = f"could not be checked: {type(error).__name__}: {error}"
            found.append(Check(name, False, text, "Report this line."))
    return found


async def run_checks_async(
    *,
    base_folder: str = "",
    shared_folder: str = SHARED_FOLDER,
    target: Target = Target(),  # noqa: B008 - frozen
) -> list[Check]:
    """Do :func:`run_checks` in a thread, for the server's event loop."""
    return await asyncio.to_thread(
        run_checks, base_folder=base_folder, shared_folder=shared_folder, target=target
    )
