"""``preflight``, ``metrics``, ``doctor`` and ``refresh``: looking closely."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler
from .schemas import EMPTY


class PreflightHandler(ElasticHandler):
    """Everything a launch needs."""

    @web.authenticated
    @authorized(action="execute", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Check it now."""
        self.body(EMPTY)
        self.answer({"checks": await self.service.commands.preflight(cluster)})


class MetricsHandler(ElasticHandler):
    """Use of a cluster, outside of the revision."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str) -> None:
        """Measure now."""
        self.answer({"samples": await self.service.metrics(cluster)})


class DoctorHandler(ElasticHandler):
    """Whether this machine, and Kubernetes where it is used, are fit."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self) -> None:
        """Run the checks."""
        from ..doctor import run_checks_async
        from ..engine_choice import kubernetes_target

        config = self.service.config
        checks = await run_checks_async(
            base_folder=config.base_folder,
            shared_folder=config.shared_folder,
            target=kubernetes_target(config),
        )
        self.answer({"checks": checks, "version": config.version})


class RefreshHandler(ElasticHandler):
    """The refresh button."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def post(self) -> None:
        """Read the world again."""
        self.body(EMPTY)
        await self.service.refresh()
        self.set_status(204)
        self.finish()
