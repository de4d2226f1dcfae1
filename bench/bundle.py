"""How large the front end is, compressed as a server sends it."""

from __future__ import annotations

import gzip
from pathlib import Path

from .measure import Row

STATIC = Path(__file__).resolve().parents[1] / "jupyter_elastic" / "labextension" / "static"


def rows() -> list[Row]:
    """Add up every script of the built extension."""
    scripts = sorted(STATIC.glob("*.js"))
    if not scripts:
        raise SystemExit(f"no built front end in {STATIC}; run `make build`")
    size = sum(len(gzip.compress(script.read_bytes())) for script in scripts)
    return [Row("front end bundle, gzip", size / 1000, "kB", 60, f"{len(scripts)} files")]
