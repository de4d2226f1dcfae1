"""A Kubernetes API server for tests, in this process: it lies as the real one does, on command."""

from __future__ import annotations

import contextlib
import copy
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jupyter_elastic.keeper.kube.access import Access
from jupyter_elastic.keeper.kube.calls import Api, Kind

from .controllers import Controllers
from .faults import Fault, Faults, RefusedError, Request
from .rules import Admission, Rules
from .serving import Server
from .store import Json, Key, Store

__all__ = ["FakeKube", "Fault", "Request", "TokenAccess"]


class TokenAccess(Access):
    """An access with a token that a test can change; counts how often it was loaded again."""

    def __init__(self, server: str, namespace: str, token: str = "") -> None:
        super().__init__(server, namespace)
        self.token = token
        self.next_token: str | None = None
        self.reloads = 0

    def headers(self) -> dict[str, str]:
        """Return the token, where there is one."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def reload(self) -> None:
        """Take the next token."""
        self.reloads += 1
        if self.next_token is not None:
            self.token = self.next_token


class FakeKube:
    """The server; a context manager. Attributes may be set at any time.

    Parameters
    ----------
    namespace
        The one that exists.
    prefix
        Of all paths, as behind a gateway.
    context
        For TLS; None: plain HTTP.
    """

    def __init__(
        self,
        namespace: str = "team",
        *,
        prefix: str = "",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.namespace = namespace
        self.prefix = prefix
        self.store = Store()
        #: Each says why an object may not be made or changed so: (verb, plural, object) -> text or None.
        self.admission: list[Admission] = []
        self.rules = Rules(self.store, self.admission)
        self.rules.namespaces[namespace] = "Active"
        self.faults = Faults()
        #: Of the times in `requests`.
        self.clock: Callable[[], float] = time.monotonic
        #: Every request, in order, faults included.
        self.requests: list[Request] = []
        #: How often a watch says how far it is; None: never.
        self.bookmark_seconds: float | None = 1.0
        #: The tokens that are known; None: anybody.
        self.tokens: set[str] | None = None
        #: Output of containers by (pod, previous).
        self.logs: dict[tuple[str, bool], bytes] = {}
        self.watch_generation = 0
        self.controllers = Controllers(self.store, self.rules, namespace)
        self._forbidden: set[tuple[str, str]] = set()
        self._only: set[tuple[str, str]] | None = None
        self._wide: set[tuple[str, str]] = set()
        self._expired: set[str] = set()
        self._context = context
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._thread: threading.Thread | None = None
        self.port = 0

    # Life

    def __enter__(self) -> FakeKube:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.controllers.stop()
        self.down()

    def up(self) -> None:
        """Listen, on the same port as before."""
        self._server = Server(self, self.port, self._context)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def down(self, *, reset: bool = True) -> None:
        """Stop listening and cut all connections."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.server_close()
        if self._thread is not None:
            self._thread.join()
        deadline = time.monotonic() + 5
        while server.connections and time.monotonic() < deadline:
            server.cut(reset=reset)
            time.sleep(0.005)

    def cut(self, *, reset: bool = True) -> None:
        """Cut all connections; new ones are served."""
        if self._server is not None:
            self._server.cut(reset=reset)

    @property
    def url(self) -> str:
        """Address for an `Access`."""
        scheme = "http" if self._context is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}{self.prefix}"

    def access(self, token: str = "", *, port: int | None = None) -> TokenAccess:
        """Return an access, through a proxy's port where one is given."""
        url = self.url if port is None else self.url.replace(f":{self.port}", f":{port}")
        return TokenAccess(url, self.namespace, token)

    @contextlib.contextmanager
    def api(self, token: str = "", **options: Any) -> Iterator[Api]:
        """Give an `Api` and close it."""
        with Api(self.access(token), **options) as api:
            yield api

    # Objects, past the API

    def key(self, kind: Kind | str, name: str) -> Key:
        """Return the place of an object."""
        return Key(kind if isinstance(kind, str) else kind.plural, self.namespace, name)

    def put(self, kind: Kind | str, body: Json) -> Json:
        """Make an object."""
        return self.store.add(self.key(kind, body["metadata"]["name"]), body)

    def find(self, kind: Kind | str, name: str) -> Json | None:
        """Return an object."""
        return copy.deepcopy(self.store.find(self.key(kind, name)))

    def all(self, kind: Kind | str) -> list[Json]:
        """Return all objects of a kind, by name."""
        plural = kind if isinstance(kind, str) else kind.plural
        return [copy.deepcopy(found) for _, found in self.store.all(plural, self.namespace)]

    def edit(self, kind: Kind | str, name: str, edit: Callable[[Json], None]) -> Json:
        """Change an object in place."""
        return self.store.edit(self.key(kind, name), edit)

    def remove(self, kind: Kind | str, name: str) -> None:
        """Remove an object at once."""
        self.store.drop(self.key(kind, name))

    def delete_namespace(self, phase: str = "Gone") -> None:
        """Remove the namespace with all in it, or leave it ``Terminating``."""
        self.rules.namespaces[self.namespace] = phase
        for key, _ in self.store.all(namespace=self.namespace):
            self.store.drop(key)

    def restore_namespace(self) -> None:
        """Make the namespace again."""
        self.rules.namespaces[self.namespace] = "Active"

    # Faults

    def fail(self, **fields: Any) -> Fault:
        """Let requests go wrong; the fields are those of `Fault`."""
        return self.faults.add(Fault(**fields))

    def compact(self) -> None:
        """Forget the log: watches and pages from before are answered with 410."""
        self.store.compact()

    def expire_watches(self, plural: str) -> None:
        """Tell an open watch, by an event, that its version is not kept any more."""
        self._expired.add(plural)

    def end_watches(self) -> None:
        """End all open watches, as their time-out does."""
        self.watch_generation += 1

    def pop_expired(self, plural: str) -> bool:
        """Whether a watch is to be told; once."""
        with self._lock:
            if plural in self._expired:
                self._expired.discard(plural)
                return True
        return False

    def forbid(self, verb: str, resource: str) -> None:
        """Take a right away; ``*`` is every verb."""
        self._forbidden.add((verb, resource))

    def allow(self, verb: str, resource: str) -> None:
        """Give a right back."""
        self._forbidden.discard((verb, resource))

    def least_rights(self, rights: Iterable[tuple[str, str]]) -> None:
        """Leave these rights in the namespace, and none beyond it."""
        self._only = set(rights)
        self._wide = set()

    def grant(self, verb: str, resource: str, *, wide: bool = False) -> None:
        """Add a right to those of `least_rights`, in the namespace or in all of them."""
        (self._wide if wide or self._only is None else self._only).add((verb, resource))

    def all_rights(self) -> None:
        """Be an administrator of the whole cluster."""
        self._only, self._wide = None, {("*", "*")}

    # Asked by the HTTP side

    def note(self, request: Request) -> None:
        """Keep a request."""
        with self._lock:
            self.requests.append(request)

    def asked(self, verb: str = "", resource: str = "") -> list[Request]:
        """Return the requests so far, of a verb and of a resource where given."""
        with self._lock:
            return [
                request
                for request in self.requests
                if verb in ("", request.verb) and resource in ("", request.resource)
            ]

    def check_token(self, authorization: str | None) -> None:
        """Refuse whom we do not know."""
        token = (authorization or "").removeprefix("Bearer ")
        if self.tokens is not None and token not in self.tokens:
            raise RefusedError(401, "Unauthorized", "Unauthorized")

    def check(self, verb: str, resource: str, authorization: str | None) -> None:
        """Refuse whom we do not know, and what is forbidden."""
        self.check_token(authorization)
        if not self.permits(verb, resource):
            message = (
                f'{resource} is forbidden: User "system:serviceaccount:{self.namespace}:user" cannot '
                f'{verb} resource "{resource}" in API group "" in the namespace "{self.namespace}"'
            )
            raise RefusedError(403, "Forbidden", message, {"kind": resource})

    def permits(self, verb: str, resource: str) -> bool:
        """Whether a right is there."""
        asked = {(verb, resource), ("*", resource)}
        if asked & self._forbidden:
            return False
        return self._only is None or bool(asked & (self._only | self._wide))

    def review(self, body: Json) -> Json:
        """Answer a SelfSubjectAccessReview."""
        asked = body["spec"]["resourceAttributes"]
        resource = asked["resource"]
        if asked.get("subresource"):
            resource = f"{resource}/{asked['subresource']}"
        if asked.get("namespace"):
            allowed = self.permits(asked["verb"], resource)
        else:
            allowed = bool({(asked["verb"], resource), ("*", "*")} & self._wide)
        return {**body, "status": {"allowed": allowed}}

    def self_review(self, body: Json) -> Json:
        """Answer a SelfSubjectReview."""
        user = f"system:serviceaccount:{self.namespace}:user"
        return {**body, "status": {"userInfo": {"username": user}}}
