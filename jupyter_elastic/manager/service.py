"""The manager and the jobs around it, as the routes see them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ..engines.base import Engine
from ..errors import BadInput, NotFound
from ..models import Cluster, Sample
from ..telemetry import audit
from .commands import Commands
from .config import ManagerConfig
from .core import Manager
from .creating import Creating
from .environment import Environments, KernelSpecs
from .launching import Launching
from .options import OptionsReader
from .restoring import Terminals
from .scaling import Scaling
from .settings import SettingsChecker

_log = logging.getLogger(__name__)


class ElasticService:
    """Everything one server does for its clusters."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        config: ManagerConfig,
        *,
        emit: Callable[[str, str], None] = lambda cluster, revision: None,
        alive: Callable[[datetime], None] = lambda instant: None,
        kernels: KernelSpecs | None = None,
        terminals: Terminals | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.manager = Manager(engines, config, emit=emit, alive=alive)
        environments = Environments(kernels)
        checker = SettingsChecker(config, environments)
        self.scaling = Scaling(self.manager)
        self.creating = Creating(self.manager, environments, checker)
        self.commands = Commands(self.manager, environments, environment)
        self.launching = Launching(self.manager, self.commands, terminals)
        self.options = OptionsReader(self.manager, environments, self.launching, environment)

    async def start(self) -> None:
        """Start to watch; returns at once."""
        await self.manager.start()

    async def introduce(self, address: Mapping[str, Any]) -> None:
        """Tell every engine how this server is reached."""
        for name, engine in self.manager.engines.items():
            try:
                await engine.introduce(address)
            except Exception:
                _log.warning("Engine %s does not know this server's address", name, exc_info=True)

    async def stop(self) -> None:
        """Let go of everything within 5 s; deletes nothing."""
        await self.scaling.stop()
        await self.manager.stop()

    async def answer_offer(self, cluster_id: str, body: Mapping[str, str], by: str) -> Cluster:
        """Answer an offer of a cluster."""
        choice = body["choice"]
        if body["kind"] == "drain":
            await self.scaling.answer_drain(cluster_id, body.get("container") or "", choice, by)
            return self.manager.cluster(cluster_id)
        if choice not in ("keep", "release"):
            raise BadInput(
                f"{choice[:40]!r} is no answer to a release offer.",
                hint="Answer keep or release.",
                detail={"field": "choice"},
            )
        run = body.get("run") or ""
        offers = [
            item for item in self.manager.cluster(cluster_id).offers if item.kind == "release"
        ]
        if all(offer.run != run for offer in offers):
            raise NotFound(
                "There is no such release offer any more.", hint="Look at the new state."
            )
        await self.manager.loop(cluster_id).need_channel().answer_offer(run, choice)
        audit(f"offer-{choice}", cluster_id, by, run=run)
        return self.manager.cluster(cluster_id)

    async def container_log(self, cluster_id: str, name: str, max_bytes: int) -> str:
        """Return the end of a container's output."""
        loop = self.manager.loop(cluster_id)
        for container in loop.facts.containers:
            if container.name == name:
                return await loop.engine.log(cluster_id, container.uid, max_bytes)
        raise NotFound(
            f"This cluster has no container named {name[:80]!r}.", hint="See its containers."
        )

    async def metrics(self, cluster_id: str) -> tuple[Sample, ...]:
        """Measure use now."""
        return await self.manager.loop(cluster_id).engine.metrics(cluster_id)

    async def refresh(self) -> None:
        """Read every engine's world again; the person pressed refresh."""
        for engine in self.manager.engines.values():
            await engine.refresh()
        for loop in self.manager.loops.values():
            loop.poke()
