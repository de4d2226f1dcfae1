"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes
    ----------
    ok
        None: not known, or not needed here.
    text
        What was found.
    fix
        What to do, with the exact command; empty when there is nothing to do.
    """

    name: str
    ok: bool | None
    text: str
    fix: str = ""
