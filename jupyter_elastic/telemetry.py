"""Numbers for the server's own ``/metrics`` and one audit line in the log for each change."""

from __future__ import annotations

import logging

from prometheus_client import Counter, Gauge, Histogram

from .models import State

_log = logging.getLogger("jupyter_elastic.audit")

CLUSTERS = Gauge("jupyter_elastic_clusters", "Clusters that are known", ["engine"])
CONTAINERS = Gauge("jupyter_elastic_containers", "Containers by state", ["engine", "state"])
LIVE_RUNS = Gauge("jupyter_elastic_live_runs", "Training runs that live now", ["engine"])
CHANGES = Counter("jupyter_elastic_changes", "Changes by action and outcome", ["action", "outcome"])
TARGET_SECONDS = Histogram(
    "jupyter_elastic_target_seconds",
    "Time to answer a change of target",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)


def audit(
    action: str, cluster: str, by: str, *, outcome: str = "ok", **facts: str | int | float | None
) -> None:
    """Count a change and write its line. Values are quoted, so a name cannot forge one."""
    CHANGES.labels(action, outcome).inc()
    extra = "".join(f" {key}={value!r}" for key, value in facts.items())
    _log.info("elastic %s cluster=%r by=%r outcome=%s%s", action, cluster, by, outcome, extra)


def observe(state: State) -> None:
    """Set the gauges."""
    for gauge in (CLUSTERS, CONTAINERS, LIVE_RUNS):
        gauge.clear()
    for engine in state.engines:
        CLUSTERS.labels(engine.name).set(0)
        LIVE_RUNS.labels(engine.name).set(0)
    for cluster in state.clusters:
        CLUSTERS.labels(cluster.engine).inc()
        LIVE_RUNS.labels(cluster.engine).inc(sum(run.live for run in cluster.runs))
        for container in cluster.containers:
            CONTAINERS.labels(cluster.engine, container.state).inc()
