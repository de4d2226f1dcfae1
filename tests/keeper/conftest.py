"""A keeper for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .harness import Kept


@pytest.fixture
def stopped() -> Iterator[Kept]:
    """A keeper's folder, the keeper not started."""
    kept = Kept()
    try:
        yield kept
    finally:
        kept.close()


@pytest.fixture
def kept(stopped: Kept) -> Kept:
    """A keeper that serves two places."""
    stopped.start()
    stopped.hosts(1, 1, 2)
    return stopped
