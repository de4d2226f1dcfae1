"""REST routes below ``jupyter-elastic/``: one file per resource, no rules here."""

from __future__ import annotations

from .table import API, NothingHandler, routes

__all__ = ["API", "NothingHandler", "routes"]
