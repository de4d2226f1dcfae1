"""What is known of the pod that this very server runs in, and what that says of clusters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models import Reason
from . import labels
from .fields import mapping, mappings, text
from .notebook import Notebook

RESTARTED = Reason(
    "restarted",
    "Jupyter's own pod was started again since: what ran in the launcher is gone. "
    "Release the cluster, and create it again.",
)
GIVEN_BACK = Reason("given_back", "It was given back by its own rules.")


@dataclass(frozen=True)
class Site:
    """Jupyter's own pod as a launcher.

    ``note`` says why a cluster gets a launcher of its own where nobody asked for one; ``held`` are
    the clusters whose keeper has its files here.
    """

    notebook: Notebook | None = None
    boot: str = ""
    note: str = ""
    held: frozenset[str] = field(default_factory=frozenset)

    def modes(self, offered: Iterable[str]) -> tuple[tuple[Any, ...], str]:
        """Return the launcher modes, the default first, and why it is not `here`.

        Parameters
        ----------
        offered
            Images for training; empty: any.
        """
        if self.notebook is None:
            return ("pod",), self.note
        images = tuple(offered)
        if images and self.notebook.image not in images:
            why = "A launcher of its own: Jupyter's own image is not among those for training."
            return ("pod", "here"), why
        return ("here", "pod"), ""


def is_here(anchor: Mapping[str, Any] | None) -> bool:
    """Whether a cluster's launcher is a Jupyter pod: only such an anchor names its boot."""
    return bool(mapping(anchor, "metadata", "annotations").get(labels.BOOT))


def host_folder(anchor: Mapping[str, Any] | None) -> str:
    """Return the folder of the host file that was taken in Jupyter's pod, empty if none was."""
    return text(mapping(anchor, "metadata", "annotations").get(labels.HOST_FOLDER))


def owner_of(anchor: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the reference to the Jupyter pod that an anchor belongs to."""
    return next(iter(mappings(mapping(anchor, "metadata").get("ownerReferences"))), {})


def ended(cluster: str, anchor: Mapping[str, Any] | None, site: Site) -> Reason | None:
    """Return why a cluster whose launcher is this pod is over for good, or None."""
    if site.notebook is None or not is_here(anchor):
        return None
    if text(owner_of(anchor).get("uid")) != site.notebook.uid:
        return None
    if mapping(anchor, "metadata", "annotations").get(labels.BOOT) != site.boot:
        return RESTARTED
    return None if cluster in site.held else GIVEN_BACK
