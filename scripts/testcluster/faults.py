"""The one error of the test cluster."""

from __future__ import annotations


class ClusterError(Exception):
    """The test cluster cannot be built, started or used; the text says what to do."""
