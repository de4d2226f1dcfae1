"""Runs in a restored terminal until the server knows what it shows: ``terminal_wait.py ANSWER``.

The answer is a file that appears: the command to become, or one line to say. Standard library only,
and nothing of this package: it runs as a script, isolated.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.05
NOBODY = "The server does not say what this terminal shows. Open it again from the Elastic panel."


def answer(path: str, patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
    """Return what the file says, and remove it; what to say instead if it does not come."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            with open(path, encoding="utf-8") as handle:
                told: dict[str, Any] = json.load(handle)
        except FileNotFoundError:
            time.sleep(LOOK_SECONDS)
            continue
        os.unlink(path)
        return told
    return {"text": NOBODY}


def main(path: str) -> None:
    """Become the command, or say the line and wait for Enter, so that it can be read."""
    told = answer(path)
    if told.get("argv"):
        os.execv(told["argv"][0], told["argv"])  # noqa: S606
    sys.stdout.write(f"{told.get('text', NOBODY)}\n")
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        input("Press Enter to close this terminal.")


if __name__ == "__main__":
    main(sys.argv[1])
