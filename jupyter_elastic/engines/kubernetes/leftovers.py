"""What is labelled as ours in a namespace but belongs to no living cluster, and its removal.

A cluster lives as long as its launcher Job or its anchor does. Whatever is doubtful counts as
living: a Job without an anchor that runs (a server makes the anchor again), an anchor whose owner
we may not read, everything that is younger than ten minutes.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS, Api, Kind
from ...keeper.kube.errors import ApiError, Clash, Forbidden, Missing
from ..decode import DecodeError
from . import anchor as anchors
from . import failures, labels

if TYPE_CHECKING:
    from ...keeper.kube.access import Access

Json = Mapping[str, Any]

SETTLED_SECONDS = 600.0  # a creation and a release take less, also through failures
# A set goes before its pods, or it would make new ones; what owns others goes last.
ORDER = (REPLICASETS, JOBS, PODS, SECRETS, CONFIGMAPS)
_WHAT = {
    REPLICASETS: "set of workers",
    JOBS: "launcher",
    PODS: "pod",
    SECRETS: "ssh keys",
    CONFIGMAPS: "record",
}


@dataclass(frozen=True)
class Leftover:
    """One object. ``age`` in seconds; ``going``: it is being deleted already."""

    kind: str
    name: str
    uid: str
    cluster: str
    age: float
    what: str
    going: bool = False


@dataclass(frozen=True)
class Report:
    """What a sweep found and did."""

    namespace: str
    found: tuple[Leftover, ...]
    living: tuple[str, ...]  # ids of clusters that were left alone
    deleted: tuple[str, ...] = ()  # uids
    failed: Mapping[str, str] = field(default_factory=dict)  # by uid, in words
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return it for a person."""
        rows = []
        for one in self.found:
            said = "left"
            if one.uid in self.deleted:
                said = "deleted"
            elif one.uid in self.failed:
                said = f"NOT deleted: {self.failed[one.uid]}"
            elif one.going:
                said = "is being deleted"
            rows.append(f"{one.kind}/{one.name}: {one.what}, {_age(one.age)} old: {said}")
        living = f"; living clusters: {', '.join(self.living)}" if self.living else ""
        if not rows:
            rows = [f"Nothing is left over in {self.namespace}{living}."]
        elif not self.deleted and not self.failed:
            rows.append(f"{len(rows)} left over in {self.namespace}{living}.")
            rows.append("Nothing was deleted; --delete does it.")
        else:
            rows.append(f"{len(self.deleted)} deleted in {self.namespace}{living}.")
        return [*rows, *self.notes]


def find(
    objects: Mapping[Kind, Sequence[Json]], owners: Mapping[str, bool], now: float
) -> tuple[list[Leftover], list[str]]:
    """Return what is left over, in the order to delete it, and the ids of living clusters. Pure.

    Parameters
    ----------
    objects
        Everything of the namespace that may be ours, by kind.
    owners
        Whether an owner of an anchor is there, by uid; one that is not named may be.
    now
        The server's time, seconds since 1970.
    """
    ours = [
        (kind, one, cluster)
        for kind in ORDER
        for one in objects.get(kind, ())
        if (cluster := labels.cluster_of(one)) is not None
    ]
    releasing = {cluster for kind, one, cluster in ours if _released(kind, one, cluster, now)}
    living = {
        cluster
        for kind, one, cluster in ours
        if cluster not in releasing and _lives(kind, one, cluster, owners, now)
    }
    found = [
        _leftover(kind, one, cluster, cluster in releasing, now)
        for kind, one, cluster in ours
        if cluster not in living and _since(one, now) >= SETTLED_SECONDS
    ]
    return found, sorted(living)


def _lives(kind: Kind, one: Json, cluster: str, owners: Mapping[str, bool], now: float) -> bool:
    metadata = one["metadata"]
    if _since(one, now) < SETTLED_SECONDS:
        return True  # being made, or being given back
    if metadata.get("name") != cluster or metadata.get("deletionTimestamp"):
        return False
    if kind is JOBS:
        conditions = (one.get("status") or {}).get("conditions") or []
        complete = any(
            item.get("type") == "Complete" and item.get("status") == "True" for item in conditions
        )
        # One that was never let go on has an anchor, or its creation stopped halfway.
        return not complete and not (one.get("spec") or {}).get("suspend")
    if kind is CONFIGMAPS:
        known = [owners.get(owner["uid"], True) for owner in metadata.get("ownerReferences") or []]
        return not known or any(known)
    return False


