"""``target``, ``plan`` and ``undo``: the size of a cluster."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from ..manager.changes import TargetRequest
from ..telemetry import TARGET_SECONDS
from .base import ElasticHandler
from .schemas import EMPTY, PLAN, TARGET


class TargetHandler(ElasticHandler):
    """The target of one cluster."""

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def put(self, cluster: str) -> None:
        """Set the target; never waits for a container."""
        body = self.body(TARGET)
        request = TargetRequest(
            size=body["size"],
            victims=tuple(body.get("victims", ())),
            force=body.get("force", False),
            by=self.by,
        )
        revision = self.request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
        with TARGET_SECONDS.time():
            plan = await self.service.scaling.set_target(cluster, request, revision)
        self.answer(plan, 202)


class PlanHandler(ElasticHandler):
    """What a change would do."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Compute a plan without doing it."""
        self._track_activity = False
        body = self.body(PLAN)
        victims = tuple(body.get("victims", ()))
        self.answer(self.service.scaling.plan(cluster, body["size"], victims))


class UndoHandler(ElasticHandler):
    """Undo of the last change."""

    @web.authenticated
    @authorized(action="write", resource="elastic")
    async def post(self, cluster: str) -> None:
        """Set the target back."""
        self.body(EMPTY)
        self.answer(await self.service.scaling.undo(cluster, self.by), 202)
