"""The command of a cluster, what it needs, and the environment it runs in."""

from __future__ import annotations

import asyncio
import functools
import os
import shlex
from collections.abc import Mapping
from typing import Any

from ..engines.base import ShellRequest
from ..engines.tasks import within
from ..errors import ElasticError
from ..frameworks import CommandContext, Framework
from ..frameworks.script import MAX_SOURCE_BYTES
from ..models import Cluster, HostEntry, Launch, Reason
from .core import Manager
from .environment import Environments, values
from .settings import script_problem

MAX_TEXT_BYTES = 1024
PREFLIGHT_SECONDS = 5.0
PREFLIGHT_KEPT = 15.0


class Commands:
    """Makes commands; starts nothing."""

    def __init__(
        self,
        manager: Manager,
        environments: Environments,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._manager = manager
        self._environments = environments
        self._environment = environment
        self._found: dict[tuple[str, str | None], tuple[float, dict[str, str]]] = {}

    async def launch(self, cluster_id: str) -> Launch:
        """Return the command for what the cluster is now; not ready with the reason."""
        view = self._manager.cluster(cluster_id)
        framework = self._manager.framework(self._manager.loop(cluster_id).facts)
        script = view.settings.script
        cwd = os.path.dirname(script) if script else self._manager.config.root_folder
        reason = self._not_ready(view)
        argv: tuple[str, ...] = ()
        warnings: list[str] = []
        try:
            argv = framework.command(self._context(view, cluster_id))
        except ElasticError as error:
            reason = reason or Reason(error.code, error.message, error.hint)
        text = shlex.join(argv)
        if len(text.encode()) > MAX_TEXT_BYTES:
            reason = reason or Reason(
                "too_long",
                f"The command is longer than {MAX_TEXT_BYTES} bytes. Shorten the arguments.",
            )
        if reason is None and script:
            reason = await self._missing_program(view, framework)
            warnings = await self._warnings(view, framework, script)
        return Launch(
            cluster=cluster_id,
            revision=self._manager.revision,
            program=framework.program,
            argv=argv,
            text=text,
            cwd=cwd,
            ready=reason is None,
            reason=reason,
            warnings=tuple(warnings),
        )

    async def preflight(self, cluster_id: str) -> list[dict[str, Any]]:
        """Check everything a launch needs, each with what to do about it."""
        view = self._manager.cluster(cluster_id)
        framework = self._manager.framework(self._manager.loop(cluster_id).facts)
        script = view.settings.script
        problem = script_problem(script) if script else "No script is chosen."
        checks = [
            _check(
                "script", problem is None, problem or f"{script} can be read.", "Choose a script."
            ),
            _check(
                "host file",
                view.hostfile.in_sync,
                f"{view.hostfile.hostfile} shows {len(self._hosts(cluster_id))} containers."
                if view.hostfile.in_sync
                else "The host file does not show the agreed list yet.",
                "Wait a moment, or look at the cluster's reason.",
            ),
        ]
        self._found.clear()
        found = await self._resolve(view, framework)
        for program in framework.preflight_checks():
            path = found.get("program" if program == framework.program else program)
            checks.append(
                _check(
                    program,
                    bool(path) if found else None,
                    f"{program} is {path}."
                    if path
                    else found.get("error") or f"{program} was not found.",
                    f"Choose a Python environment that has {program}.",
                )
            )
        if script and problem is None:
            warning = await asyncio.to_thread(_script_warning, framework, script)
            checks.append(
                _check("elastic code", warning is None, warning or "Fits.", warning or "")
            )
        return checks

    async def request(self, cluster_id: str, cwd: str, rows: int, columns: int) -> ShellRequest:
        """Return what a shell of this cluster needs: folder, Python, and the chosen variables."""
        view = self._manager.cluster(cluster_id)
        framework = self._manager.framework(self._manager.loop(cluster_id).facts)
        context = self._context(view, cluster_id)
        passed = values(view.settings.pass_env, self._environment)
        own = tuple(sorted(framework.environment(context).items()))
        return ShellRequest(
            cwd=cwd,
            python_folder=await self._environments.folder(view.settings.kernelspec),
            env=own + passed,
            rows=rows,
            columns=columns,
        )

    # Inside --------------------------------------------------------------------------------------

    def _hosts(self, cluster_id: str) -> tuple[HostEntry, ...]:
        return self._manager.loop(cluster_id).facts.host_list.hosts

    def _not_ready(self, view: Cluster) -> Reason | None:
        script = view.settings.script
        if view.state in ("ended", "releasing"):
            return view.reason or Reason(view.state, f"{view.name} is {view.state}.")
        if not script:
            return Reason("no_script", "No script is chosen.", "Choose a Python file to train.")
        problem = script_problem(script)
        if problem is not None:
            return Reason("script_missing", problem, "Choose the script again.")
        if view.hostfile.generation < 1:
            return view.hostfile.reason or Reason(
                "no_hosts", "The host file is not written yet.", "Wait until the launcher is ready."
            )
        return None

    def _context(self, view: Cluster, cluster_id: str) -> CommandContext:
        script = os.path.basename(view.settings.script or "SCRIPT.py")
        return CommandContext(
            cluster=cluster_id,
            hosts=self._hosts(cluster_id),
            slots=view.slots,
            hostfile=view.hostfile.hostfile,
            discovery_script=view.hostfile.discovery_script,
            # A name that begins with a dash would be read as an option of python.
            script=f"./{script}" if script.startswith("-") else script,
            arguments=view.settings.arguments,
            min_size=view.settings.min_size,
            max_size=view.settings.max_size or view.limit.size,
        )

    async def _resolve(self, view: Cluster, framework: Framework) -> dict[str, str]:
        """Ask the keeper where the programs are; empty when it does not answer in time."""
        key = (view.id, view.settings.kernelspec)
        now = asyncio.get_running_loop().time()
        kept = self._found.get(key)
        if kept is not None and now - kept[0] < PREFLIGHT_KEPT:
            return kept[1]
        try:
            channel = self._manager.loop(view.id).need_channel()
            cwd = os.path.dirname(view.settings.script or "") or self._manager.config.root_folder
            request = await self.request(view.id, cwd, 24, 80)
            found = await within(channel.preflight(request, framework.program), PREFLIGHT_SECONDS)
        except (ElasticError, asyncio.TimeoutError, OSError):
            return {}
        self._found[key] = (now, found)
        return found

    async def _missing_program(self, view: Cluster, framework: Framework) -> Reason | None:
        found = await self._resolve(view, framework)
        if not found or found.get("program"):
            return None
        # A program that was just installed must not be missing for longer than one look.
        self._found.pop((view.id, view.settings.kernelspec), None)
        return Reason(
            "program_missing",
            f"{framework.program} was not found in the chosen Python environment.",
            found.get("error") or "Choose an environment that has it, or install it there.",
        )

    async def _warnings(self, view: Cluster, framework: Framework, script: str) -> list[str]:
        warning = await asyncio.to_thread(_script_warning, framework, script)
        warnings = [] if warning is None else [warning]
        if view.ready < view.target:
            warnings.append(f"{view.ready} of {view.target} containers are ready now.")
        if any(run.live for run in view.runs):
            warnings.append("A run lives on this cluster already.")
        missing = [name for name in view.settings.pass_env if name not in self._environment]
        if missing:
            warnings.append("Not set in this server: " + ", ".join(missing) + ".")
        return warnings


def _script_warning(framework: Framework, path: str) -> str | None:
    """Read and judge a script; a large one takes its time, so not on the event loop."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _judged(framework, path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _judged(framework: Framework, path: str, changed: int, size: int) -> str | None:
    try:
        with open(path, "rb") as file:
            source = file.read(MAX_SOURCE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return framework.script_warning(source)


def _check(name: str, ok: bool | None, text: str, fix: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "text": text, "fix": "" if ok else fix}
