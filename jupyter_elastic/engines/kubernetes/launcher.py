"""The launcher of mode `pod`: a Job, so that its end gives back all that it owns."""

from __future__ import annotations

from typing import Any

from . import labels, layout, objects, scripts
from .pod import Build, pod_template

RETRIES = 2**31 - 1  # a Job that gave up would take the whole cluster with it


def launcher_job(build: Build, created: float, *, suspended: bool = False) -> dict[str, Any]:
    """Return the Job.

    Parameters
    ----------
    created
        The instant, by the server's clock.
    suspended
        Whether it waits to be let go on: its pod needs objects that the Job itself owns.
    """
    template = pod_template(
        build,
        "launcher",
        command=scripts.launcher_command(build.spec.slots),
        ready=scripts.ready_command(scripts.LAUNCHER_READY),
        keys=layout.LAUNCHER_KEYS,
        given=[("keeper", layout.GIVEN, {"configMap": {"name": layout.keeper_map(build.id)}})],
    )
    annotations = {
        labels.NAME: build.spec.name,
        labels.ABOUT: objects.about_text(objects.about(build, created)),
    }
    spec: dict[str, Any] = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": RETRIES,
        "ttlSecondsAfterFinished": 0,
        "suspend": suspended,
        "template": template,
    }
    if build.config.max_lifetime is not None:
        spec["activeDeadlineSeconds"] = build.config.max_lifetime
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": objects.metadata(build, build.id, None, annotations),
        "spec": spec,
    }
