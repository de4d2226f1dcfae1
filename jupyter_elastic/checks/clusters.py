"""Whether each cluster of this machine has its keeper, and what dead processes left behind."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..ancestry import alive
from ..discovery import living_servers, read_json
from ..keeper.paths import UnsafeFolder, check_private, runtime_dir, state_dir
from .check import Check

_NOT_CLUSTERS = ("servers",)


def checks() -> list[Check]:
    """Check folders, servers and keepers of this user on this machine."""
    runtime, state = Path(runtime_dir()), Path(state_dir())
    folder = runtime_folder(runtime)
    if folder.ok is False:
        return [folder]  # nothing in a folder that others can write is worth reading
    return [folder, servers(runtime), *keepers(runtime, state), *leftovers(runtime, state)]


def runtime_folder(runtime: Path) -> Check:
    """Check that nobody else can reach the sockets."""
    name = "runtime folder"
    try:
        check_private(str(runtime))
    except FileNotFoundError:
        return Check(name, True, f"{runtime} does not exist yet, the first server makes it")
    except UnsafeFolder as error:
        return Check(name, False, str(error), _fix_folder(runtime))
    except OSError as error:
        return Check(name, False, f"{runtime}: {error.strerror}", _fix_folder(runtime))
    return Check(name, True, f"{runtime}, for this user only")


def _fix_folder(runtime: Path) -> str:
    facts = None if runtime.is_symlink() or not runtime.is_dir() else runtime.stat()
    if facts is not None and facts.st_uid == os.geteuid():
        return f"chmod 700 {shlex.quote(str(runtime))}"
    return "Before Jupyter starts: export JUPYTER_ELASTIC_RUNTIME_DIR=$(mktemp -d)"


def servers(runtime: Path) -> Check:
    """Say which servers are alive."""
    found = [str(server) for server in living_servers(runtime)]
    if not found:
        text = "no Jupyter server with this extension is running; clusters go on without"
        return Check("servers", None, text, "jupyter lab")
    return Check("servers", True, ", ".join(found))


def keepers(runtime: Path, state: Path) -> list[Check]:
    """Check the keeper of each cluster."""
    found = []
    for file in sorted((state / "clusters").glob("*.json")):
        name = f"keeper of {file.stem}"
        card = read_json(runtime / file.stem / "keeper.json")
        if alive(card.get("pid"), card.get("start")):
            found.append(Check(name, True, f"process {card['pid']}"))
        else:
            text = "not running: its host file stays as it is"
            fix = "Open JupyterLab (jupyter lab): the server starts the keeper again"
            found.append(Check(name, False, text, fix))
    return found


def leftovers(runtime: Path, state: Path) -> list[Check]:
    """Find what dead servers and released clusters left."""
    stale = [
        file
        for file in sorted((runtime / "servers").glob("*.json"))
        if not alive((card := read_json(file)).get("pid"), card.get("start"))
    ]
    for folder in sorted(runtime.glob("*")):
        if folder.name in _NOT_CLUSTERS or not (folder / "config.json").is_file():
            continue
        card = read_json(folder / "keeper.json")
        known = (state / "clusters" / f"{folder.name}.json").exists()
        if not known and not alive(card.get("pid"), card.get("start")):
            stale.append(folder)
    if not stale:
        return [Check("leftovers", True, "none")]
    words = " ".join(shlex.quote(str(path)) for path in stale)
    text = f"{len(stale)} left by processes that are gone"
    return [Check("leftovers", None, text, f"rm -r {words}")]
