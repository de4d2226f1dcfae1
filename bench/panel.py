"""From an event of the server to the picture of it, in a real browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .measure import Row, percentile, spread

REPO = Path(__file__).parents[1]
sys.path.insert(0, str(REPO / "scripts"))


def rows() -> list[Row]:
    """Run the browser's part and read what it wrote."""
    from stages import browser

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "taken.json"
        environment = {
            **os.environ,
            **browser("bench.json"),
            "ELASTIC_UI_KINDS": "bench",
            "ELASTIC_BENCH_OUT": str(out),
        }
        for command in (
            ["jlpm", "install", "--immutable"],
            ["jlpm", "playwright", "test", "--reporter=list"],
        ):
            subprocess.run(
                command, cwd=REPO / "ui-tests", env=environment, check=True, stdout=sys.stderr
            )
        taken: list[float] = json.loads(out.read_text())
    return [Row("event to repainted panel p95", percentile(taken, 95), "ms", 250, spread(taken))]
