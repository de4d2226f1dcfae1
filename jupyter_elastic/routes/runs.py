"""``runs``: training commands of one cluster."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler
from .schemas import EMPTY


class RunsHandler(ElasticHandler):
    """All runs."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str) -> None:
        """Answer the runs, newest first."""
        await self.service.manager.first_look()
        self.answer({"runs": self.service.manager.cluster(cluster).runs})

    @web.authenticated
    @authorized(action="execute", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Start exactly the launch command, without a terminal."""
        self.body(EMPTY)
        self.answer(await self.service.launching.start_run(cluster, self.by), 201)


class RunHandler(ElasticHandler):
    """One run."""

    @web.authenticated
    @authorized(action="execute", resource="elastic")
    async def delete(self, cluster: str, run: str) -> None:
        """Ask it to end."""
        await self.service.launching.stop_run(cluster, run, self.by)
        self.answer({}, 202)


class RunLogHandler(ElasticHandler):
    """Output of one run."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str, run: str) -> None:
        """Answer the end of its output."""
        output = await self.service.launching.run_log(cluster, run, self.max_bytes())
        self.answer({"output": output})
