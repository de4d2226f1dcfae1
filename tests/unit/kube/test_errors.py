"""One class per decision of a caller, out of any answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_elastic.keeper.kube import errors

INVALID = {"causes": [{"field": "spec", "message": "no"}]}


def answer(status: int, body: Any, verb: str = "get", **headers: str) -> errors.ApiError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return errors.from_answer(status, named, data, verb=verb, resource="pods")


def status(**fields: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", **fields}


@pytest.mark.parametrize(
    ("code", "reason", "verb", "details", "kind"),
    [
        (400, "BadRequest", "create", {}, errors.ApiError),
        (401, "Unauthorized", "get", {}, errors.Unauthenticated),
        (403, "Forbidden", "get", {}, errors.Forbidden),
        (404, "NotFound", "get", {}, errors.Missing),
        (409, "AlreadyExists", "create", {}, errors.Taken),
        (409, "Conflict", "patch", {}, errors.Clash),
        (410, "Expired", "watch", {}, errors.Gone),
        (410, "Gone", "list", {}, errors.Gone),
        (422, "Invalid", "create", INVALID, errors.Invalid),
        (422, "Invalid", "patch", INVALID, errors.Invalid),
        (422, "Invalid", "patch", {}, errors.Clash),
        (422, "Invalid", "patch", {"causes": [{"field": "metadata.uid"}]}, errors.Clash),
        (422, "Invalid", "create", {"causes": [{"field": "metadata.uid"}]}, errors.Invalid),
        (422, "Invalid", "patch", {"causes": ["odd"]}, errors.Invalid),
        (422, "Invalid", "patch", {"causes": "odd"}, errors.Invalid),
        (429, "TooManyRequests", "get", {}, errors.Unavailable),
        (500, "InternalError", "get", {}, errors.Unavailable),
        (503, "ServiceUnavailable", "get", {}, errors.Unavailable),
        (504, "Timeout", "get", {}, errors.Unavailable),
        (302, "", "get", {}, errors.ApiError),
    ],
)
def test_class(
    code: int, reason: str, verb: str, details: Any, kind: type[errors.ApiError]
) -> None:
    body = status(reason=reason, message="words", details=details)
    found = answer(code, body, verb)
    assert type(found) is kind
    assert (found.status, found.reason, found.details) == (code, reason, details)
    assert (found.verb, found.resource) == (verb, "pods")
    assert str(found) == f"{verb} pods: words"


@pytest.mark.parametrize("body", [b"", b"slow down", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000])
def test_any_body_makes_an_error(body: bytes) -> None:
    found = answer(429, body)
    assert isinstance(found, errors.Unavailable)
    assert found.message


def test_json_that_is_no_status_is_text() -> None:
    assert answer(502, {"message": {"a": 1}, "code": 200}).status == 502


def test_odd_fields_of_a_status() -> None:
    found = answer(409, status(reason=7, message=None, details=[1], code="x"))
    assert isinstance(found, errors.Clash)
    assert (found.reason, found.details, found.message) == ("", {}, "HTTP status 409")


def test_control_characters_and_length_of_a_message() -> None:
    found = answer(500, ("a\x1b[31m\r\nb" + "c" * 5000).encode())
    assert found.message.startswith("a [31m b")
    assert len(found.message) == 1024


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("7", {}, 7.0),
        ("7", {"retryAfterSeconds": 3}, 7.0),
        (None, {"retryAfterSeconds": 3}, 3.0),
        (None, {"retryAfterSeconds": 0}, None),
        (None, {"retryAfterSeconds": "soon"}, None),
        ("-1", {}, None),
        ("inf", {}, None),
        ("nan", {}, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", {}, None),
        (None, {}, None),
    ],
)
def test_retry_after(header: str | None, details: Any, seconds: float | None) -> None:
    headers = {} if header is None else {"retry_after": header}
    assert answer(429, status(details=details), **headers).retry_after == seconds


@pytest.mark.parametrize(
    ("code", "verb", "maybe"),
    [
        (500, "create", True),
        (504, "patch", True),
        (500, "get", False),
        (429, "create", False),
        (409, "create", False),
    ],
)
def test_whether_it_may_have_happened(code: int, verb: str, maybe: bool) -> None:
    assert answer(code, b"", verb).maybe_done is maybe


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"code": 410, "reason": "Expired"}, errors.Gone),
        ({"reason": "Expired"}, errors.Gone),
        ({"code": 504}, errors.Unavailable),
        ({"code": 403}, errors.Forbidden),
        ({}, errors.Unavailable),
        ({"code": "410"}, errors.Unavailable),
    ],
)
def test_error_events(fields: Any, kind: type[errors.ApiError]) -> None:
    assert type(errors.from_status(fields, verb="watch", resource="pods")) is kind


def test_every_class_can_be_made_from_words_alone() -> None:
    assert errors.Unauthenticated("no").status == 401
    assert str(errors.Unavailable("no")) == "no"
    assert errors.Unavailable("no").status == 0
