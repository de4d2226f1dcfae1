"""``python -m bench [PART ...]``: measures, prints the table, writes ``RESULTS.md``."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date
from pathlib import Path

from .measure import Row, table

PARTS = ("imports", "bundle", "memory", "panel", "latency", "pods")


def main(wanted: list[str]) -> int:
    """Run the parts; exit 1 when a promise is not kept."""
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for part in wanted or PARTS:
        print(f"measuring {part} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f".{part}", __package__).rows()
    text = table(rows)
    print(text)
    if not wanted:
        head = (
            "# Measured\n\nMade by `make bench`. "
            f"{date.today().isoformat()}, {os.cpu_count()} cores, "
            f"{platform.system()} {platform.machine()}, "
            f"Python {platform.python_version()}.\n\n"
        )
        (Path(__file__).parent / "RESULTS.md").write_text(head + text + "\n")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
