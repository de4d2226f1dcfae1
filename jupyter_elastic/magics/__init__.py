"""The notebook magics ``%elastic_*``; standard library and IPython only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

NAMES = ("create", "scale", "status", "hosts", "command", "release", "widget")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; what ``%load_ext jupyter_elastic`` does."""
    from .elastic import ElasticMagics

    shell.register_magics(ElasticMagics(shell))


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again."""
    for name in NAMES:
        shell.magics_manager.magics["line"].pop(f"elastic_{name}", None)
