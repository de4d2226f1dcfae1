"""What can go wrong between us and the API server, one class per thing a caller decides on."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any, Mapping

_LONGEST = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class ApiError(Exception):
    """The API server refused, or did not answer.

    Parameters
    ----------
    message
        The server's own words, or ours where it said nothing; no credentials.
    status
        HTTP status; 0 when there was no answer.
    reason
        Kubernetes' word for the cause, such as ``AlreadyExists``.
    details
        `details` of the server's Status object.
    retry_after
        Seconds to wait, where the server named them.
    verb, resource
        What was asked for, in the words of a Role.
    maybe_done
        Whether the change may have happened although we were not told so.
    """

    default_status = 0

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        verb: str = "",
        resource: str = "",
        maybe_done: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.default_status if status is None else status
        self.reason = reason
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after = retry_after
        self.verb = verb
        self.resource = resource
        self.maybe_done = maybe_done

    def __str__(self) -> str:
        asked = f"{self.verb} {self.resource}".strip()
        return f"{asked}: {self.message}" if asked else self.message


class Unauthenticated(ApiError):
    """The server does not know us, or we have no credentials to send (401)."""

    default_status = 401


class Forbidden(ApiError):
    """We may not do this, or an admission rule or a quota refused it (403)."""

    default_status = 403


class Missing(ApiError):
    """There is no such object (404)."""

    default_status = 404


class Taken(ApiError):
    """An object of this name is there already (409 AlreadyExists)."""

    default_status = 409


class Clash(ApiError):
    """It is not as expected any more: 409 Conflict, a failed test of a JSON patch, another uid."""

    default_status = 409


class Gone(ApiError):
    """The version we asked for is no longer kept (410)."""

    default_status = 410


class Invalid(ApiError):
    """The object breaks a rule of its kind (422)."""

    default_status = 422


class Unavailable(ApiError):
    """No answer, an error of the server (5xx), or too many requests (429)."""


class BrokenStream(Unavailable):
    """A stream ended in the middle of something, went silent, or sent what is not an event."""


_BY_STATUS = {401: Unauthenticated, 403: Forbidden, 404: Missing, 410: Gone, 422: Invalid}


def from_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, verb: str, resource: str
) -> ApiError:
    """Return the error for an HTTP answer that is not a success.

    Parameters
    ----------
    status
        Of HTTP.
    headers
        Names in lower case; ``retry-after`` is looked at.
    body
        A Status object, or any text.
    verb, resource
        What was asked for.
    """
    parsed: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        parsed = json.loads(body.decode("utf-8"))
    if not isinstance(parsed, dict) or parsed.get("kind") != "Status":
        parsed = {"message": body[: 4 * _LONGEST].decode("utf-8", "replace")}
    return from_status(
        {**parsed, "code": status},
        verb=verb,
        resource=resource,
        retry_after=_seconds(headers.get("retry-after")),
    )


def from_status(
    status: Mapping[str, Any], *, verb: str, resource: str, retry_after: float | None = None
) -> ApiError:
    """Return the error for a Status object, as in an ``ERROR`` event of a watch."""
    code = status.get("code")
    code = code if isinstance(code, int) else 0
    reason = status.get("reason")
    reason = reason if isinstance(reason, str) else ""
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    if retry_after is None:
        retry_after = _seconds(details.get("retryAfterSeconds")) or None
    kind = _kind(code, reason, details, verb)
    return kind(
        _clean(status.get("message")) or _clean(reason) or f"HTTP status {code}",
        status=code,
        reason=reason,
        details=details,
        retry_after=retry_after,
        verb=verb,
        resource=resource,
        maybe_done=code >= 500 and verb not in ("get", "list", "watch"),
    )


def _kind(code: int, reason: str, details: Mapping[str, Any], verb: str) -> type[ApiError]:
    if code == 409:
        return Taken if reason == "AlreadyExists" else Clash
    if code == 422 and verb == "patch" and _is_clash(details):
        return Clash
    if code == 410 or reason in ("Expired", "Gone"):
        return Gone
    if code == 429 or code >= 500 or code == 0:
        return Unavailable
    return _BY_STATUS.get(code, ApiError)


def _is_clash(details: Mapping[str, Any]) -> bool:
    """Whether a patch met another state than it expected, or another object of the same name.

    A JSON patch that does not fit, such as one whose test failed, comes without causes.
    """
    causes = details.get("causes")
    fields = [one.get("field") for one in causes or [] if isinstance(one, dict)]
    return not causes or "metadata.uid" in fields


def _seconds(value: Any) -> float | None:
    """Return a count of seconds; a date, which the header may also hold, is not used."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _clean(message: Any) -> str:
    text = message if isinstance(message, str) else ""
    return _CONTROL.sub(" ", text).strip()[:_LONGEST]
