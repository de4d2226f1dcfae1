"""What the fake API server does with objects: the verbs, without HTTP."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from typing import Any

from .faults import RefusedError, expired, missing, status_object
from .patches import PatchFailedError, json_patch, merge_patch, selects
from .store import Json, Key, Store, labels_of

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
#: The status that the server gives to a new object.
_NEW: dict[str, Json] = {
    "pods": {"phase": "Pending"},
    "replicasets": {"replicas": 0},
    "jobs": {},
}
#: Says why an object may not be made or changed so, or None.
Admission = Callable[[str, str, Json], "str | None"]


class Rules:
    """Verbs on the objects of a store.

    Parameters
    ----------
    store
        Where they are.
    admission
        Asked before each create and change: verb, plural, object.
    """

    def __init__(self, store: Store, admission: list[Admission]) -> None:
        self.store = store
        self.admission = admission
        self.namespaces: dict[str, str] = {}
        self.terminate: Callable[[Key, Json, int], None] = lambda key, _found, _grace: self._drop(
            key
        )
        self._rng = random.Random(7)

    def _drop(self, key: Key) -> None:
        self.store.drop(key)

    def get(self, key: Key) -> Json:
        """Return one object."""
        found = self.store.find(key)
        if found is None:
            raise missing(key.plural, key.name)
        return found

    def list(self, plural: str, namespace: str, query: dict[str, str]) -> Json:
        """Return a page of objects; later pages come from the version of the first."""
        limit = int(query.get("limit") or 0)
        with self.store.lock:
            version, start = self.store.version, ""
            if query.get("continue"):
                token = json.loads(base64.b64decode(query["continue"]))
                version, start = token["version"], token["start"]
                if version < self.store.oldest:
                    raise expired()
            found = [
                (key, item)
                for key, item in self.store.all(plural, namespace)
                if selects(query.get("labelSelector", ""), labels_of(item)) and key.name > start
            ]
        page = found[:limit] if limit else found
        metadata: Json = {"resourceVersion": str(version)}
        if len(page) < len(found):
            token = {"version": version, "start": page[-1][0].name}
            metadata["continue"] = base64.b64encode(json.dumps(token).encode()).decode()
            metadata["remainingItemCount"] = len(found) - len(page)
        items = [item for _, item in page]
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}

    def create(self, plural: str, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Keep a new object."""
        metadata = body.get("metadata") or {}
        name = metadata.get("name") or self._generated(metadata.get("generateName", ""))
        key = Key(plural, namespace, name)
        self._check("create", key, body)
        if self.namespaces.get(namespace, "Active") != "Active":
            raise self._no_namespace(namespace)
        with self.store.lock:
            if self.store.find(key):
                message = f'{plural} "{name}" already exists'
                details = {"name": name, "kind": plural}
                raise RefusedError(409, "AlreadyExists", message, details)
            if dry_run:
                return {**body, "metadata": {**metadata, "name": name, "namespace": namespace}}
            if plural in _NEW:
                body = {**body, "status": dict(_NEW[plural])}
            return self.store.add(key, body)

    def patch(self, key: Key, body: Any, content: str, *, dry_run: bool = False) -> Json:
        """Change an object by one of the three kinds of patches; apply also makes it."""
        with self.store.lock:
            found = self.store.find(key)
            if found is None:
                if "apply-patch" in content:
                    return self.create(key.plural, key.namespace, body, dry_run=dry_run)
                raise missing(key.plural, key.name)
            if "json-patch" in content:
                try:
                    fresh = json_patch(found, body)
                except PatchFailedError:
                    message = "the server rejected our request due to an error in our request"
                    raise RefusedError(422, "Invalid", message) from None
            else:
                self._check_expected(key, found, body)
                fresh = merge_patch(found, body)
            return self._replace("patch", key, found, fresh, dry_run)

    def update(self, key: Key, body: Json, *, dry_run: bool = False) -> Json:
        """Replace an object."""
        with self.store.lock:
            found = self.get(key)
            self._check_expected(key, found, body)
            return self._replace("update", key, found, body, dry_run)

    def delete(self, key: Key, options: Json) -> Json:
        """Delete an object, a pod with its grace."""
        with self.store.lock:
            found = self.get(key)
            wanted = (options.get("preconditions") or {}).get("uid")
            if wanted and wanted != found["metadata"]["uid"]:
                message = f"the UID in the precondition ({wanted}) does not match"
                raise RefusedError(409, "Conflict", message, {"name": key.name})
            if options.get("propagationPolicy") == "Orphan":
                self._orphan(found["metadata"]["uid"])
            grace = options.get("gracePeriodSeconds")
            if grace is None:
                grace = (found.get("spec") or {}).get("terminationGracePeriodSeconds", 30)
            if key.plural == "pods" and grace > 0:
                self.terminate(key, found, grace)
            else:
                self.store.drop(key)
        return status_object(200)

    def delete_collection(self, plural: str, namespace: str, selector: str, options: Json) -> Json:
        """Delete all that a selector means."""
        for key, item in self.store.all(plural, namespace):
            if selects(selector, labels_of(item)):
                self.delete(key, options)
        return status_object(200)

    def _orphan(self, uid: str) -> None:
        for key, _ in self.store.owned([uid]):
            self.store.edit(key, lambda item: item["metadata"].pop("ownerReferences"))

    def _replace(self, verb: str, key: Key, found: Json, fresh: Json, dry_run: bool) -> Json:
        for fixed in ("uid", "name"):
            value = fresh["metadata"].get(fixed)
            if value != found["metadata"][fixed]:
                message = f'Invalid value: "{value}": field is immutable'
                causes = [{"field": f"metadata.{fixed}", "message": message}]
                raise RefusedError(422, "Invalid", message, {"name": key.name, "causes": causes})
        version = found["metadata"]["resourceVersion"]
        fresh = {**fresh, "metadata": {**fresh["metadata"], "resourceVersion": version}}
        self._check(verb, key, fresh)
        return fresh if dry_run else self.store.change(key, fresh)

    def _check_expected(self, key: Key, found: Json, body: Json) -> None:
        wanted = (body.get("metadata") or {}).get("resourceVersion")
        if wanted and wanted != found["metadata"]["resourceVersion"]:
            message = (
                f'Operation cannot be fulfilled on {key.plural} "{key.name}": the object has been '
                "modified; please apply your changes to the latest version and try again"
            )
            raise RefusedError(409, "Conflict", message, {"name": key.name, "kind": key.plural})

    def _check(self, verb: str, key: Key, body: Json) -> None:
        causes = []
        if len(key.name) > 253 or not _NAME.fullmatch(key.name):
            causes.append({"field": "metadata.name", "message": f"Invalid value: {key.name!r}"})
        for name, value in labels_of(body).items():
            if not _LABEL.fullmatch(str(value)):
                causes.append(
                    {"field": "metadata.labels", "message": f"Invalid value: {name}={value}"}
                )
        if causes:
            message = f'{key.plural} "{key.name}" is invalid: {causes[0]["field"]}: {causes[0]["message"]}'
            raise RefusedError(422, "Invalid", message, {"name": key.name, "causes": causes})
        for rule in self.admission:
            refusal = rule(verb, key.plural, body)
            if refusal:
                message = f'{key.plural} "{key.name}" is forbidden: {refusal}'
                raise RefusedError(
                    403, "Forbidden", message, {"name": key.name, "kind": key.plural}
                )

    def _no_namespace(self, namespace: str) -> RefusedError:
        if self.namespaces[namespace] == "Terminating":
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            causes = [{"reason": "NamespaceTerminating", "message": message}]
            return RefusedError(403, "Forbidden", message, {"causes": causes})
        return missing("namespaces", namespace)

    def _generated(self, prefix: str) -> str:
        return prefix + "".join(self._rng.choice(_SUFFIX) for _ in range(5))