def _released(kind: Kind, one: Json, cluster: str, now: float) -> bool:
    """Whether this is the anchor of a cluster whose release was asked for and stopped."""
    if kind is not CONFIGMAPS or one["metadata"].get("name") != cluster:
        return False
    try:
        intent = anchors.read(one).intent
    except DecodeError:
        return False  # of a newer version, perhaps: not ours to judge
    return intent.releasing and _since(one, now) >= SETTLED_SECONDS


def _leftover(kind: Kind, one: Json, cluster: str, releasing: bool, now: float) -> Leftover:
    metadata = one["metadata"]
    why = "whose release stopped" if releasing else "that is gone"
    return Leftover(
        kind=kind.plural,
        name=str(metadata["name"]),
        uid=str(metadata["uid"]),
        cluster=cluster,
        age=max(0.0, now - _stamp(metadata.get("creationTimestamp"), now)),
        what=f"{_WHAT[kind]} of the cluster {cluster}, {why}",
        going=bool(metadata.get("deletionTimestamp")),
    )


def _since(one: Json, now: float) -> float:
    """Return the seconds since an object was made, written or deleted last."""
    metadata = one["metadata"]
    stamps = [metadata.get("creationTimestamp"), metadata.get("deletionTimestamp")]
    # Not the status: it changes for ever where a container does not start.
    stamps += [
        item.get("time")
        for item in metadata.get("managedFields") or []
        if item.get("subresource") != "status"
    ]
    # An object without any time is too odd to be touched: it counts as new.
    return now - max((_stamp(stamp, now) for stamp in stamps if stamp), default=now)


def _stamp(text: object, otherwise: float) -> float:
    try:
        return datetime.datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return otherwise


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"


def look(api: Api) -> tuple[list[Leftover], list[str], list[str]]:
    """Read the namespace; return leftovers, living clusters, and what could not be seen."""
    objects: dict[Kind, list[dict[str, Any]]] = {}
    notes = []
    for kind in ORDER:
        try:
            objects[kind] = api.list(kind, labels.selector())[0]
        except Forbidden:
            if kind is not SECRETS:
                raise  # half of the picture could take a living cluster for a dead one
            notes.append(
                "Secrets may not be listed, as it should be: ssh keys go with the record that owns "
                "them."
            )
    owners = _owners(api, objects)
    found, living = find(objects, owners, api.server_now())
    return found, living, notes


def _owners(api: Api, objects: Mapping[Kind, Sequence[Json]]) -> dict[str, bool]:
    """Return whether the owners of anchors are there, those that we may read."""
    readable = {"Job": JOBS, "Pod": PODS}
    there: dict[str, bool] = {}
    for anchor in objects[CONFIGMAPS]:
        for owner in anchor["metadata"].get("ownerReferences") or []:
            kind = readable.get(owner.get("kind"))
            if kind is None or owner["uid"] in there:
                continue
            try:
                there[owner["uid"]] = (
                    api.get(kind, owner["name"])["metadata"]["uid"] == owner["uid"]
                )
            except Missing:
                there[owner["uid"]] = False
            except Forbidden:
                continue
    return there


def delete(api: Api, leftovers: Sequence[Leftover]) -> tuple[list[str], dict[str, str]]:
    """Delete by uid; return the uids that went, and why others did not."""
    kinds = {kind.plural: kind for kind in ORDER}
    gone: list[str] = []
    failed: dict[str, str] = {}
    for one in leftovers:
        if one.going:
            continue
        try:
            api.delete(kinds[one.kind], one.name, uid=one.uid, propagation="Background")
        except (Missing, Clash):
            pass  # it went meanwhile, perhaps with its owner
        except ApiError as error:
            failed[one.uid] = error.message
            continue
        gone.append(one.uid)
    return gone, failed


def sweep(
    context: str = "", kubeconfig: str = "", namespace: str = "", *, delete: bool = False
) -> Report:
    """Connect, look, and with `delete` remove what is left over. Blocks.

    Raises
    ------
    ElasticError
        There is no such place, no answer, or a right is missing; nothing was deleted.
    """
    from .connection import connect

    access = connect(
        context=context or None, kubeconfig=kubeconfig or None, namespace=namespace or None
    )
    return sweep_by(access, delete=delete)


def sweep_by(access: Access, *, delete: bool = False) -> Report:
    """Do :func:`sweep` with an access."""
    with Api(access) as api:
        try:
            found, living, notes = look(api)
        except ApiError as error:
            raise failures.in_words(error, api.namespace) from error
        gone, failed = _delete(api, found) if delete else ([], {})
        return Report(api.namespace, tuple(found), tuple(living), tuple(gone), failed, tuple(notes))


_delete = delete
