"""The state of one pod, since when, and why it is not ready, in words.

Pure: instants only, by the server's clock. A pod with missing or broken fields is unknown, never an
error.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...models import ContainerState, Reason
from . import endings, images, labels, quantities, scheduling
from .fields import Json, instant, mapping, mappings, number, text
from .happenings import Happenings
from .layout import CONTAINER
from .wording import reason

_CONFIG_PROBLEMS = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_SERVICE = {"launcher": "keeper", "worker": "sshd"}


@dataclass(frozen=True)
class Verdict:
    """What a pod is. ``since`` is the instant its state began."""

    state: ContainerState
    since: float
    reason: Reason | None = None


@dataclass(frozen=True)
class Pod:
    """A raw pod; ``kind`` is the GPU kind where that is all it wants of a node's labels."""

    raw: Json
    happenings: Happenings
    kind: str | None = None

    @property
    def uid(self) -> str:
        """Its uid, empty if that is missing."""
        return text(mapping(self.raw, "metadata").get("uid"))

    @property
    def name(self) -> str:
        """Its name, empty if that is missing."""
        return text(mapping(self.raw, "metadata").get("name"))

    @property
    def status(self) -> Json:
        """Its status."""
        return mapping(self.raw, "status")

    @property
    def role(self) -> str:
        """By its label; a worker if that is missing."""
        role = text(mapping(self.raw, "metadata", "labels").get(labels.ROLE))
        return role if role in _SERVICE else "worker"

    @property
    def created(self) -> float:
        """When it was made, 0 if that is missing."""
        return instant(mapping(self.raw, "metadata").get("creationTimestamp")) or 0.0

    @property
    def deleted(self) -> float:
        """When its deletion was asked for; the time it carries is when that is done by force."""
        metadata = mapping(self.raw, "metadata")
        due = instant(metadata.get("deletionTimestamp"))
        if due is None:
            return self.created
        return due - number(metadata.get("deletionGracePeriodSeconds"))

    @property
    def placed(self) -> bool:
        """Whether it has a node."""
        return bool(text(mapping(self.raw, "spec").get("nodeName")))

    def condition(self, kind: str) -> Json:
        """Return a condition of the status, an empty one if there is none."""
        found = (one for one in mappings(self.status.get("conditions")) if one.get("type") == kind)
        return next(found, {})

    def turned(self, kind: str) -> float:
        """Return when a condition changed last, else when the pod was made."""
        return instant(self.condition(kind).get("lastTransitionTime")) or self.created

    def containers(self) -> list[Json]:
        """Return the states of its containers: those that come first, then the main one."""
        first = mappings(self.status.get("initContainerStatuses"))
        rest = mappings(self.status.get("containerStatuses"))
        return first + sorted(rest, key=lambda one: one.get("name") != CONTAINER)

    def main(self) -> Json:
        """Return the state of the main container, an empty one if it has none yet."""
        return _main(mappings(self.status.get("containerStatuses")))

    @property
    def gpus(self) -> int:
        """How many GPUs its main container asks for."""
        main = _main(mappings(mapping(self.raw, "spec").get("containers")))
        limits = mapping(main, "resources", "limits")
        return sum(
            quantities.whole(value)
            for name, value in limits.items()
            if scheduling.is_gpu(str(name))
        )


def _main(containers: list[Json]) -> Json:
    """Return ours, else the first one: in mode `here` the launcher is a notebook's pod."""
    ours = (one for one in containers if one.get("name") == CONTAINER)
    return next(ours, containers[0] if containers else {})


def is_deleting(raw: Json) -> bool:
    """Whether an object is being deleted."""
    return bool(mapping(raw, "metadata").get("deletionTimestamp"))


def judge(pod: Pod) -> Verdict:
    """Return the state of a pod that is not leaving by our own wish.

    One that somebody deleted is leaving all the same, and nothing is left to decide about it.
    """
    if is_deleting(pod.raw):
        why = endings.deleting(pod.condition("DisruptionTarget"))
        return Verdict("draining", pod.deleted, why)
    phase = text(pod.status.get("phase"))
    if phase in ("Failed", "Succeeded"):
        return _ended(pod, phase)
    if phase == "Pending":
        return _not_started(pod)
    if phase == "Running":
        return _running(pod)
    if phase == "Unknown":
        return Verdict("unknown", pod.turned("Ready"), endings.NODE_SILENT)
    words = "What Kubernetes says about it cannot be read."
    return Verdict("unknown", pod.created, reason("unreadable", words, f"phase: {phase!r}"))


def _ended(pod: Pod, phase: str) -> Verdict:
    finished = [
        instant(mapping(one, "state", "terminated").get("finishedAt")) for one in pod.containers()
    ]
    since = max((time for time in finished if time is not None), default=pod.turned("Ready"))
    ended = mapping(pod.main(), "state", "terminated")
    why, message = text(pod.status.get("reason")), text(pod.status.get("message"))
    if phase == "Succeeded":
        return Verdict("failed", since, endings.exited(ended, 0))
    return Verdict("failed", since, endings.failed(why, message, ended))


