"""Elastic training clusters in JupyterLab: create, launch and scale training while it runs.

Importing this package imports neither tornado nor kubernetes nor IPython: a kernel's environment
needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    __version__: str

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-elastic"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from .app import ElasticExtensionApp

    return [{"module": "jupyter_elastic", "app": ElasticExtensionApp}]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the ``%elastic_*`` magics; called by ``%load_ext jupyter_elastic``."""
    from .magics import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics back; called by ``%unload_ext jupyter_elastic``."""
    from .magics import unload_ipython_extension as unload

    unload(shell)


def __getattr__(name: str) -> str:
    # Looked up when asked for: the metadata of a large environment takes longer to read than all of
    # this package.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from ._version import __version__ as found  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # a source tree that was never built
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("jupyter_elastic")
        except PackageNotFoundError:
            found = "0.0.0"
    return str(found)
