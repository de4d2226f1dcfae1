"""``clusters``: all of them, and one."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler
from .schemas import CONFIGURE, CREATE


class ClustersHandler(ElasticHandler):
    """All clusters."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self) -> None:
        """Answer the whole state, or 304 when the revision is still the same."""
        manager = self.service.manager
        await manager.first_look()
        state = manager.state()
        etag = f'"{state.revision}"'
        self.set_header("ETag", etag)
        self.set_header("Cache-Control", "no-cache")
        known = self.request.headers.get("If-None-Match", "")
        if etag in [item.strip().removeprefix("W/") for item in known.split(",")]:
            self.set_status(304)
            self.finish()
            return
        self.answer(state)

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def post(self) -> None:
        """Create a cluster, or say what that would do."""
        body = self.body(CREATE)
        if body.get("dry_run"):
            self.answer(await self.service.creating.plan(body))
        else:
            self.answer(await self.service.creating.create(body, self.by), 201)


class ClusterHandler(ElasticHandler):
    """One cluster."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str) -> None:
        """Answer one cluster."""
        await self.service.manager.first_look()
        self.answer(self.service.manager.cluster(cluster))

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def patch(self, cluster: str) -> None:
        """Change settings."""
        body = self.body(CONFIGURE)
        self.answer(await self.service.creating.configure(cluster, body, self.by))

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def delete(self, cluster: str) -> None:
        """Give a cluster back."""
        stop_runs = self.flag("stop_runs")
        await self.service.creating.release(cluster, stop_runs=stop_runs, by=self.by)
        self.answer({}, 202)