def _not_started(pod: Pod) -> Verdict:
    scheduled = pod.condition("PodScheduled")
    if not pod.placed and scheduled.get("status") != "True":
        return Verdict("pending", pod.created, _no_node(pod, scheduled))
    since = pod.turned("PodScheduled")
    for one in pod.containers():
        problem = _problem(pod, one)
        if problem is not None:
            return Verdict("failed", since, problem)
    return Verdict("starting", since, _preparing(pod))


def _no_node(pod: Pod, scheduled: Json) -> Reason:
    if scheduled.get("reason") == "SchedulingGated":
        words = "It is held back by a queue of the cluster until there is room for it."
        return reason("gated", words, text(scheduled.get("message")))
    message = text(scheduled.get("message"))
    message = message or pod.happenings.message(pod.uid, "FailedScheduling")
    if not message:
        return reason("pending", "It waits for a node.")
    return scheduling.unschedulable(message, max(1, pod.gpus), pod.kind)


def _preparing(pod: Pod) -> Reason:
    """Say what a node does before it starts a container; trouble goes before progress."""
    happened = pod.happenings.newest(
        pod.uid,
        *("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Pulling", "Pulled"),
        *("NetworkNotReady", "Created", "Started", "SuccessfulAttachVolume"),
    )
    what, message = (happened.reason, happened.message) if happened is not None else ("", "")
    if what in ("FailedMount", "FailedAttachVolume"):
        return endings.no_volume(message)
    if what in ("FailedCreatePodSandBox", "NetworkNotReady"):
        return reason("network", "Its node cannot give it a network; it tries again.", message)
    if what == "Pulling":
        return reason("pulling", "Its image is being downloaded.", message)
    return reason("creating", "Its container is being made.", message)


def _problem(pod: Pod, container: Json) -> Reason | None:
    """Return what keeps a container from running, or None when nothing does."""
    waiting = mapping(container, "state", "waiting")
    why, message = text(waiting.get("reason")), text(waiting.get("message"))
    if why in images.WAITING:
        event = pod.happenings.message(pod.uid, "Failed")
        return images.not_there(text(container.get("image")), why, message, event)
    if why in _CONFIG_PROBLEMS:
        return endings.not_run(message)
    if why == "CrashLoopBackOff":
        last = mapping(container, "lastState", "terminated")
        return endings.exited(last, number(container.get("restartCount")), message)
    ended = mapping(container, "state", "terminated")
    if ended and ended.get("exitCode") != 0:
        return endings.exited(ended, number(container.get("restartCount")))
    return None


def _running(pod: Pod) -> Verdict:
    main = pod.main()
    if not main:
        words = "What Kubernetes says about its container cannot be read."
        return Verdict("unknown", pod.created, reason("unreadable", words))
    problem = _problem(pod, main)
    if problem is not None:
        return Verdict("failed", _stopped_at(pod, main), problem)
    if mapping(main, "state", "terminated"):
        ended = mapping(main, "state", "terminated")
        found = endings.exited(ended, number(main.get("restartCount")))
        return Verdict("failed", _stopped_at(pod, main), found)
    ready = pod.condition("Ready")
    if ready.get("status") == "True":
        return Verdict("ready", pod.turned("Ready"), _restarted(main))
    # What its containers say was said by the node; that the pod is not ready nevertheless was said
    # by somebody else, who does not hear of the node any more.
    calm = pod.condition("ContainersReady").get("status") == "True"
    if ready.get("status") == "Unknown" or (calm and not _gated(pod)):
        return Verdict("unknown", pod.turned("Ready"), endings.NODE_SILENT)
    return Verdict("starting", _unready_since(pod, main), _not_ready(pod, main))


def _stopped_at(pod: Pod, main: Json) -> float:
    for state in ("state", "lastState"):
        found = instant(mapping(main, state, "terminated").get("finishedAt"))
        if found is not None:
            return found
    return pod.turned("Ready")


def _unready_since(pod: Pod, main: Json) -> float:
    started = instant(mapping(main, "state", "running").get("startedAt"))
    return max(pod.turned("Ready"), started or 0.0)


def _gated(pod: Pod) -> bool:
    return text(pod.condition("Ready").get("reason")) == "ReadinessGatesNotReady"


def _not_ready(pod: Pod, main: Json) -> Reason:
    if _gated(pod):
        message = text(pod.condition("Ready").get("message"))
        return reason("gated", "It waits for a readiness gate of the cluster.", message)
    service = _SERVICE[pod.role]
    last = mapping(main, "lastState", "terminated")
    again = number(main.get("restartCount"))
    detail = pod.happenings.message(pod.uid, "Unhealthy")
    if last:
        before = endings.exited(last, again)
        return reason(before.code, f"{before.text} It is starting again.", detail or before.detail)
    if not mapping(main, "state", "running"):
        return reason("creating", "Its container is being made.", detail)
    words = f"Its {service} does not answer" + (" yet." if main.get("started") is not True else ".")
    return reason("not_ready", words, detail)


def _restarted(main: Json) -> Reason | None:
    """Return what happened to a container that is ready again, or None."""
    last = mapping(main, "lastState", "terminated")
    if not last:
        return None
    before = endings.exited(last, number(main.get("restartCount")))
    return reason("restarted", f"{before.text} It runs again.", before.detail)
