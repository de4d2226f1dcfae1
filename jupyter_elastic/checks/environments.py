"""Which kernels' environments can train. Looks at files only: importing Horovod takes seconds."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from .check import Check


def checks() -> list[Check]:
    """Check each Python kernelspec for ``horovodrun``."""
    specs = kernelspecs()
    found = [horovod(title, python) for title, python in specs]
    if any(item.ok for item in found):
        return found
    python = specs[0][1] if specs else sys.executable
    text = "no kernel's environment has horovodrun"
    fix = f"HOROVOD_WITH_GLOO=1 {python} -m pip install horovod"
    return [*found, Check("horovodrun", False, text, fix)]


def kernelspecs() -> list[tuple[str, str]]:
    """Return title and Python of each Python kernelspec, the first of each name winning."""
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return [("this environment", sys.executable)]
    specs: dict[str, tuple[str, str]] = {}
    for folder in jupyter_path("kernels"):
        for file in sorted(Path(folder).glob("*/kernel.json")):
            spec = _read(file)
            if spec is not None:
                specs.setdefault(file.parent.name.lower(), spec)
    return list(specs.values())


def _read(file: Path) -> tuple[str, str] | None:
    try:
        spec = json.loads(file.read_text(encoding="utf-8"))
        program, title = str(spec["argv"][0]), str(spec.get("display_name", file.parent.name))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    if str(spec.get("language", "")).lower() != "python":
        return None
    # Jupyter itself replaces a bare python by its own.
    if re.fullmatch(r"python(\d+(\.\d+)?)?", program):
        program = sys.executable
    return title, program


def horovod(title: str, python: str) -> Check:
    """Check one environment for ``horovodrun``, by its files and package metadata."""
    name = f"horovodrun for {title}"
    if not os.path.isabs(python) or not re.match(r"python", os.path.basename(python)):
        return Check(name, None, f"its kernel is started by {python}, which hides the environment")
    if not os.access(python, os.X_OK):
        text = f"{python} does not exist or cannot be run"
        return Check(name, None, text, "jupyter kernelspec list, then: jupyter kernelspec remove")
    folder = Path(python).parent
    program = folder / "horovodrun"
    if not os.access(program, os.X_OK):
        return Check(name, None, f"not in {folder}", f"{python} -m pip install horovod")
    version = _horovod_version(folder.parent)
    if not version:
        text = f"{program} is there, but the package horovod is not"
        return Check(name, None, text, f"{python} -m pip install --force-reinstall horovod")
    return Check(name, True, f"Horovod {version}, {program}")


def _horovod_version(prefix: Path) -> str:
    patterns = ("horovod-*.dist-info", "horovod-*.egg-info")
    for site in sorted(prefix.glob("lib/python3*/site-packages")):
        for pattern in patterns:
            for found in site.glob(pattern):
                return found.name.split("-")[1].replace(".dist", "").replace(".egg", "")
    return ""
