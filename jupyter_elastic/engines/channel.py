"""The channel to one keeper, whatever carries it: a Unix socket here, or a stream into a pod."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..errors import NotFound
from ..models import HostList, Run, Shell, to_json
from .base import KeeperChannel, ReleaseRules, ShellRequest
from .conversation import LINE_LIMIT, Conversation, LineReader, LineWriter
from .decode import decode

__all__ = ["LINE_LIMIT", "LineReader", "LineWriter", "StreamChannel"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class StreamChannel(Conversation, KeeperChannel):
    """Channel over whatever `connect` opens; the other parameters are those of the conversation.

    Parameters
    ----------
    attach_argv
        Returns the command that shows the shell of a (checked) id in a terminal.
    """

    def __init__(self, *, attach_argv: Callable[[str], list[str]], **conversation: Any) -> None:
        super().__init__(**conversation)
        self._attach_argv = attach_argv

    async def publish(self, hosts: HostList) -> None:
        """Hand over the list; an older one is ignored."""
        await self.request("hosts", **to_json(hosts))

    async def open_shell(self, request: ShellRequest) -> Shell:
        """Start a shell that outlives this server."""
        return decode(Shell, (await self.request("shell.open", **_fields(request)))["shell"])

    def attach_argv(self, shell_id: str) -> list[str]:
        """Return the command that shows a shell in a terminal."""
        return self._attach_argv(_checked(shell_id))

    async def shell_output(self, shell_id: str) -> str:
        """Return the bounded output of a shell."""
        return str((await self.request("shell.output", shell=shell_id))["output"])

    async def close_shell(self, shell_id: str) -> None:
        """End a shell and what runs in it."""
        await self.request("shell.close", shell=shell_id)

    async def start_run(self, argv: tuple[str, ...], request: ShellRequest) -> Run:
        """Start a command without a terminal."""
        answer = await self.request("run.start", argv=list(argv), **_fields(request))
        return decode(Run, answer["run"])

    async def stop_run(self, run_id: str, grace_seconds: float) -> None:
        """TERM, grace, KILL."""
        await self.request("run.stop", run=run_id, grace_seconds=grace_seconds)

    async def run_log(self, run_id: str, max_bytes: int) -> str:
        """Return the end of a run's output."""
        answer = await self.request("run.log", run=run_id, max_bytes=max_bytes)
        return str(answer["output"])

    async def set_rules(self, rules: ReleaseRules) -> None:
        """Replace the release rules."""
        await self.request("rules", **to_json(rules))

    async def answer_offer(self, run_id: str, choice: str) -> None:
        """Answer the release offer of an ended run."""
        await self.request("offer.answer", run=run_id, choice=choice)

    async def preflight(self, request: ShellRequest, program: str) -> dict[str, str]:
        """Resolve the program and Python as the shell would."""
        # `program` of a ShellRequest is the shell; here it is what to look for.
        answer = await self.request("preflight", **{**_fields(request), "program": program})
        return {key: str(answer[key]) for key in ("program", "python", "error") if answer.get(key)}


def _fields(request: ShellRequest) -> dict[str, Any]:
    return {**to_json(request), "env": dict(request.env)}


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise NotFound("No such shell.", detail={"field": "shell"})
    return name
