"""Short questions to an API server: each is asked once and waits some seconds at most."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ...keeper.kube.access import Access
from ...keeper.kube.errors import ApiError, Forbidden, Missing
from ...keeper.kube.kinds import Kind
from ...keeper.kube.sender import Call, Sender

PATIENCE = 4.0  # seconds to connect, and of silence in an answer
MOST = 500  # objects of one answer; a finding needs no more

Json = dict[str, Any]


class Questions:
    """Asks about one namespace; thread-safe and blocking.

    Parameters
    ----------
    access
        Where the server is and who we are.
    patience
        Seconds that one answer may take to begin.
    """

    def __init__(self, access: Access, patience: float = PATIENCE) -> None:
        self.namespace = access.namespace
        self.server = access.server
        # Nothing is sent twice here; chance has nothing to spread.
        chance = random.Random(0)  # noqa: S311
        self._sender = Sender(access, patience, time.monotonic, time.sleep, time.time, chance)

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def version(self) -> str:
        """Return the server's version, such as ``v1.34.4``."""
        return str(self._ask("GET", "/version", "get", "version").get("gitVersion") or "unknown")

    def who(self) -> str:
        """Return the name the server knows us by; empty where it does not say."""
        try:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            found = self._review("authentication.k8s.io", "selfsubjectreviews", body)
        except (Forbidden, Missing):  # older than 1.28, or taken away
            return ""
        user = (found.get("status") or {}).get("userInfo") or {}
        return str(user.get("username") or "")

    def may(self, verb: str, group: str, resource: str, *, wide: bool = False) -> bool:
        """Return whether we may do something here, or with `wide` in all namespaces."""
        name, _, part = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": name, "subresource": part}
        if not wide:
            attributes["namespace"] = self.namespace
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        status = self._review("authorization.k8s.io", "selfsubjectaccessreviews", body)["status"]
        return isinstance(status, Mapping) and status.get("allowed") is True

    def objects(self, kind: Kind, selector: str = "") -> list[Json] | None:
        """Return objects of the namespace, or None where we may not look."""
        query = {"limit": str(MOST), "labelSelector": selector}
        return self._items(Call("GET", self._sender.path(kind), "list", kind.plural, query=query))

    def nodes(self) -> list[Json] | None:
        """Return the nodes, or None where we may not look."""
        path = f"{self._sender.prefix()}/api/v1/nodes"
        return self._items(Call("GET", path, "list", "nodes", query={"limit": str(MOST)}))

    def namespace_labels(self) -> Mapping[str, str] | None:
        """Return the labels of the namespace, or None where we may not look."""
        path = f"/api/v1/namespaces/{quote(self.namespace, safe='')}"
        try:
            found = self._ask("GET", path, "get", "namespaces")
        except Forbidden:
            return None
        return (found.get("metadata") or {}).get("labels") or {}

    def _items(self, call: Call) -> list[Json] | None:
        try:
            items = self._sender.send(call, tries=1).get("items")
        except Forbidden:
            return None
        return [item for item in items or [] if isinstance(item, dict)]

    def _review(self, group: str, resource: str, body: Json) -> Json:
        found = self._ask("POST", f"/apis/{group}/v1/{resource}", "create", resource, body)
        if "status" not in found:
            raise ApiError("The answer has no status.", verb="create", resource=resource)
        return found

    def _ask(
        self, method: str, path: str, verb: str, resource: str, body: Json | None = None
    ) -> Json:
        call = Call(method, self._sender.prefix() + path, verb, resource, body=body)
        return self._sender.send(call, tries=1)
