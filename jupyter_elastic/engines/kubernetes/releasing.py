"""Gives all objects of a cluster back, and says what could not be. Blocks: run it in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import Unreachable
from ...keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS, Api, Kind
from ...keeper.kube.errors import Clash, Missing
from . import labels, layout

GONE_SECONDS = 60.0  # a pod has 30 s to end, and its node some more to say so
POLL_SECONDS = 0.5


class Releaser:
    """Deletes by name and by label; may be repeated.

    Parameters
    ----------
    api
        The calls.
    sleep, clock
        Waiting, and monotonic seconds.
    """

    def __init__(
        self,
        api: Api,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._sleep = sleep
        self._clock = clock

    def release(self, cluster: str) -> None:
        """Delete everything of a cluster and wait until it is gone.

        The anchor goes last: until then any server sees that the cluster is being released and can
        go on with it.

        Raises
        ------
        Unreachable
            Some pods are still there after the time a node needs; they are named.
        """
        # The set first, or it would make new workers for those that go.
        self._delete(REPLICASETS, cluster)
        self._delete_pods(cluster)
        self._delete(SECRETS, layout.secret(cluster))
        self._wait(cluster)
        # The Job owns the anchor and the anchor everything else, in case anything was missed.
        self._delete(CONFIGMAPS, layout.keeper_map(cluster))
        self._delete(CONFIGMAPS, cluster)

    def _delete_pods(self, cluster: str) -> None:
        # The Job goes before its pod, or it would make the next one.
        self._delete(JOBS, cluster)
        self._api.delete_collection(PODS, labels.selector(cluster))

    def _delete(self, kind: Kind, name: str) -> None:
        try:
            if kind is not SECRETS:  # which we may not read, and whose name nobody else takes
                found = self._api.get(kind, name)
                if labels.cluster_of(found) is None:
                    return  # somebody else's object of this name is not ours to delete
                uid = found["metadata"]["uid"]
                self._api.delete(kind, name, uid=uid, propagation="Background")
            else:
                self._api.delete(kind, name)
        except (Missing, Clash):
            return

    def _wait(self, cluster: str) -> None:
        deadline = self._clock() + GONE_SECONDS
        while True:
            left, _ = self._api.list(PODS, labels.selector(cluster))
            if not left:
                return
            if self._clock() > deadline:
                names = ", ".join(_place(pod) for pod in left[:5])
                more = f" and {len(left) - 5} more" if len(left) > 5 else ""
                raise Unreachable(
                    f"These containers do not end: {names}{more}.",
                    hint="Their node may be silent; they go when it answers or is removed. "
                    "The release is tried again.",
                    code="containers_left",
                )
            self._sleep(POLL_SECONDS)


def _place(pod: dict[str, object]) -> str:
    metadata, spec = pod.get("metadata"), pod.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else "?"
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    return f"{name} on {node}" if node else f"{name}"
