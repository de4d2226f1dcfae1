"""The keeper of a scripted cluster: writes a real host file, plays runs, starts no process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from ...errors import BadInput, Conflict, NotFound, Unreachable
from ...keeper.hostfile import SCRIPT, Writer, parse_hosts
from ...models import HostList, Offer, Reason, Run, Shell, to_json
from ..base import KeeperChannel, KeeperStatus, ReleaseRules, ShellRequest
from .scenario import Scenario

_SHELL = """
print('A scripted cluster: what you type is shown and not run.')
while True:
    try:
        print('scripted: ' + input('$ '))
    except (EOFError, KeyboardInterrupt):
        break
"""


class FakeKeeper(KeeperChannel):
    """One per cluster.

    ``advance`` moves it to an instant; everything else is a request at that instant.
    """

    def __init__(
        self, cluster: str, folder: Path, scenario: Scenario, clock: Callable[[], float]
    ) -> None:
        self._writer = Writer(str(folder), cluster)
        self._scenario = scenario
        self._clock = clock
        self._changed = asyncio.Condition()
        self._status = KeeperStatus(reachable=True, since=clock())
        self._shown = self._status
        self._hosts = HostList(0)
        self._left: dict[str, float] = {}
        self._frozen_until = 0.0
        self._rules = ReleaseRules()
        self._answered: set[str] = set()
        self._told_to_release = False
        self._numbers = 0
        self._played_once = False

    # -- time ---------------------------------------------------------------------------------

    def freeze(self, until: float) -> None:
        """Do not answer until then."""
        self._frozen_until = until

    async def advance(self, now: float) -> None:
        """Let time pass: runs end, ranks leave, offers come."""
        reachable = now >= self._frozen_until
        if reachable != self._status.reachable:
            self._set(reachable=reachable, since=now)
        runs = tuple(self._played(run, now) for run in self._status.runs)
        busy = self._busy(runs, now)
        self._set(runs=runs, busy_hosts=busy, offers=self._offers(runs))
        if self._status != self._shown:
            self._shown = self._status
            async with self._changed:
                self._changed.notify_all()

    def _played(self, run: Run, now: float) -> Run:
        script = self._scenario.run
        if not run.live or script.seconds is None or now < run.started + script.seconds:
            return run
        at = run.started + script.seconds
        if script.exit == 0:
            return dataclasses.replace(run, state="ended", ended=at, exit=0)
        reason = Reason("exit", script.text or f"It ended with {script.exit}.")
        return dataclasses.replace(run, state="failed", ended=at, exit=script.exit, reason=reason)

    def _busy(self, runs: tuple[Run, ...], now: float) -> tuple[str, ...]:
        if not any(run.live for run in runs):
            self._left.clear()
            return ()
        listed = tuple(entry.host for entry in self._hosts.hosts)
        leaving = tuple(
            host
            for host, at in self._left.items()
            if host not in listed and now < at + self._scenario.drain_seconds
        )
        return listed + leaving

    def _offers(self, runs: tuple[Run, ...]) -> tuple[Offer, ...]:
        rules = self._rules
        last = max((run for run in runs), key=lambda run: run.started, default=None)
        if last is None or last.live or last.id in self._answered or rules.on_run_end == "keep":
            return ()
        due = (last.ended or 0.0) + rules.after_seconds if rules.on_run_end == "release" else None
        verb = "failed" if last.state == "failed" else "ended"
        text = f"{last.program} {verb}. Give the cluster back?"
        return (Offer("release", text, ("keep", "release"), due, run=last.id),)

    @property
    def busy_hosts(self) -> tuple[str, ...]:
        """Hosts with a rank now."""
        return self._status.busy_hosts

    async def play_once(self, hosts: HostList) -> None:
        """Start the run that the script begins by itself, once."""
        if self._played_once or self._clock() < self._frozen_until:
            return
        self._played_once = True
        ranks = str(sum(entry.slots for entry in hosts.hosts))
        path = os.path.join(self._writer.folder, SCRIPT)
        argv = ("horovodrun", "-np", ranks, "--min-np", "1", "--host-discovery-script", path,
                "python", "train_elastic.py")  # fmt: skip
        await self.start_run(argv, ShellRequest(cwd="/home/user"))

    def due(self, now: float) -> bool:
        """Whether the cluster is to be released by its own rules now, or because it was said so."""
        return self._told_to_release or any(
            offer.due is not None and now >= offer.due for offer in self._status.offers
        )

    def _set(self, **fields: object) -> None:
        self._status = dataclasses.replace(self._status, **fields)  # type: ignore[arg-type]

    def _ask(self) -> float:
        now = self._clock()
        if now < self._frozen_until:
            raise Unreachable("The keeper of this cluster does not answer.")
        return now

    def end(self) -> None:
        """End everything and remove the host files."""
        self._writer.remove()
        with contextlib.suppress(OSError):
            os.rmdir(self._writer.folder)

    # -- the interface ------------------------------------------------------------------------

    async def watch(self) -> AsyncIterator[KeeperStatus]:
        """Yield the status now and at each change."""
        seen: KeeperStatus | None = None
        while True:
            async with self._changed:
                while self._shown == seen:
                    await self._changed.wait()
                seen = self._shown
            yield seen

    async def publish(self, hosts: HostList) -> None:
        """Hand over the list; an older one is ignored."""
        now = self._ask()
        if hosts.generation <= self._hosts.generation:
            return
        try:
            lines = parse_hosts(to_json(hosts.hosts))
            await asyncio.to_thread(self._writer.write, hosts.generation, lines)
        except (OSError, ValueError) as error:
            self._set(error=Reason("hostfile", f"The host file cannot be written: {error}."))
            await self.advance(now)
            return
        names = tuple(entry.host for entry in hosts.hosts)
        for entry in self._hosts.hosts:
            if entry.host not in names:
                self._left[entry.host] = now
        self._hosts = hosts
        self._set(
            generation=hosts.generation, hosts=names, sha256=self._writer.written.sha256, error=None
        )
        await self.advance(now)

    async def open_shell(self, request: ShellRequest) -> Shell:
        """Start a shell that outlives this server."""
        now = self._ask()
        if not self._scenario.shells:
            raise Unreachable(
                "A scripted cluster has no shell.",
                hint="Choose another engine to open a terminal.",
                code="no_shell",
            )
        shell = Shell(id=self._next("shell"), cwd=request.cwd, started=now, pid=0)
        self._set(shells=(*self._status.shells, shell))
        await self.advance(now)
        return shell

    def attach_argv(self, shell_id: str) -> list[str]:
        """Return the command that shows a shell in a terminal."""
        self._shell(shell_id)
        return [sys.executable, "-I", "-u", "-c", _SHELL]

    async def shell_output(self, shell_id: str) -> str:
        """Return the bounded output of a shell."""
        self._shell(shell_id)
        return ""

    async def close_shell(self, shell_id: str) -> None:
        """End a shell and what runs in it."""
        shell = self._shell(shell_id)
        self._set(shells=tuple(item for item in self._status.shells if item != shell))
        await self.advance(self._ask())

    def _shell(self, shell_id: str) -> Shell:
        for shell in self._status.shells:
            if shell.id == shell_id:
                return shell
        raise NotFound("No such shell.", detail={"field": "shell"})

    async def start_run(self, argv: tuple[str, ...], request: ShellRequest) -> Run:
        """Start a command without a terminal."""
        now = self._ask()
        if not argv:
            raise BadInput("There is nothing to start.", detail={"field": "argv"})
        if any(run.live for run in self._status.runs):
            raise Conflict("A run lives on this cluster already.", code="live_run")
        run = Run(
            id=self._next("run"),
            state="running",
            program=argv[0],
            text=shlex.join(argv),
            argv=argv,
            cwd=request.cwd,
            started=now,
            np=_number(argv, "-np", "--num-proc"),
            min_np=_number(argv, "--min-np", "--min-num-proc"),
            max_np=_number(argv, "--max-np", "--max-num-proc"),
            elastic="--host-discovery-script" in argv,
        )
        self._set(runs=(run, *self._status.runs))
        await self.advance(now)
        return run

    async def stop_run(self, run_id: str, grace_seconds: float) -> None:
        """TERM, grace, KILL."""
        now = self._ask()
        run = self._run(run_id)
        if run.live:
            stopped = dataclasses.replace(run, state="stopped", ended=now, exit=143)
            runs = tuple(stopped if item.id == run_id else item for item in self._status.runs)
            self._set(runs=runs)
            await self.advance(now)

    async def run_log(self, run_id: str, max_bytes: int) -> str:
        """Return the end of a run's output."""
        self._run(run_id)
        return self._scenario.run.output.encode()[-max_bytes:].decode(errors="replace")

    def _run(self, run_id: str) -> Run:
        for run in self._status.runs:
            if run.id == run_id:
                return run
        raise NotFound("No such run.", detail={"field": "run"})

    async def set_rules(self, rules: ReleaseRules) -> None:
        """Replace the release rules."""
        now = self._ask()
        self._rules = rules
        await self.advance(now)

    async def answer_offer(self, run_id: str, choice: str) -> None:
        """Answer the release offer of an ended run."""
        now = self._ask()
        self._run(run_id)
        if choice not in ("keep", "release"):
            raise BadInput("The answer is keep or release.", detail={"field": "choice"})
        self._answered.add(run_id)
        self._told_to_release |= choice == "release"
        await self.advance(now)

    async def preflight(self, request: ShellRequest, program: str) -> dict[str, str]:
        """Resolve the program and Python as the shell would."""
        self._ask()
        folder = request.python_folder or "/usr/bin"
        return {"program": f"{folder}/{program}", "python": f"{folder}/python"}

    def _next(self, kind: str) -> str:
        self._numbers += 1
        return f"{kind}-{self._numbers}"


def _number(argv: tuple[str, ...], *flags: str) -> int | None:
    for flag, value in itertools.pairwise(argv):
        if flag in flags and value.isdigit():
            return int(value)
    return None
