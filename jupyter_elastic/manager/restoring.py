"""Terminals that a page asks for by a name of ours, as it does when it is loaded again.

JupyterLab makes a new terminal of the old name where the server has none of it, and that would be a
plain shell in the place of the cluster's own. So a name of ours always shows the shell it is named
after; where that has ended the terminal says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import secrets
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..engines.base import KeeperChannel
from ..keeper import files
from ..keeper.paths import ensure_private, runtime_dir
from .core import Manager

PROGRAM = Path(__file__).parents[1] / "terminal_wait.py"
KNOWN_SECONDS = 15.0  # from the start of a server until it knows the shells of its clusters
LOOK_SECONDS = 0.1
GONE = "This shell has ended. Launch opens a new one."

_NAME = re.compile(r"elastic_(?P<shell>[0-9A-Za-z]+)(?:_[0-9]+)?")


class Terminals(Protocol):
    """The part of the server's terminal manager that is used here."""

    terminals: dict[str, Any]

    def create(self, **kwargs: Any) -> Mapping[str, Any]:
        """Start a terminal and return its model."""


def free_name(shell: str, taken: Mapping[str, Any]) -> str:
    """Name a terminal after its shell; JupyterLab's address of one takes word characters only."""
    stem = re.sub(r"\W", "_", f"elastic_{shell}")
    names = itertools.chain([stem], (f"{stem}_{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


class Restoring:
    """Stands before the ``create`` of a terminal manager.

    Parameters
    ----------
    shown
        Takes shell and name of each terminal that was restored.
    """

    def __init__(self, manager: Manager, shown: Callable[[str, str], None]) -> None:
        self._manager = manager
        self._shown = shown
        self._create: Callable[..., Mapping[str, Any]] | None = None

    def install(self, terminals: Terminals) -> None:
        """Begin; once for each terminal manager."""
        original = terminals.create
        if getattr(original, "__self__", None) is self:
            return
        self._create = original
        terminals.create = self.create  # type: ignore[method-assign]

    def create(self, **kwargs: Any) -> Mapping[str, Any]:
        """Start a terminal; one with a name of ours and nothing to run shows its shell."""
        assert self._create is not None  # noqa: S101 - it is called through what `install` set
        name = kwargs.get("name")
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None or "shell_command" in kwargs:
            return self._create(**kwargs)
        shell = found["shell"]
        channel = self._channel(shell)
        argv = channel.attach_argv(shell) if channel is not None else self._later(shell)
        kwargs.pop("cwd", None)  # the shell has its own
        model = self._create(**kwargs, shell_command=argv)
        self._shown(shell, str(model["name"]))
        return model

    def _channel(self, shell: str) -> KeeperChannel | None:
        for loop in self._manager.loops.values():
            if loop.keeper is not None and any(one.id == shell for one in loop.keeper.shells):
                return loop.channel
        return None

    def _later(self, shell: str) -> list[str]:
        """Return a command that waits for what :meth:`_answer` finds out."""
        folder = Path(ensure_private(runtime_dir())) / "terminals"
        folder.mkdir(mode=0o700, exist_ok=True)
        answer = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        work: Coroutine[Any, Any, None] = self._answer(shell, answer)
        self._manager.spawn(work, f"elastic terminal {shell}")
        return [sys.executable, "-I", str(PROGRAM), str(answer)]

    async def _answer(self, shell: str, path: Path) -> None:
        """Wait until the shell is known, or everything is, and tell the terminal."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + KNOWN_SECONDS
        channel = self._channel(shell)
        while channel is None and loop.time() < deadline and not self._all_known():
            await asyncio.sleep(LOOK_SECONDS)
            channel = self._channel(shell)
        told = {"text": GONE} if channel is None else {"argv": channel.attach_argv(shell)}
        with contextlib.suppress(OSError):  # the terminal gives up by itself
            files.write_json(str(path), told)

    def _all_known(self) -> bool:
        """Whether every engine was read and every keeper has spoken."""
        return self._manager.looked and all(
            loop.has_spoken for loop in self._manager.loops.values()
        )
