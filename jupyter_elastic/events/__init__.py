"""The event that says a cluster changed."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

SCHEMA_ID = "https://jupyter-elastic/cluster/v1"
SCHEMA_FILE = Path(__file__).with_name("cluster.yaml")
_log = logging.getLogger(__name__)


def register(event_logger: Any) -> None:
    """Register the schema while the extension loads: a subscriber hears only what it finds."""
    if SCHEMA_ID not in event_logger.schemas:
        event_logger.register_event_schema(SCHEMA_FILE)


def emit(event_logger: Any, cluster: str, revision: str) -> None:
    """Send one event: ids only, because every subscriber of the server gets it."""
    try:
        event_logger.emit(schema_id=SCHEMA_ID, data={"cluster": cluster, "revision": revision})
    except Exception:
        # A listener that fails must not stop the manager; the panel's slow poll shows the change.
        _log.warning("An event could not be sent", exc_info=True)
