"""Terminals on keeper shells, and runs without a terminal."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..engines.base import KeeperChannel
from ..errors import Conflict, NotFound
from ..models import Launch, Reason, Run
from ..planning.limits import run_bounds
from ..telemetry import audit
from .commands import Commands
from .core import Manager
from .restoring import Restoring, Terminals, free_name

STOP_GRACE_SECONDS = 10.0
DOUBLE_CLICK_SECONDS = 1.0


@dataclass(frozen=True)
class OpenedTerminal:
    """A Jupyter terminal that shows a keeper shell."""

    name: str
    shell: str
    launch: Launch | None


class Launching:
    """What the launch button does."""

    def __init__(
        self,
        manager: Manager,
        commands: Commands,
        terminals: Terminals | None,
    ) -> None:
        self._manager = manager
        self._commands = commands
        self._terminals = terminals
        self._shown: dict[str, str] = {}  # shell id -> terminal name
        self._restoring = Restoring(manager, self._shown.__setitem__)
        self._opening: dict[str, asyncio.Task[OpenedTerminal]] = {}

    @property
    def available(self) -> bool:
        """Whether this server has terminals."""
        return self._terminals is not None

    def use_terminals(self, terminals: Terminals | None) -> None:
        """Take the terminal manager once every extension is loaded."""
        self._terminals = terminals
        if terminals is not None:
            self._restoring.install(terminals)

    async def open_terminal(
        self, cluster_id: str, shell: str | None, rows: int, columns: int, by: str
    ) -> OpenedTerminal:
        """Open a terminal on a new shell, or on one that is there already.

        A second request within a second, a double click, gets the first one's terminal.
        """
        key = f"{cluster_id}/{shell or ''}"
        task = self._opening.get(key)
        if task is None:
            task = asyncio.create_task(self._open(cluster_id, shell, rows, columns, by))
            self._opening[key] = task
            task.add_done_callback(lambda done: self._opened(key, done))
        return await asyncio.shield(task)

    def _opened(self, key: str, task: asyncio.Task[OpenedTerminal]) -> None:
        keep = DOUBLE_CLICK_SECONDS
        if task.cancelled() or task.exception() is not None:
            keep = 0.0
        task.get_loop().call_later(keep, self._opening.pop, key, None)

    async def _open(
        self, cluster_id: str, shell: str | None, rows: int, columns: int, by: str
    ) -> OpenedTerminal:
        if self._terminals is None:
            raise Conflict(
                "Terminals are switched off on this server.",
                hint="Copy the command, or ask the administrator for ServerApp.terminals_enabled.",
                code="terminals_unavailable",
            )
        loop = self._manager.loop(cluster_id)
        channel = await loop.channel_soon()
        launch = None
        if shell is None:
            launch = await self._commands.launch(cluster_id)
            request = await self._commands.request(cluster_id, launch.cwd, rows, columns)
            shell = (await channel.open_shell(request)).id
            audit("terminal", cluster_id, by, shell=shell)
        else:
            self._known_shell(cluster_id, shell)
            name = self._shown.get(shell)
            if name is not None and name in self._terminals.terminals:
                return OpenedTerminal(name, shell, None)
        return OpenedTerminal(self._attach(channel, shell, rows, columns), shell, launch)

    def _attach(self, channel: KeeperChannel, shell: str, rows: int, columns: int) -> str:
        assert self._terminals is not None  # noqa: S101 - checked by the caller
        try:
            model = self._terminals.create(
                name=free_name(shell, self._terminals.terminals),
                shell_command=channel.attach_argv(shell),
                height=rows,
                width=columns,
            )
        except Exception as error:
            raise Conflict(
                "The server could not open a terminal.",
                hint="Copy the command and use a terminal of your own.",
                detail={"cause": str(error)[:200]},
                code="terminals_unavailable",
            ) from error
        living = self._terminals.terminals
        for gone in [key for key, name in self._shown.items() if name not in living]:
            del self._shown[gone]
        self._shown[shell] = str(model["name"])
        return self._shown[shell]

    async def start_run(self, cluster_id: str, by: str) -> Run:
        """Start exactly the launch command, without a terminal."""
        channel = await self._manager.loop(cluster_id).channel_soon()
        launch = await self._commands.launch(cluster_id)
        if not launch.ready:
            reason = launch.reason or Reason("not_ready", "The cluster is not ready.")
            raise Conflict(reason.text, hint=reason.detail, code=reason.code)
        live = run_bounds(self._manager.cluster(cluster_id).runs, 1).run
        if live is not None:
            raise Conflict(
                "A run lives on this cluster already.",
                hint="Stop it first, or wait until it ends.",
                detail={"run": live},
                code="live_run",
            )
        request = await self._commands.request(cluster_id, launch.cwd, 24, 80)
        run = await channel.start_run(launch.argv, request)
        audit("run", cluster_id, by, run=run.id, text=launch.text)
        self._manager.note(cluster_id, f"Run started by {by}: {launch.text}")
        return run

    async def stop_run(self, cluster_id: str, run_id: str, by: str) -> None:
        """Ask a run to end; the state shows when it did."""
        run = self._run(cluster_id, run_id)
        if not run.live:
            return
        channel = await self._manager.loop(cluster_id).channel_soon()
        await channel.stop_run(run_id, STOP_GRACE_SECONDS)
        audit("stop-run", cluster_id, by, run=run_id)
        self._manager.note(cluster_id, f"Run stopped by {by}.")

    async def run_log(self, cluster_id: str, run_id: str, max_bytes: int) -> str:
        """Return the end of a run's output."""
        self._run(cluster_id, run_id)
        channel = await self._manager.loop(cluster_id).channel_soon()
        return await channel.run_log(run_id, max_bytes)

    # Inside --------------------------------------------------------------------------------------

    def _run(self, cluster_id: str, run_id: str) -> Run:
        for run in self._manager.cluster(cluster_id).runs:
            if run.id == run_id:
                return run
        raise NotFound(f"This cluster has no run {run_id[:80]!r}.", hint="See its list of runs.")

    def _known_shell(self, cluster_id: str, shell: str) -> None:
        if all(item.id != shell for item in self._manager.cluster(cluster_id).shells):
            raise NotFound(
                f"This cluster has no shell {shell[:80]!r}.", hint="It ended. Open a new terminal."
            )
