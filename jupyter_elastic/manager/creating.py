"""Creates clusters and gives them back."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from ..engines.base import Engine
from ..engines.tasks import within
from ..errors import BadInput, Conflict, Forbidden, LimitReached, Unreachable
from ..frameworks import Framework, get_framework
from ..models import Cluster, ClusterSpec, EngineOptions, Limit, Plan, Settings
from ..naming import check_name
from ..planning.limits import check_size, combined
from ..planning.words import count
from ..spec import read_mounts
from ..telemetry import audit
from .core import Manager
from .environment import Environments
from .podfields import check_pod_fields, pod_fields
from .settings import SettingsChecker

SETTING_FIELDS = ("script", "arguments", "kernelspec", "min_size", "max_size", "pass_env")
SHOWN_SECONDS = 10.0
OPTIONS_SECONDS = 10.0
RUNS_SECONDS = 3.0  # for the first word of a keeper


class Creating:
    """Checks a request against every limit, then lets the engine make it."""

    def __init__(
        self, manager: Manager, environments: Environments, checker: SettingsChecker
    ) -> None:
        self._manager = manager
        self._environments = environments
        self._checker = checker

    async def plan(self, body: dict[str, Any]) -> Plan:
        """Say what a creation would do."""
        spec, options = await self._spec(body)
        gpus = spec.size * spec.gpus_per_container
        words = count(spec.size, "container")
        words += f", {count(gpus, 'GPU')}" if gpus else ", no GPU"
        starts = min(spec.size, options.capacity.size)
        waits = spec.size - starts
        tail = (
            "All can start now."
            if not waits
            else f"{starts} can start now: {options.capacity.text}"
        )
        framework = get_framework(spec.framework)
        return Plan(
            cluster="",
            current=0,
            target=spec.size,
            add=spec.size,
            remove=(),
            starts_now=starts,
            waits=waits,
            gpus=gpus,
            change=framework.growth,
            confirm=False,
            text=f"{words}. {tail}",
            np=spec.size * spec.slots,
        )

    async def create(self, body: dict[str, Any], by: str) -> Cluster:
        """Create a cluster and return it once the engine shows it.

        Raises
        ------
        BadInput, LimitReached, Conflict, Forbidden
            With the field in ``detail``; nothing is made then.
        Unreachable
            When the engine does not answer.
        """
        manager = self._manager
        operation = body.get("operation") or ""
        spec, _ = await self._spec(body)
        engine = manager.engines[spec.engine]
        cluster_id = await engine.create(spec, operation=operation)
        audit("create", cluster_id, by, name=spec.name, framework=spec.framework, size=spec.size)
        deadline = asyncio.get_running_loop().time() + SHOWN_SECONDS
        while cluster_id not in manager.loops:
            if asyncio.get_running_loop().time() > deadline:
                raise Unreachable(
                    f"{spec.name} was created but is not shown yet.",
                    hint="It appears in the list when the engine answers.",
                    detail={"cluster": cluster_id},
                )
            await asyncio.sleep(0.01)
        return manager.cluster(cluster_id)

    async def configure(self, cluster_id: str, fields: dict[str, Any], by: str) -> Cluster:
        """Change the settings of a living cluster."""
        manager = self._manager
        loop = manager.loop(cluster_id)
        present = manager.framework(loop.facts).name
        settings = await self._checker.merged(loop.facts.settings, fields, present)
        if settings != loop.facts.settings:
            await loop.engine.configure(cluster_id, settings)
            await loop.wait_until(lambda: loop.facts.settings == settings, 1.0)
            audit("configure", cluster_id, by, fields=",".join(sorted(fields)))
        return manager.cluster(cluster_id)

    async def release(self, cluster_id: str, *, stop_runs: bool, by: str) -> None:
        """Give a cluster back.

        Raises
        ------
        Conflict
            With code ``live_run`` while a run lives and `stop_runs` is false.
        Unreachable
            Whether a run lives is not known yet and `stop_runs` is false.
        """
        known = stop_runs or await self._manager.loop(cluster_id).runs_known(RUNS_SECONDS)
        if not known:
            raise Unreachable(
                "Whether a run lives is not known: the keeper does not answer.",
                hint="Try again in a few seconds, or release with its runs stopped.",
                code="keeper_unreachable",
            )
        view = self._manager.cluster(cluster_id)
        live = [run for run in view.runs if run.live]
        if live and not stop_runs and view.state != "releasing":
            names = [item.name for item in view.containers]
            gpus = len(names) * view.gpus_per_container
            raise Conflict(
                f"{view.name} has a live run: {live[0].text[:80]}",
                hint="Stop the run, or release with its runs stopped.",
                detail={"runs": [run.id for run in live], "containers": names, "gpus": gpus},
                code="live_run",
            )
        audit("release", cluster_id, by, stop_runs=int(stop_runs))
        self._manager.finish_release(cluster_id)

    # Checks --------------------------------------------------------------------------------------

    async def _spec(self, body: dict[str, Any]) -> tuple[ClusterSpec, EngineOptions]:
        config = self._manager.config
        name = check_name(body["name"])
        framework = get_framework(body["framework"], config.allowed_frameworks)
        engine = self._engine(body.get("engine") or config.default_engine)
        options = await within(engine.options(), OPTIONS_SECONDS)
        size = self._size(body["size"], framework, options)
        repeated = bool(body.get("operation"))
        if not body.get("dry_run") and not repeated:
            self._free_name(name)
        self._count_clusters(name, repeated)
        given = pod_fields(body)
        spec = ClusterSpec(
            name=name,
            framework=framework.name,
            size=size,
            engine=engine.name,
            launcher_mode=self._mode(body, options),
            gpus_per_container=body.get("gpus_per_container", 0),
            gpu_kind=body.get("gpu_kind"),
            image=body.get("image"),
            shared_memory=body.get("shared_memory"),
            storage=read_mounts(body.get("storage", ())),
            owner=config.owner,
            **given,
        )
        self._check_offered(spec, options)
        check_pod_fields(given, options)
        return dataclasses.replace(spec, settings=await self._settings(body, framework)), options

    async def _settings(self, body: dict[str, Any], framework: Framework) -> Settings:
        fields = {key: body[key] for key in SETTING_FIELDS if key in body}
        if fields.get("kernelspec") is None:
            fields["kernelspec"] = await self._environments.default(framework.program)
        base = Settings(
            framework=framework.name, release_policy=self._manager.config.release_policy
        )
        return await self._checker.merged(base, fields, framework.name)

    def _engine(self, name: str) -> Engine:
        engines = self._manager.engines
        if name not in engines:
            raise BadInput(
                f"There is no engine {name[:40]!r} on this server.",
                hint="Choose one of: " + ", ".join(engines) + ".",
                detail={"field": "engine", "engines": list(engines)},
            )
        return engines[name]

    def _size(self, value: object, framework: Framework, options: EngineOptions) -> int:
        config = self._manager.config
        administrator = (
            None
            if config.max_size is None
            else Limit(
                config.max_size,
                f"The administrator allows {config.max_size} (ElasticExtensionApp.max_size).",
            )
        )
        largest = Limit(options.max_size, options.capacity.text)
        limit = combined(largest, administrator)
        sizes = framework.valid_sizes(limit.size)
        return check_size(value, limit, minimum=config.form_min_size, valid_sizes=sizes)

    def _free_name(self, name: str) -> None:
        for view in self._manager.state().clusters:
            if view.name == name and view.owner == self._manager.config.owner:
                raise Conflict(
                    f"There is a cluster named {name!r} already.",
                    hint="Choose another name, or use or release that one.",
                    detail={"field": "name", "cluster": view.id},
                    code="name_taken",
                )

    def _count_clusters(self, name: str, repeated: bool) -> None:
        most = self._manager.config.max_clusters_per_user
        owner = self._manager.config.owner
        mine = [item for item in self._manager.state().clusters if item.owner == owner]
        if repeated and any(item.name == name for item in mine):
            return  # the engine answers a repeated operation with the cluster it made
        if most is not None and len(mine) >= most:
            raise LimitReached(
                f"You have {count(len(mine), 'cluster')}, the limit is {most}.",
                hint="Release one, or ask the administrator (max_clusters_per_user).",
                detail={"limit": most},
            )

    @staticmethod
    def _mode(body: dict[str, Any], options: EngineOptions) -> Any:
        mode = body.get("launcher_mode") or options.launcher_modes[0]
        fits = options.launcher_gpus in (None, body.get("gpus_per_container", 0))
        if not body.get("launcher_mode") and not fits and "pod" in options.launcher_modes:
            mode = "pod"  # Jupyter's own pod has other GPUs than were asked for
        if mode not in options.launcher_modes:
            raise BadInput(
                f"{options.title} cannot have the launcher mode {mode!r}.",
                hint="Choose one of: " + ", ".join(options.launcher_modes) + ".",
                detail={"field": "launcher_mode"},
            )
        return mode

    def _check_offered(self, spec: ClusterSpec, options: EngineOptions) -> None:
        """Refuse what this engine does not have or the administrator does not allow."""
        no = "This engine has none: leave it out."
        for field, value, offered in (
            ("image", spec.image, options.images is not None),
            ("storage", spec.storage, options.storage is not None),
            ("shared_memory", spec.shared_memory, options.shared_memory),
        ):
            if value and not offered:
                raise BadInput(
                    f"{options.title} has no choice of {field.replace('_', ' ')}.",
                    hint=no,
                    detail={"field": field},
                )
        allowed = self._manager.config.allowed_images
        if spec.image and allowed is not None and spec.image not in allowed:
            raise Forbidden(
                f"The image {spec.image[:120]!r} is not allowed here.",
                hint="Allowed: " + ", ".join(allowed) + ". The administrator sets allowed_images.",
                detail={"field": "image", "allowed": list(allowed)},
            )
        kinds = {kind.name: kind for kind in options.gpu_kinds}
        if spec.gpus_per_container and not kinds:
            raise LimitReached(
                f"{options.title} has no GPU.",
                hint=options.gpu_note or "Create it with 0 GPUs per container.",
                detail={"field": "gpus_per_container", "limit": 0},
            )
        if spec.gpu_kind is not None and spec.gpu_kind not in kinds:
            raise BadInput(
                f"There is no GPU of the kind {spec.gpu_kind[:80]!r}.",
                hint="Choose one of: " + (", ".join(kinds) or "none found") + ".",
                detail={"field": "gpu_kind"},
            )
