"""How long our imports take, and that they bring nothing heavy."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from .measure import Row, spread

RUNS = 15
TIMED = "import time; a = time.perf_counter(); {body}; print(1000 * (time.perf_counter() - a))"
LOAD_EXT = (
    "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
    "import time;"
    "a = time.perf_counter(); s.run_line_magic('load_ext', 'jupyter_elastic');"
    "print(1000 * (time.perf_counter() - a))"
)


def _milliseconds(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def _loaded(names: tuple[str, ...]) -> list[str]:
    wanted = f"[n for n in {names!r} if n in sys.modules]"
    code = f"import json, sys, jupyter_elastic; print(json.dumps({wanted}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def rows() -> list[Row]:
    """Measure the import and ``%load_ext``."""
    heavy = _loaded(("tornado", "kubernetes", "IPython", "jupyter_server"))
    ours, loads = [], []
    for _ in range(RUNS):
        ours.append(_milliseconds(TIMED.format(body="import jupyter_elastic")))
        loads.append(_milliseconds(LOAD_EXT))
    return [
        Row("`import jupyter_elastic`", statistics.median(ours), "ms", 50, spread(ours)),
        Row("heavy packages it imports", float(len(heavy)), "packages", 0, ", ".join(heavy)),
        Row("`%load_ext jupyter_elastic`", statistics.median(loads), "ms", 300, spread(loads)),
    ]
