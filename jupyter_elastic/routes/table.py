"""Which path goes to which handler."""

from __future__ import annotations

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join

from ..errors import NotFound
from .base import ElasticHandler
from .checks import DoctorHandler, MetricsHandler, PreflightHandler, RefreshHandler
from .clusters import ClusterHandler, ClustersHandler
from .containers import ContainerHandler, ContainerLogHandler, OffersHandler
from .launch import LaunchHandler, TerminalsHandler
from .options import OptionsHandler, SpecificationHandler
from .runs import RunHandler, RunLogHandler, RunsHandler
from .target import PlanHandler, TargetHandler, UndoHandler

API = "jupyter-elastic"


class NothingHandler(ElasticHandler):
    """Answers every other path, in words that a program can read."""

    async def prepare(self) -> None:  # type: ignore[override]
        """Refuse before any verb is looked up."""
        await super().prepare()
        raise NotFound("There is no such route.", hint="See openapi.yaml.", code="no_route")


# Paths as in openapi.yaml, below API.
TABLE: tuple[tuple[str, type[APIHandler]], ...] = (
    ("clusters", ClustersHandler),
    ("clusters/{cluster}", ClusterHandler),
    ("clusters/{cluster}/target", TargetHandler),
    ("clusters/{cluster}/plan", PlanHandler),
    ("clusters/{cluster}/undo", UndoHandler),
    ("clusters/{cluster}/launch", LaunchHandler),
    ("clusters/{cluster}/terminals", TerminalsHandler),
    ("clusters/{cluster}/runs", RunsHandler),
    ("clusters/{cluster}/runs/{run}", RunHandler),
    ("clusters/{cluster}/runs/{run}/log", RunLogHandler),
    ("clusters/{cluster}/containers/{name}", ContainerHandler),
    ("clusters/{cluster}/containers/{name}/log", ContainerLogHandler),
    ("clusters/{cluster}/offers", OffersHandler),
    ("clusters/{cluster}/preflight", PreflightHandler),
    ("clusters/{cluster}/metrics", MetricsHandler),
    ("options", OptionsHandler),
    ("doctor", DoctorHandler),
    ("refresh", RefreshHandler),
    ("openapi.yaml", SpecificationHandler),
)


def pattern(path: str) -> str:
    """Turn a path with ``{names}`` into tornado's form."""
    parts = []
    for part in path.split("/"):
        is_name = part.startswith("{")
        parts.append(r"([^/]{1,256})" if is_name else part.replace(".", r"\."))
    return "/".join(parts)


def routes(base_url: str) -> list[tuple[str, type[APIHandler]]]:
    """Return the routes below `base_url`."""
    return [(url_path_join(base_url, API, pattern(path)), handler) for path, handler in TABLE]
