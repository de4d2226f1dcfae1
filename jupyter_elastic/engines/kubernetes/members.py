"""The rows of one cluster: its pods, and those that were not even created. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...models import ClusterSpec, Container, ContainerState, Gpu, HostEntry, Reason, Role
from . import labels, refusals, site
from .config import KubernetesConfig
from .fields import Json, instant, mapping, mappings, number, text
from .happenings import Happenings
from .notebook import Notebook
from .reasons import Pod, Verdict, is_deleting, judge

NOT_YET = Reason("creating", "It is about to be created.")
ELSEWHERE = Reason(
    "elsewhere",
    "Its launcher is the pod of another Jupyter server: open the cluster there. It can be scaled "
    "and released here as well.",
)
JOB_GONE = Reason("launcher_gone", "The launcher's Job was deleted by somebody.")


@dataclass(frozen=True)
class Parts:
    """The raw objects of one cluster; ``notebook`` is its launcher in mode `here`."""

    id: str
    anchor: Json | None = None
    job: Json | None = None
    workers: Json | None = None
    pods: tuple[Json, ...] = ()
    notebook: Notebook | None = None


@dataclass(frozen=True)
class Rows:
    """Containers, launcher first and then in the order of their creation, and their lines."""

    containers: tuple[Container, ...]
    lines: dict[str, HostEntry]


def uid_of(thing: Json | None) -> str:
    """Return the uid of an object, empty if it has none."""
    return text(mapping(thing, "metadata").get("uid"))


def replicas(workers: Json | None) -> int:
    """Return how many workers a ReplicaSet is to have."""
    return max(0, number(mapping(workers, "spec").get("replicas")))


def rows(
    parts: Parts,
    spec: ClusterSpec,
    config: KubernetesConfig,
    happenings: Happenings,
    changed: float | None,
) -> Rows:
    """Return the rows of a cluster, instants by the server's clock.

    Parameters
    ----------
    changed
        When the size was changed last.
    """
    return _Rows(parts, spec, config, happenings, changed).all()


def moved(container: Container, seconds: float) -> Container:
    """Return a container with all its instants moved."""
    return replace(
        container,
        since=container.since + seconds,
        created=None if container.created is None else container.created + seconds,
        drain_until=None if container.drain_until is None else container.drain_until + seconds,
    )


class _Rows:
    def __init__(
        self,
        parts: Parts,
        spec: ClusterSpec,
        config: KubernetesConfig,
        happenings: Happenings,
        changed: float | None,
    ) -> None:
        self._parts = parts
        self._spec = spec
        self._happenings = happenings
        self._changed = changed
        gpu = config.gpu(spec.gpu_kind)
        self._gpu = spec.gpu_kind or (gpu[0].title if gpu is not None else "GPU")
        ours = {uid_of(one) for one in (parts.anchor, parts.job, parts.workers)}
        kind = None if spec.node_selector or not spec.gpus_per_container else spec.gpu_kind
        pods = [Pod(one, happenings, kind) for one in parts.pods if not _is_foreign(one, ours)]
        pods.sort(key=lambda pod: (pod.created, pod.name))
        self._launchers = [pod for pod in pods if pod.role == "launcher"]
        self._members = [pod for pod in pods if pod.role == "worker" and _is_member(pod)]
        self._leavers = [pod for pod in pods if pod.role == "worker" and not _is_member(pod)]

    def all(self) -> Rows:
        launchers = self._launcher_rows()
        workers = [
            *((pod, self._row(pod, judge(pod))) for pod in self._shown()),
            *((pod, self._leaver(pod)) for pod in self._leavers),
        ]
        workers.sort(key=lambda pair: (pair[0].created, pair[0].name))
        there = [*launchers, *(row for _, row in workers)]
        lines = {
            row.uid: HostEntry(row.uid, row.name, row.host, self._spec.slots)
            for row in there
            if row.host is not None
        }
        return Rows((*there, *self._missing()), lines)

    # -- the launcher -------------------------------------------------------------------------

    def _launcher_rows(self) -> list[Container]:
        """Return the launcher first that lives, or will; an old one that is going comes after it.

        A pod that the Job replaces has another uid: it is another container.
        """
        pods = sorted(self._launchers, key=lambda pod: (is_deleting(pod.raw), -pod.created))
        notebook = self._parts.notebook
        alive = notebook is not None or any(_is_active(pod) for pod in pods)
        found = [self._row(pod, judge(pod)) for pod in pods if not (alive and _is_over(pod))]
        if notebook is not None and all(row.uid != notebook.uid for row in found):
            found.insert(0, self._notebook_row(notebook))
        if not alive and site.is_here(self._parts.anchor):
            found.insert(0, self._launcher_elsewhere())
        elif not alive:
            found.insert(0, self._missing_launcher())
        return found

    def _notebook_row(self, notebook: Notebook) -> Container:
        gpus = sum(number for _, number in notebook.gpus)
        since = instant(mapping(self._parts.anchor, "metadata").get("creationTimestamp")) or 0.0
        return Container(
            uid=notebook.uid,
            name=notebook.name,
            role="launcher",
            state="ready",
            since=since,
            host=notebook.host,
            gpus=self._gpus(gpus),
        )

    def _launcher_elsewhere(self) -> Container:
        """Return a Jupyter pod that we do not run in: the agreed list holds for it."""
        owner = site.owner_of(self._parts.anchor)
        since = instant(mapping(self._parts.anchor, "metadata").get("creationTimestamp")) or 0.0
        return Container(
            uid=text(owner.get("uid")),
            name=text(owner.get("name")) or "?",
            role="launcher",
            state="unknown",
            since=since,
            reason=ELSEWHERE,
        )

    def _missing_launcher(self) -> Container:
        job = self._parts.job
        since = instant(mapping(job or self._parts.anchor, "metadata").get("creationTimestamp"))
        refused = self._happenings.newest(uid_of(job), "FailedCreate") if job else None
        why = NOT_YET if job is not None else JOB_GONE
        if refused is not None and all(pod.created < refused.at for pod in self._launchers):
            why = refusals.not_created(refused.message)
        return Container(
            uid=f"{self._parts.id}/missing/launcher",
            name=f"{self._parts.id}-launcher",
            role="launcher",
            state="not created",
            since=since or 0.0,
            reason=why,
        )

    # -- workers ------------------------------------------------------------------------------

    def _shown(self) -> list[Pod]:
        """Return the members; what ended for good is shown until another one is in its place."""
        active = [pod for pod in self._members if _is_active(pod)]
        if len(active) >= replicas(self._parts.workers):
            return [pod for pod in self._members if not _is_over(pod)]
        return self._members

    def _leaver(self, pod: Pod) -> Container:
        until = text(mapping(pod.raw, "metadata", "annotations").get(labels.DRAIN_UNTIL))
        due = _number(until)
        since = pod.turned("Ready")
        if self._changed is not None and (due is None or self._changed <= due):
            since = max(since, self._changed)
        why = judge(pod).reason if is_deleting(pod.raw) else None
        # Once it is being deleted nobody waits for its rank any more.
        return self._row(pod, Verdict("draining", since, why), None if why else due)

    def _missing(self) -> list[Container]:
        """Return a row for each worker that is wanted and was not created."""
        workers = self._parts.workers
        count = replicas(workers) - sum(_is_active(pod) for pod in self._members)
        if count <= 0 or is_deleting(workers or {}):
            return []
        since, why = self._why_missing()
        return [
            Container(
                uid=f"{self._parts.id}/missing/{number}",
                name=f"{self._parts.id}-new-{number}",
                role="worker",
                state="not created",
                since=since,
                reason=why,
            )
            for number in range(1, count + 1)
        ]

    def _why_missing(self) -> tuple[float, Reason]:
        workers = self._parts.workers
        made = instant(mapping(workers, "metadata").get("creationTimestamp")) or 0.0
        asked = max(made, self._changed or 0.0)
        for one in mappings(mapping(workers, "status").get("conditions")):
            if one.get("type") == "ReplicaFailure" and one.get("status") == "True":
                since = instant(one.get("lastTransitionTime")) or asked
                return since, refusals.not_created(text(one.get("message")))
        refused = self._happenings.newest(uid_of(workers), "FailedCreate")
        # An event stays for an hour: it counts only while nothing was created after it.
        latest = max((pod.created for pod in self._members), default=asked)
        if refused is not None and refused.at >= max(latest, self._changed or 0.0):
            return asked, refusals.not_created(refused.message)
        return asked, NOT_YET

    # -- any ----------------------------------------------------------------------------------

    def _row(self, pod: Pod, verdict: Verdict, until: float | None = None) -> Container:
        role: Role = "launcher" if pod.role == "launcher" else "worker"
        state: ContainerState = verdict.state
        return Container(
            uid=pod.uid or f"{self._parts.id}/unreadable/{pod.name}",
            name=pod.name or "?",
            role=role,
            state=state,
            since=verdict.since,
            host=text(pod.status.get("podIP")) or None,
            gpus=self._gpus(pod.gpus) if pod.placed else (),
            reason=verdict.reason,
            created=pod.created or None,
            drain_until=until,
        )

    def _gpus(self, count: int) -> tuple[Gpu, ...]:
        return tuple(Gpu(index, self._gpu) for index in range(min(count, 64)))


def _is_foreign(pod: Json, ours: set[str]) -> bool:
    """Whether somebody else's controller made a pod with our labels."""
    owners = mappings(mapping(pod, "metadata").get("ownerReferences"))
    return bool(owners) and not any(text(one.get("uid")) in ours for one in owners)


