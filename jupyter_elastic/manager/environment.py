"""The Python environment and the variables that a training gets."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Protocol

from jupyter_core.utils import ensure_async

from ..errors import BadInput
from ..models import KernelOption

MAX_NAMES = 50
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
# Tokens of Jupyter and hubs, and what would change which code runs: never handed on, not even when
# asked for.
_REFUSED = re.compile(
    r"(?:JUPYTER.*|JPY_.*|CONFIGPROXY.*|LD_.*|DYLD_.*|PYTHON(?:PATH|HOME|STARTUP|EXECUTABLE)|"
    r"_|PWD|OLDPWD|SHLVL|TERM|PATH|HOME|SHELL|USER|LOGNAME|IFS|ENV|BASH_ENV|BASH_FUNC.*|ZDOTDIR|PROMPT_COMMAND|PS\d|"
    r"CUDA_VISIBLE_DEVICES|KUBERNETES_.*|KUBECONFIG|SSH_.*)\Z",
    re.IGNORECASE,
)


class KernelSpecs(Protocol):
    """The part of a kernel spec manager that is used here."""

    def get_all_specs(self) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Return every kernel spec with its resources."""


def is_refused(name: str) -> bool:
    """Whether a variable is never handed to a training."""
    return _REFUSED.match(name) is not None


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Check the names of variables to pass.

    Raises
    ------
    BadInput
        A name that is no variable name, or one of those that are never passed.
    """
    checked: list[str] = []
    for name in names:
        if _NAME.match(name) is None:
            raise BadInput(
                f"{name[:60]!r} is not the name of a variable.",
                hint="Use letters, digits and underscores, e.g. HF_TOKEN.",
                detail={"field": "pass_env"},
            )
        if is_refused(name):
            raise BadInput(
                f"{name} is never passed to a training.",
                hint="Tokens of Jupyter and what decides which code runs stay in the server.",
                detail={"field": "pass_env"},
            )
        if name not in checked:
            checked.append(name)
    if len(checked) > MAX_NAMES:
        raise BadInput(
            f"{len(checked)} variables are more than the limit of {MAX_NAMES}.",
            hint="Pass fewer variables.",
            detail={"field": "pass_env", "limit": MAX_NAMES},
        )
    return tuple(checked)


def passable(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that exist and may be passed."""
    names = (name for name in environment if _NAME.match(name) and not is_refused(name))
    return tuple(sorted(names))


def values(names: Iterable[str], environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the values of `names` as they are now; one that does not exist is left out."""
    return tuple(
        (name, environment[name]) for name in names if name in environment and not is_refused(name)
    )


def _option(name: str, spec: Mapping[str, Any]) -> KernelOption | None:
    argv = spec.get("argv") or []
    if str(spec.get("language", "")).lower() != "python" or not argv:
        return None
    python = str(argv[0])
    if not os.path.isabs(python):
        # jupyter_client starts a bare "python" as the server's own.
        if not re.match(r"python[\d.]*\Z", python):
            return None
        python = sys.executable
    return KernelOption(name, str(spec.get("display_name") or name), python)


class Environments:
    """The Python environments that Jupyter knows as kernels."""

    def __init__(self, specs: KernelSpecs | None) -> None:
        self._specs = specs

    async def all(self) -> tuple[KernelOption, ...]:
        """Return them by name."""
        if self._specs is None:
            return ()
        found = await ensure_async(self._specs.get_all_specs())
        options = (_option(name, entry.get("spec", {})) for name, entry in sorted(found.items()))
        return tuple(option for option in options if option is not None)

    async def default(self, program: str) -> str | None:
        """Return the environment that has `program` beside its Python, else None."""
        for option in await self.all():
            if os.access(os.path.join(os.path.dirname(option.python), program), os.X_OK):
                return option.name
        return None

    async def folder(self, name: str | None) -> str | None:
        """Return the folder of an environment's Python; None for no choice.

        Raises
        ------
        BadInput
            For a name that is not a Python kernel of this server.
        """
        if name is None:
            return None
        options = await self.all()
        for option in options:
            if option.name == name:
                return os.path.dirname(option.python)
        raise BadInput(
            f"There is no Python kernel {name[:60]!r} on this server.",
            hint="Choose one of: "
            + (", ".join(item.name for item in options) or "none found")
            + ".",
            detail={"field": "kernelspec", "kernels": [item.name for item in options]},
        )
