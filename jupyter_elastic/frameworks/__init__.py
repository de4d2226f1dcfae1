"""Training frameworks: the command of each one and what it does when the cluster changes."""

from __future__ import annotations

from .base import CommandContext, Framework
from .registry import ENTRY_POINT_GROUP, get_framework, known_frameworks

__all__ = [
    "ENTRY_POINT_GROUP",
    "CommandContext",
    "Framework",
    "get_framework",
    "known_frameworks",
]
