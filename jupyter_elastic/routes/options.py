"""``options`` and ``openapi.yaml``: what can be asked for."""

# jupyter_server does not type its decorator.
# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from pathlib import Path

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import ElasticHandler

SPECIFICATION = Path(__file__).parents[1] / "openapi.yaml"


class OptionsHandler(ElasticHandler):
    """What the create form may offer."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self) -> None:
        """Ask every engine."""
        await self.service.manager.first_look()
        self.answer(await self.service.options.read())


class SpecificationHandler(ElasticHandler):
    """The description of this API."""

    @web.authenticated
    @authorized(action="read", resource="elastic")
    async def get(self) -> None:
        """Answer ``openapi.yaml``."""
        self.finish(SPECIFICATION.read_text("utf-8"), set_content_type="application/yaml")
