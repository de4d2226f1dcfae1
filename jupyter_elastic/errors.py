"""The error tree: each error has an HTTP status, a stable code, and what the person can do."""

from __future__ import annotations

from typing import Any


class ElasticError(Exception):
    """Base of all errors that are shown to a person.

    Parameters
    ----------
    message
        What is wrong, in one sentence, with the limit and its value where there is one.
    hint
        What to do about it.
    detail
        Machine-readable extras, e.g. ``{"field": "size", "limit": 8}``.
    code
        Overrides the class's code where several causes share one class.
    """

    status = 500
    code = "bug"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        detail: dict[str, Any] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail or {}
        if code is not None:
            self.code = code

    def to_json(self) -> dict[str, Any]:
        """Return the body of the HTTP answer."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "detail": self.detail,
        }


class BadInput(ElasticError):
    """A value that cannot be accepted; ``detail.field`` is its path."""

    status = 400
    code = "bad_input"


class Forbidden(ElasticError):
    """The administrator or the engine does not allow it."""

    status = 403
    code = "forbidden"


class NotFound(ElasticError):
    """No such cluster, container, run or shell."""

    status = 404
    code = "not_found"


class Conflict(ElasticError):
    """Somebody changed it meanwhile, or a live run is in the way; ``detail`` says which."""

    status = 409
    code = "conflict"


class TooLarge(ElasticError):
    """A body, a text or a list over its cap."""

    status = 413
    code = "too_large"


class LimitReached(ElasticError):
    """A limit: which, its value and who can change it."""

    status = 422
    code = "limit"


class Unreachable(ElasticError):
    """The engine or the keeper does not answer."""

    status = 503
    code = "unreachable"
