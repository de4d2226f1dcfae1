"""Makes the objects of a new cluster, all of them or none. Blocks: run it in a thread."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from ...errors import Conflict
from ...keeper import build as keeper_build
from ...keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS, Api, Kind
from ...keeper.kube.errors import ApiError, Missing, Taken, Unavailable
from ...models import ClusterSpec
from ...naming import ALPHABET, NONCE_LENGTH, cluster_id, nonce
from . import anchor as anchors
from . import keys, labels
from .config import KubernetesConfig
from .launcher import launcher_job
from .objects import about, anchor, keeper_map, owner, ssh_secret
from .pod import Build
from .validation import validate
from .workers import worker_set

Json = dict[str, Any]
_log = logging.getLogger(__name__)


class Creator:
    """Creates clusters of the launcher mode `pod`.

    The Job comes first and waits: it owns everything else, so whatever goes wrong on the way, its
    deletion takes all of it back. It is let go on last, when all that its pod needs is there.

    Parameters
    ----------
    api
        The calls.
    programs
        Launcher programs for which the keeper holds a starter.
    """

    def __init__(self, api: Api, config: KubernetesConfig, programs: tuple[str, ...]) -> None:
        self._api = api
        self._config = config
        self._programs = programs

    def create(self, spec: ClusterSpec, operation: str) -> str:
        """Create a cluster and return its id; the same operation, the same id.

        Raises
        ------
        BadInput
            A value that cannot be; with its field.
        Conflict
            The owner has a cluster of this name, or somebody else an object of this id.
        LimitReached, Forbidden
            Quota, LimitRange, Pod Security or a webhook refuse it; nothing is made then.
        """
        validate(spec, self._config)
        unique = nonce_of(operation) if operation else nonce()
        build = Build(cluster_id(spec.name, unique), spec, self._config, operation or unique)
        if self._made_before(build):
            return build.id
        created = self._api.server_now()
        job = launcher_job(build, created, suspended=True)
        self._try_out(build, job)
        made = self._create(JOBS, job, build)
        try:
            self._rest(build, made, created)
        except BaseException:
            self._take_back(build, made)
            raise
        return build.id

    def plan(self, spec: ClusterSpec) -> None:
        """Check all that a creation would check, without making anything."""
        validate(spec, self._config)
        build = Build(cluster_id(spec.name, nonce()), spec, self._config, nonce())
        self._try_out(build, launcher_job(build, self._api.server_now(), suspended=True))

    def _made_before(self, build: Build) -> bool:
        """Look for a cluster of this name, and for what this very operation has made."""
        found, _ = self._api.list(CONFIGMAPS, labels.selector())
        for thing in found:
            if thing["metadata"]["name"] == build.id and _same(thing, build):
                return True
            try:
                known = anchors.read(thing)
            except ValueError:
                continue  # the keeper's, or one that cannot be read: its name is not known
            other = known.about.spec
            if (other.name, other.owner) == (build.spec.name, build.spec.owner):
                raise Conflict(
                    f"There is a cluster named {build.spec.name!r} already.",
                    hint="Choose another name, or release that one.",
                    detail={"field": "name", "cluster": known.id},
                    code="name_taken",
                )
        return False

    def _try_out(self, build: Build, job: Json) -> None:
        """Let the API server judge all of it: quota and Pod Security look at pods only."""
        workers = worker_set(build, nobody(build))
        self._api.create(JOBS, job, dry_run=True)
        self._api.create(REPLICASETS, workers, dry_run=True)
        for template in (job["spec"]["template"], workers["spec"]["template"]):
            metadata = {**template["metadata"], "generateName": f"{build.id}-"}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
            self._api.create(PODS, {**pod, "spec": template["spec"]}, dry_run=True)

    def _rest(self, build: Build, job: Json, created: float) -> None:
        top = owner(job, "Job", "batch/v1")
        made = self._create(CONFIGMAPS, anchor(build, about(build, created), top), build)
        below = owner(made, "ConfigMap", "v1")
        program = keeper_build.packed()
        self._create(CONFIGMAPS, keeper_map(build, below, program, self._programs), build)
        self._create(SECRETS, ssh_secret(build, below, keys.generate()), build)
        self._create(REPLICASETS, worker_set(build, below), build)
        self._api.merge_patch(JOBS, build.id, {"spec": {"suspend": False}})

    def _create(self, kind: Kind, body: Json, build: Build) -> Json:
        """Create one object; one that this operation made already is the one."""
        try:
            return self._api.create(kind, body)
        except (Taken, Unavailable) as error:
            if isinstance(error, Unavailable) and not error.maybe_done:
                raise
            found = self._found(kind, body["metadata"]["name"])
            if found is None:
                raise
            if not _same(found, build):
                raise Conflict(
                    f"There is a {kind.plural[:-1]} named {build.id} already, and it is not ours.",
                    hint="Choose another name.",
                    detail={"field": "name", "owner": _whose(found)},
                    code="name_taken",
                ) from None
            return found

    def _found(self, kind: Kind, name: str) -> Json | None:
        if kind is SECRETS:  # which we may not read; it goes with its owner
            return None
        try:
            return self._api.get(kind, name)
        except Missing:
            return None

    def _take_back(self, build: Build, job: Json) -> None:
        """Leave nothing half made; what cannot be deleted now is found by its label later."""
        deletions: list[Callable[[], None]] = [
            lambda: self._api.delete(REPLICASETS, build.id, propagation="Background"),
            lambda: self._api.delete(
                JOBS, build.id, uid=job["metadata"]["uid"], propagation="Background"
            ),
        ]
        for delete in deletions:
            try:
                delete()
            except Missing:
                continue
            except ApiError as error:
                _log.warning(
                    "Cluster %s was not made, and is not all taken back: %s", build.id, error
                )


def nonce_of(operation: str) -> str:
    """Return the part of an id that the same operation gets again."""
    value = int.from_bytes(hashlib.sha256(operation.encode()).digest()[:8], "big")
    letters = []
    for _ in range(NONCE_LENGTH):
        value, digit = divmod(value, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(letters)


def _same(thing: Json, build: Build) -> bool:
    notes = thing["metadata"].get("annotations") or {}
    return labels.cluster_of(thing) == build.id and notes.get(labels.OPERATION) == build.operation


def _whose(thing: Json) -> str:
    marks = thing["metadata"].get("labels") or {}
    return str(marks.get(labels.MANAGED_BY) or "somebody else")[:80]


def nobody(build: Build) -> Json:
    """Return an owner for a trial, in which no owner is looked for."""
    return owner({"metadata": {"name": build.id, "uid": "trial"}}, "ConfigMap", "v1")
