"""``launch`` and ``terminals``: the command and where it is typed."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler
from .schemas import TERMINAL


class LaunchHandler(ElasticHandler):
    """The command of one cluster."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self, cluster: str) -> None:
        """Answer the command at this revision."""
        await self.service.manager.first_look()
        self.answer(await self.service.commands.launch(cluster))


class TerminalsHandler(ElasticHandler):
    """Terminals on the launcher."""

    @web.authenticated
    @authorized(action="execute", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Open a terminal on a new shell, or on a given one."""
        body = self.body(TERMINAL)
        opened = await self.service.launching.open_terminal(
            cluster, body.get("shell"), body.get("rows", 24), body.get("columns", 80), self.by
        )
        self.answer(opened, 201)
