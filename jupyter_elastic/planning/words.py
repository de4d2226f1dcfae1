"""Sentences about changes, in the words of the panel."""

from __future__ import annotations

from collections.abc import Sequence

from ..models import Container
from .limits import RunBounds


def count(number: int, noun: str) -> str:
    """Return ``1 container`` or ``2 containers``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def growth_text(add: int, gpus: int, starts_now: int, waits: int) -> str:
    """Say what is added and what starts at once."""
    words = f"+{count(add, 'container')}"
    words += f" = {count(gpus, 'GPU')}." if gpus else "."
    if waits:
        words += f" {starts_now} start now, {waits} wait." if starts_now else f" {waits} wait."
    else:
        words += f" {starts_now} start{'s' if starts_now == 1 else ''} now."
    return words


def shrink_text(victims: Sequence[Container], gpus: int) -> str:
    """Say who leaves and what goes back."""
    names = ", ".join(item.name for item in victims[:4])
    if len(victims) > 4:
        names += f" and {len(victims) - 4} more"
    words = f"-{count(len(victims), 'container')}"
    if gpus:
        words += f" = {count(gpus, 'GPU')} {'goes' if gpus == 1 else 'go'} back"
    return f"{words}: {names}."


def run_growth_text(bounds: RunBounds) -> str:
    """Say what growing means for the live run."""
    if bounds.run is None:
        return ""
    if not bounds.elastic:
        return f"The live run keeps its {bounds.minimum}; the next launch uses all."
    if bounds.maximum is None:
        return "The live run takes them in."
    return f"The live run takes up to {bounds.maximum}."


def run_shrink_text(target: int, bounds: RunBounds, ends_run: bool) -> str:
    """Say what shrinking means for the live run."""
    if bounds.run is None:
        return ""
    if ends_run and bounds.elastic:
        return f"The live run needs {bounds.minimum}: it stops training until it has them again."
    if ends_run:
        return "This ends the live run."
    if bounds.elastic:
        return f"The live run goes on with {target}."
    return "The live run does not use them."
