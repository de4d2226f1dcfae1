"""What all handlers share: the service, bodies, ETags and errors."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import APIHandler
from tornado import web

from ..errors import BadInput, ElasticError
from ..manager import ElasticService
from ..models import to_json
from .body import Schema, read_body

RESOURCE = "elastic"
MAX_LOG_BYTES = 1 << 20
_CODES = {
    400: "bad_input",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class ElasticHandler(APIHandler):
    """Base of the handlers. A subclass decorates each of its verbs itself."""

    auth_resource = RESOURCE

    async def prepare(self) -> None:  # type: ignore[override]
        """Count reading as no activity: a page that watches must not keep a machine alive."""
        self._track_activity = self.request.method not in ("GET", "HEAD", "OPTIONS")
        await super().prepare()

    @property
    def service(self) -> ElasticService:
        """The service of this server."""
        service: ElasticService = self.settings["jupyter_elastic_service"]
        return service

    @property
    def by(self) -> str:
        """Who asks, for the history and the audit line."""
        user = self.current_user
        name = getattr(user, "name", None) or getattr(user, "username", None) or "unknown"
        if str(name).startswith("Anonymous "):
            # A server without users gives each browser a moon's name; all of them are its owner.
            name = self.service.config.owner
        return "".join(c for c in str(name) if c.isprintable())[:64]

    def body(self, schema: Schema) -> dict[str, Any]:
        """Return the checked body."""
        return read_body(self.request.body, schema)

    def flag(self, name: str) -> bool:
        """Return a query argument that is true or false; false when it is not there."""
        value = self.get_query_argument(name, "false").lower()
        if value not in ("true", "false", "1", "0"):
            raise BadInput(
                f"{name} must be true or false, not {value[:40]!r}.", detail={"field": name}
            )
        return value in ("true", "1")

    def max_bytes(self) -> int:
        """Return how much of a log is wanted, at most 1 MiB."""
        value = self.get_query_argument("max_bytes", "65536")
        if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= MAX_LOG_BYTES:
            raise BadInput(
                f"max_bytes must be between 1 and {MAX_LOG_BYTES}.",
                detail={"field": "max_bytes", "limit": MAX_LOG_BYTES},
            )
        return int(value)

    def answer(self, value: Any, status: int = 200) -> None:
        """Finish with a model, or plain JSON."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(to_json(value), allow_nan=False))

    def compute_etag(self) -> str | None:
        """Only the state has an ETag, and it is the revision: tornado's would hash each body."""
        return None

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log our own errors as one line; a traceback is for bugs."""
        if isinstance(value, ElasticError):
            self.log.info("elastic %s: %s", value.code, value.message)
        else:
            super().log_exception(typ, value, tb)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with code, message, hint and detail, whatever went wrong."""
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if isinstance(error, ElasticError):
            self.set_status(error.status)
            reply = error.to_json()
        elif isinstance(error, web.HTTPError):
            code = _CODES.get(status_code, "http")
            message = error.log_message or error.reason or self._reason
            reply = {"code": code, "message": str(message), "hint": "", "detail": {}}
        else:
            reply = {
                "code": "bug",
                "message": "The server ran into a bug.",
                "hint": "See the server's log.",
                "detail": {},
            }
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(reply))
