"""Whether the two halves of the extension, and what they stand on, are installed and enabled."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

from .check import Check

LAB_FLOOR = (4, 6, 2)
SERVER_FLOOR = (2, 21)
_LAB_NAME = "jupyter-elastic"
_PIP = f"{sys.executable} -m pip install"


def checks() -> list[Check]:
    """Check versions, both halves, and the terminals."""
    return [
        _version("jupyterlab", LAB_FLOOR),
        _version("jupyter_server", SERVER_FLOOR),
        server_extension(),
        lab_extension(),
        terminals(),
    ]


def version_tuple(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _version(package: str, floor: tuple[int, ...]) -> Check:
    wanted = ".".join(str(part) for part in floor)
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        text = f"not installed in {sys.prefix}; fine when this is only a kernel's environment"
        return Check(package, None, text)
    if version_tuple(found) >= floor:
        return Check(package, True, f"{found}, at least {wanted}")
    text = f"{found} is older than {wanted}, the first with all known security fixes"
    return Check(package, False, text, f"{_PIP} '{package}>={wanted}'")


def server_extension() -> Check:
    """Check that a configuration file enables the server half, and none disables it."""
    name = "server extension"
    folders = _jupyter_folders("jupyter_config_path")
    if folders is None:
        return Check(name, None, f"no Jupyter in {sys.prefix}")
    enabled: bool | None = None
    source = Path()
    # The first folder is the user's and wins over the ones after it.
    for folder in reversed(folders):
        files = sorted((folder / "jupyter_server_config.d").glob("*.json"))
        for file in (*files, folder / "jupyter_server_config.json"):
            section = _json(file).get("ServerApp")
            known = section.get("jpserver_extensions") if isinstance(section, dict) else None
            if isinstance(known, dict) and "jupyter_elastic" in known:
                enabled, source = bool(known["jupyter_elastic"]), file
    if enabled:
        return Check(name, True, f"enabled in {source}")
    said = f"disabled in {source}" if enabled is False else "no configuration file enables it"
    return Check(name, False, said, "jupyter server extension enable jupyter_elastic")


def lab_extension() -> Check:
    """Check that JupyterLab finds the panel, and that it is not disabled."""
    name = "JupyterLab extension"
    folders = _jupyter_folders("jupyter_path")
    if folders is None:
        return Check(name, None, f"no Jupyter in {sys.prefix}")
    found = next(
        (
            file
            for folder in folders
            if (file := folder / "labextensions" / _LAB_NAME / "package.json").is_file()
        ),
        None,
    )
    if found is None:
        return Check(name, False, "not installed", f"{_PIP} --force-reinstall jupyter_elastic")
    for folder in _jupyter_folders("jupyter_config_path") or []:
        page = folder / "labconfig" / "page_config.json"
        disabled = _json(page).get("disabledExtensions")
        if isinstance(disabled, dict) and disabled.get(_LAB_NAME):
            fix = f"jupyter labextension enable {_LAB_NAME}"
            return Check(name, False, f"disabled in {page}", fix)
    version = _json(found).get("version", "unknown version")
    return Check(name, True, f"{version} in {found.parent}")


def terminals() -> Check:
    """Check that Jupyter can open terminals; without them the command can only be copied."""
    name = "terminals"
    if util.find_spec("jupyter_server") is None:
        return Check(name, None, f"no Jupyter server in {sys.prefix}")
    needed = ("jupyter_server_terminals", "terminado", "prometheus_client")
    missing = [package for package in needed if util.find_spec(package) is None]
    if missing:
        names = " ".join(missing)
        return Check(name, False, f"missing: {', '.join(missing)}", f"{_PIP} {names}")
    return Check(name, True, "available")


def _jupyter_folders(function: str) -> list[Path] | None:
    try:
        from jupyter_core import paths
    except ImportError:
        return None
    return [Path(item) for item in getattr(paths, function)()]


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
