"""The calls we make, over raw JSON."""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Literal, Mapping, Sequence, overload
from urllib.parse import quote

from .access import Access
from .errors import ApiError, Gone, Missing, Unavailable
from .kinds import (
    CONFIGMAPS,
    EVENTS,
    JOBS,
    LIMITRANGES,
    NETWORKPOLICIES,
    PODS,
    PVCS,
    QUOTAS,
    REPLICASETS,
    SECRETS,
    SERVICES,
    Kind,
)
from .sender import TRIES, Call, Json, Sender
from .streams import ByteStream, Watch

__all__ = [
    "CONFIGMAPS",
    "EVENTS",
    "JOBS",
    "LIMITRANGES",
    "NETWORKPOLICIES",
    "PODS",
    "PVCS",
    "QUOTAS",
    "REPLICASETS",
    "SECRETS",
    "SERVICES",
    "Api",
    "Kind",
]

MANAGER = "jupyter-elastic"
PAGE = 250


class Api:
    """The API server, for one namespace; thread-safe and blocking.

    A call raises an `errors.ApiError`. Calls that may go twice are tried up to three times when
    there is no answer; the others only when they surely did not arrive. A write whose
    `Unavailable.maybe_done` is true may have happened: ask for the object by its name.

    Parameters
    ----------
    access
        Where the server is and who we are.
    timeout
        Seconds to connect, and of silence in an answer; a whole answer may take six times that.
    clock, sleep, wall, rng
        Monotonic seconds, waiting, local time since 1970, and chance.
    """

    def __init__(
        self,
        access: Access,
        *,
        timeout: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wall: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self._clock = clock
        self._timeout = timeout
        # Chance spreads the tries of many; it hides nothing.
        chance = rng or random.Random()  # noqa: S311
        self._sender = Sender(access, timeout, clock, sleep, wall, chance)

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; those in use close when their call ends."""
        self._sender.close()

    @property
    def namespace(self) -> str:
        """Where all calls go."""
        return self._sender.access.namespace

    @property
    def server_time_offset(self) -> float:
        """Seconds to add to the local clock to have the server's."""
        return self._sender.time.offset

    def server_now(self) -> float:
        """Return the server's time, seconds since 1970; steps of the local clock do not show."""
        return self._sender.time.now()

    # Reading

    def get(self, kind: Kind, name: str) -> Json:
        """Return one object."""
        return self._sender.send(self._call("GET", "get", kind, name))

    def list(
        self,
        kind: Kind,
        selector: str = "",
        limit: int = PAGE,
        *,
        trim: Callable[[Json], Json] | None = None,
        retry: bool = True,
    ) -> tuple[list[Json], str]:
        """Return the newest objects and the version of the list.

        Parameters
        ----------
        kind, selector
            Which ones; a label selector.
        limit
            How many in one answer; more answers are fetched.
        trim
            What to keep of an object, so that a long list is never in memory as a whole.
        retry
            False when the caller decides when to ask again.
        """
        tries = TRIES if retry else 1
        for last in (False, True):
            items: list[Json] = []
            token = ""
            try:
                while True:
                    page = self._page(kind, selector, limit, token, tries)
                    found = page["items"]
                    items += map(trim, found) if trim else found
                    token = page["continue"]
                    if not token:
                        return items, page["version"]
            except Gone:
                # The server kept the rest of the list for some minutes only.
                if last or not token:
                    raise
        raise AssertionError("unreachable")  # pragma: no cover

    def _page(self, kind: Kind, selector: str, limit: int, token: str, tries: int) -> Json:
        query = {"limit": str(limit), "labelSelector": selector, "continue": token}
        answer = self._sender.send(self._call("GET", "list", kind, query=query), tries=tries)
        items, metadata = answer.get("items"), answer.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        version = metadata.get("resourceVersion")
        if not isinstance(items, (type(None), list)) or not isinstance(version, str) or not version:
            raise Unavailable("The answer is not a list.", verb="list", resource=kind.plural)
        return {
            "items": [item for item in items or [] if isinstance(item, dict)],
            "version": version,
            "continue": metadata.get("continue") or "",
        }

    @overload
    def log(
        self,
        pod: str,
        container: str | None = None,
        previous: bool = False,
        tail_bytes: int | None = None,
    ) -> bytes: ...

    @overload
    def log(
        self,
        pod: str,
        container: str | None = None,
        previous: bool = False,
        tail_bytes: int | None = None,
        *,
        follow: Literal[True],
    ) -> ByteStream: ...

    def log(
        self,
        pod: str,
        container: str | None = None,
        previous: bool = False,
        tail_bytes: int | None = None,
        *,
        follow: bool = False,
    ) -> bytes | ByteStream:
        """Return the output of a container, or an iterator over it as it comes.

        Parameters
        ----------
        pod, container
            Names; None where there is one container only.
        previous
            That of the container before the last restart.
        tail_bytes
            At most so much of its end; about so much where it is followed. None: all of it.
        follow
            Whether to go on with what comes later.
        """
        # The server counts lines only: so many that they hardly are too few; the rest is cut off.
        query = {
            "container": container or "",
            "previous": "true" if previous else "",
            "tailLines": "" if tail_bytes is None else str(max(1, tail_bytes // 16)),
            "follow": "true" if follow else "",
        }
        call = self._call("GET", "get", PODS, pod, "log", query=query)
        stream = ByteStream(self._sender.open(call, None if follow else self._timeout))
        return stream if follow else _tail(stream, tail_bytes)

    def watch(
        self,
        kind: Kind,
        version: str,
        selector: str = "",
        timeout_seconds: int = 300,
        *,
        silence: float = 70.0,
    ) -> Watch:
        """Return an iterator over the events after a version; `interrupt` it from any thread.

        Parameters
        ----------
        kind, selector
            Of which objects; a label selector.
        version
            Of the list, or of the last event.
        timeout_seconds
            When the server should end it.
        silence
            Seconds without a byte after which it counts as dead.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(timeout_seconds),
            "labelSelector": selector,
        }
        stream = self._sender.open(self._call("GET", "watch", kind, query=query), silence)
        return Watch(stream, kind.plural, self._clock() + timeout_seconds + silence, self._clock)

    def review(self, verb: str, group: str, resource: str, subresource: str = "") -> bool:
        """Return whether we may do something in this namespace."""
        attributes = {"namespace": self.namespace, "verb": verb, "group": group}
        attributes.update(resource=resource, subresource=subresource)
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        reviews = "selfsubjectaccessreviews"
        path = f"{self._sender.prefix()}/apis/authorization.k8s.io/v1/{reviews}"
        status = self._sender.send(Call("POST", path, "create", reviews, body=body)).get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def namespace_ends(self) -> bool:
        """Return whether the namespace is gone or going; False also where we may not know."""
        path = f"{self._sender.prefix()}/api/v1/namespaces/{quote(self.namespace, safe='')}"
        try:
            found = self._sender.send(Call("GET", path, "get", "namespaces"), tries=1)
        except Missing:
            return True
        except ApiError:
            return False
        status = found.get("status")
        return isinstance(status, dict) and status.get("phase") == "Terminating"

    # Writing

    def create(self, kind: Kind, body: Json, dry_run: bool = False) -> Json:
        """Make an object and return it as the server has it; `Taken` when the name is in use."""
        query = {"fieldManager": MANAGER, "dryRun": "All" if dry_run else ""}
        call = self._call("POST", "create", kind, query=query, body=body, again=dry_run)
        return self._sender.send(call)

    def delete(
        self,
        kind: Kind,
        name: str,
        *,
        uid: str | None = None,
        propagation: str | None = None,
        grace: int | None = None,
    ) -> None:
        """Delete an object.

        Parameters
        ----------
        kind, name
            Which one.
        uid
            Only if it still is this one; `Clash` when not.
        propagation
            ``Foreground``, ``Background`` or ``Orphan``: what becomes of the objects it owns.
        grace
            Seconds for a pod to end by itself.
        """
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        if propagation is not None:
            body["propagationPolicy"] = propagation
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        self._sender.send(self._call("DELETE", "delete", kind, name, body=body))

    def delete_collection(self, kind: Kind, selector: str) -> None:
        """Delete all objects that a label selector means; it must not be empty."""
        if not selector:
            raise ValueError("delete_collection needs a selector.")
        query = {"labelSelector": selector}
        self._sender.send(self._call("DELETE", "deletecollection", kind, query=query))

    def json_patch(self, kind: Kind, name: str, ops: Sequence[Json]) -> Json:
        """Change an object by a JSON patch; `Clash` when one of its tests fails."""
        return self._patch(kind, name, ops, "json-patch+json", again=False)

    def merge_patch(self, kind: Kind, name: str, body: Json) -> Json:
        """Change an object by a merge patch; with `metadata.resourceVersion` only that version."""
        metadata = body.get("metadata")
        versioned = isinstance(metadata, dict) and "resourceVersion" in metadata
        return self._patch(kind, name, body, "merge-patch+json", again=not versioned)

    def apply(self, kind: Kind, name: str, body: Json, manager: str = MANAGER) -> Json:
        """Make or change an object so that the fields of `body` hold, whoever wrote them before."""
        query = {"fieldManager": manager, "force": "true"}
        return self._patch(kind, name, body, "apply-patch+yaml", query=query)

    def _patch(
        self,
        kind: Kind,
        name: str,
        body: Any,
        content: str,
        *,
        query: Mapping[str, str] | None = None,
        again: bool = True,
    ) -> Json:
        query = query or {"fieldManager": MANAGER}
        content = f"application/{content}"
        call = self._call(
            "PATCH", "patch", kind, name, query=query, body=body, content=content, again=again
        )
        return self._sender.send(call)

    def _call(
        self, method: str, verb: str, kind: Kind, name: str = "", part: str = "", **rest: Any
    ) -> Call:
        path = self._sender.path(kind, name) + (f"/{part}" if part else "")
        resource = f"{kind.plural}/{part}" if part else kind.plural
        return Call(method, path, verb, resource, **rest)


def _tail(stream: ByteStream, most: int | None) -> bytes:
    kept = bytearray()
    with stream:
        for data in stream:
            kept += data
            if most is not None and len(kept) > 2 * most:
                del kept[: len(kept) - most]
    return bytes(kept if most is None else kept[max(0, len(kept) - most) :])
