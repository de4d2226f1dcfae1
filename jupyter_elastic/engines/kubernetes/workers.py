"""The workers: one ReplicaSet, which heals them with no server alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import labels, layout, objects, scripts
from .pod import Build, pod_template

AT_THE_END = 5  # seconds of a pod's grace that its own end takes


def worker_set(build: Build, owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ReplicaSet; ``replicas`` is the size without the launcher.

    Parameters
    ----------
    owner
        The anchor.
    """
    seconds = build.config.termination_seconds - AT_THE_END
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": objects.metadata(build, build.id, owner),
        "spec": {
            "replicas": build.spec.size - 1,
            "selector": {"matchLabels": labels.set_selector(build.id)},
            "template": pod_template(
                build,
                "worker",
                command=scripts.worker_command(),
                ready=scripts.ready_command(scripts.WORKER_READY),
                stop=scripts.worker_stop_command(seconds),
                keys=layout.WORKER_KEYS,
            ),
        },
    }
