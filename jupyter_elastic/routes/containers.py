"""``containers`` and ``offers``: one container, and decisions that wait."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler
from .schemas import OFFER


class ContainerHandler(ElasticHandler):
    """One container."""

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def delete(self, cluster: str, name: str) -> None:
        """Remove it: the target sinks by one, or with ``replace`` a new one comes."""
        plan = await self.service.scaling.remove(
            cluster, name, replace=self.flag("replace"), force=self.flag("force"), by=self.by
        )
        self.answer(plan, 202)


class ContainerLogHandler(ElasticHandler):
    """Output of one container."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str, name: str) -> None:
        """Answer the end of its output."""
        self.answer({"output": await self.service.container_log(cluster, name, self.max_bytes())})


class OffersHandler(ElasticHandler):
    """Decisions that wait for the person."""

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Answer one."""
        self.answer(await self.service.answer_offer(cluster, self.body(OFFER), self.by))
