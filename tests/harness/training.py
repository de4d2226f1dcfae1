"""The environment that trains, and what its output says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
EXAMPLES = REPO / "examples"


@lru_cache(maxsize=1)
def training_env() -> Path:
    """Return the folder of the environment with Horovod, building it where the cache has none.

    ``JUPYTER_ELASTIC_TRAINING_ENV`` names another one.
    """
    given = os.environ.get("JUPYTER_ELASTIC_TRAINING_ENV")
    if given:
        return Path(given)
    command = [sys.executable, str(REPO / "scripts" / "training_env.py")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip().splitlines()[-1])


def sizes_seen(output: str) -> list[tuple[int, int, int]]:
    """Return (samples, rank, size) of each line like ``5000 samples on rank 0 of 2``."""
    found = re.findall(r"(\d+) samples on rank (\d+) of (\d+)", output)
    return [(int(samples), int(rank), int(size)) for samples, rank, size in found]