def _is_member(pod: Pod) -> bool:
    """Whether the ReplicaSet counts it: a leaver has lost its label."""
    return labels.SET in mapping(pod.raw, "metadata", "labels")


def _is_over(pod: Pod) -> bool:
    return pod.status.get("phase") in ("Failed", "Succeeded") and not is_deleting(pod.raw)


def _is_active(pod: Pod) -> bool:
    """Whether the ReplicaSet counts it as one of those that are wanted."""
    return not is_deleting(pod.raw) and not _is_over(pod)


def _number(value: str) -> float | None:
    try:
        found = float(value)
    except ValueError:
        return None
    return found if 0.0 <= found < 1e12 else None


def ended(job: Json | None) -> Reason | None:
    """Return why a launcher Job is over for good, or None."""
    for one in mappings(mapping(job, "status").get("conditions")):
        if one.get("status") != "True":
            continue
        if one.get("type") in ("Complete", "SuccessCriteriaMet"):
            return Reason("given_back", "It was given back by its own rules.")
        if one.get("type") in ("Failed", "FailureTarget"):
            if one.get("reason") == "DeadlineExceeded":
                words = "The longest time that the administrator allows is over."
                return Reason("deadline", words, text(one.get("message")))
            return Reason(
                "launcher_failed", "Its launcher failed for good.", text(one.get("message"))
            )
    return None
