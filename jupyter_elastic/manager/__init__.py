"""One manager per server: clusters, locks, revisions, and what is published about them."""

from __future__ import annotations

from .config import ManagerConfig
from .service import ElasticService

__all__ = ["ElasticService", "ManagerConfig"]
