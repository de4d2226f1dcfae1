"""The environment of a launch shell: an allow-list of the keeper's own, and what is passed."""

from __future__ import annotations

import fnmatch
import os
import pwd
import re
from typing import Any, Iterable, Mapping

DEFAULT_ALLOWED = (
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR",
    "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "NVIDIA_*", "NCCL_*", "HOROVOD_*", "OMP_*",
    "MKL_*", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
    "NO_PROXY",
)  # fmt: skip
#: Where our own programs find each other.
OWN = ("JUPYTER_ELASTIC_RUNTIME_DIR", "JUPYTER_ELASTIC_STATE_DIR")
KEEPER, SHELL, RUN = "JUPYTER_ELASTIC_KEEPER", "JUPYTER_ELASTIC_SHELL", "JUPYTER_ELASTIC_RUN"
PLACE, PROGRAM = "JUPYTER_ELASTIC_PLACE", "JUPYTER_ELASTIC_PROGRAM"
PYTHON_FOLDER, BASE_PATH = "JUPYTER_ELASTIC_PYTHON_FOLDER", "JUPYTER_ELASTIC_BASE_PATH"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_BYTES = 128 * 1024

# A hub's or a server's own names never get in, whatever the allow-list says.
_NEVER = re.compile(
    r"JUPYTERHUB_|JPY_|JUPYTER_(?!ELASTIC_)|JUPYTER$|BASH_ENV$|BASH_FUNC_|ENV$|ZDOTDIR$"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class BadEnvironment(ValueError):
    """A name or value that cannot be passed."""


def allowed(names: Iterable[str], source: Mapping[str, str]) -> dict[str, str]:
    """Return what of `source` may come in; `names` may hold ``*``."""
    patterns = [re.compile(fnmatch.translate(name)) for name in (*names, *OWN)]
    return {
        name: value
        for name, value in source.items()
        if any(pattern.match(name) for pattern in patterns)
        and (name in OWN or not _NEVER.match(name))
    }


def check_passed(value: Any) -> dict[str, str]:
    """Return the variables that a request passes.

    Raises
    ------
    BadEnvironment
        A name is not one or belongs to a hub or server, a value is not a text, or all together
        are too long.
    """
    if not isinstance(value, dict):
        raise BadEnvironment("env must be an object of texts.")
    total = 0
    for name, text in value.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadEnvironment(f"env: {name!r:.80} is not the name of a variable.")
        if _NEVER.match(name):
            raise BadEnvironment(f"env: {name} belongs to Jupyter or the shell and is not passed.")
        if not isinstance(text, str) or "\0" in text:
            raise BadEnvironment(f"env: the value of {name} must be a text without NUL.")
        total += len(name) + len(os.fsencode(text)) + 2
    if total > MAX_BYTES:
        raise BadEnvironment(f"env: {total} bytes, the limit is {MAX_BYTES}.")
    return dict(value)


def launch(
    folder: str,
    names: Iterable[str],
    passed: Mapping[str, str],
    python_folder: str | None,
    shell: str,
) -> dict[str, str]:
    """Return the environment of one launch shell.

    Parameters
    ----------
    folder
        The keeper's own folder.
    names
        The allow-list.
    shell
        Id of the shell.
    """
    found = allowed(names or DEFAULT_ALLOWED, os.environ)
    account = account_of_user()
    found.setdefault("HOME", account[0])
    found.setdefault("USER", account[2])
    found.setdefault("LOGNAME", found["USER"])
    found.setdefault("PATH", DEFAULT_PATH)
    found.setdefault("LANG", "C.UTF-8")
    found.update(passed)
    # The terminal on the other end is the browser's, not the one Jupyter was started from.
    found.update({"TERM": "xterm-256color", KEEPER: folder, SHELL: shell, BASE_PATH: found["PATH"]})
    if python_folder:
        found[PYTHON_FOLDER] = python_folder
    return found


def account_of_user() -> tuple[str, str, str]:
    """Return home folder, shell and name of this user; a uid without an account has defaults."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return os.environ.get("HOME", "/"), "", str(os.getuid())
    return entry.pw_dir, entry.pw_shell, entry.pw_name
