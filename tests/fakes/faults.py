"""Faults on command: which request goes wrong, how, and how often."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request as it was received.

    Parameters
    ----------
    time
        Monotonic.
    verb, resource, name
        As a Role says it; `resource` with its subresource.
    """

    time: float
    method: str
    path: str
    verb: str
    resource: str
    name: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Fault:
    """What happens to requests instead of an answer, or to the answer.

    Parameters
    ----------
    verb, resource, name
        Which requests; empty for any.
    times
        How many of them; None until `clear`.
    skip
        How many of them pass before.
    status, body, headers
        An answer: `body` is a Status object's fields, or text.
    action
        ``answer``; ``silent`` (never answers), ``drop`` (closes without an answer), ``lost`` (does it
        and closes without an answer); for watches ``eof``, ``hush`` (200 and then nothing at all),
        ``rst``, ``half`` (a cut line), ``garbage``, ``lines`` (`lines` and then the end),
        ``error`` (an ERROR event with `body`).
    delay
        Seconds before anything happens.
    """

    verb: str = ""
    resource: str = ""
    name: str = ""
    times: int | None = 1
    skip: int = 0
    action: str = "answer"
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    lines: list[bytes] = field(default_factory=list)
    delay: float = 0.0
    hits: int = 0

    def clear(self) -> None:
        """Let all requests pass from now on."""
        self.times = 0

    def content(self) -> tuple[bytes, str]:
        """Return the bytes of the answer and their media type."""
        if isinstance(self.body, str):
            return self.body.encode(), "text/plain"
        return json.dumps(
            status_object(self.status, **(self.body or {}))
        ).encode(), "application/json"


class Faults:
    """The faults in force; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Put a fault in force; earlier ones go first."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def take(self, verb: str, resource: str, name: str) -> Fault | None:
        """Return the fault that meets a request."""
        with self._lock:
            for fault in self._faults:
                wanted = (fault.verb, fault.resource, fault.name)
                if any(
                    one not in ("", two)
                    for one, two in zip(wanted, (verb, resource, name), strict=True)
                ):
                    continue
                if fault.times == 0:
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                fault.hits += 1
                return fault
        return None


def status_object(
    code: int, reason: str = "", message: str = "", details: Json | None = None
) -> Json:
    """Return a Status object as the server writes it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success" if code < 400 else "Failure",
        "message": message,
        "reason": reason,
        "details": details or {},
        "code": code,
    }


class RefusedError(Exception):
    """An answer that is a Status object."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.status = status_object(code, reason, message, details)
        self.code = code


def missing(plural: str, name: str) -> RefusedError:
    """Return the answer for an object that is not there."""
    details = {"name": name, "kind": plural}
    return RefusedError(404, "NotFound", f'{plural} "{name}" not found', details)


def expired() -> RefusedError:
    """Return the answer for a version that is not kept."""
    return RefusedError(410, "Expired", "The resourceVersion is too old.")
