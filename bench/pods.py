"""Scaling with real pods: our share of it, and beside it what Kubernetes needs by itself."""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .measure import Row, percentile, spread
from .pods_watch import FileObserver, Observer, until

REPO = Path(__file__).parents[1]
sys.path.insert(0, str(REPO / "scripts"))

PAIRS = 10
JOINS = 200
MOST = 8  # containers, one GPU of the node each
NAMESPACE = "bench"


def rows() -> list[Row]:
    """Start a cluster, measure, and end it."""
    with _lab() as (lab, observer):
        made = lab.create()
        name = made["id"]
        with FileObserver(lab, made) as file:
            until(lambda: file.lines == 2, 20, "the host file on this machine")
            puts, ours, plain = _pairs(lab, observer, name)
            _joins(lab, observer, file, name)
            waits = [
                1000 * (file.listed[host] - at)
                for host, at in observer.ready.items()
                if observer.set_of[host] == name and host in file.listed
            ]
        ratio = statistics.median(ours) / statistics.median(plain)
        return [
            Row(
                "pods: `PUT target` to replicas, p95", percentile(puts, 95), "ms", 300, spread(puts)
            ),
            Row(
                "pods: 2 to 4 Ready, by the slider's way",
                statistics.median(ours),
                "s",
                None,
                spread(ours, 2),
            ),
            Row(
                "pods: 2 more Ready, by `kubectl scale`",
                statistics.median(plain),
                "s",
                None,
                spread(plain, 2),
            ),
            Row("pods: ratio of the two", ratio, "", 1.1, "of medians, pairs interleaved"),
            Row("pods: Ready to listed, p99", percentile(waits, 99), "ms", 1000, spread(waits)),
        ]


@contextlib.contextmanager
def _lab() -> Iterator[tuple[Any, Observer]]:
    from testcluster import cluster as clusters
    from testcluster import life, namespaces, sessions

    from tests.cluster.lab import ClusterLab

    existing, state = clusters.given(), sessions.folder()
    cluster = existing or life.start(state, life.Options(gpus=16))
    try:
        namespaces.create(cluster, NAMESPACE)
        lab = ClusterLab(cluster, NAMESPACE, drain_grace=0.5)
        try:
            lab.start()
            with Observer(cluster.kubeconfig, NAMESPACE) as observer:
                yield lab, observer
        finally:
            lab.close()
    finally:
        if existing is None:
            life.stop(state)
        else:
            namespaces.delete(existing, NAMESPACE)


def _pairs(lab: Any, observer: Observer, name: str) -> tuple[list[float], list[float], list[float]]:
    """Grow ours and a plain set in turn; returns ms of the PUTs, and s until two more are Ready."""
    puts: list[float] = []
    ours: list[float] = []
    plain: list[float] = []
    other = _plain_set(lab, name)
    until(lambda: len(observer.count_ready(other, 0.0)) == 1, 60, "the plain set")
    for turn in range(PAIRS):
        for mine in (True, False) if turn % 2 else (False, True):
            start = time.perf_counter()
            if mine:
                lab.put(f"clusters/{name}/target", {"size": 4})
                at = until(partial(observer.replicas_at, name, 3, start), 20, "replicas")
                puts.append(1000 * (at - start))
            else:
                _kubectl(lab, "scale", f"rs/{other}", "--replicas=3")
            which = name if mine else other
            ready = until(partial(observer.joined, which, start, 2), 60, "two more")
            (ours if mine else plain).append(ready[-1] - start)
            if mine:
                lab.wait_ready(name, 4)
                lab.put(f"clusters/{name}/target", {"size": 2})
                lab.wait_ready(name, 2)
            else:
                _kubectl(lab, "scale", f"rs/{other}", "--replicas=1")
            _settled(lab, name, other)
    _kubectl(lab, "delete", "rs", other)
    return puts, ours, plain


def _plain_set(lab: Any, name: str) -> str:
    """Make a set with the pods of ours that nobody but its controller looks after."""
    one = lab.cluster_object.get("rs", name, "--namespace", lab.namespace)
    labels = {"app": "plain"}
    template = one["spec"]["template"]
    template["metadata"] = {"labels": labels}
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "plain", "namespace": lab.namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    _kubectl(lab, "create", "--filename=-", stdin=json.dumps(made))
    return "plain"


def _settled(lab: Any, *names: str) -> None:
    """Wait until no pod is on its way out: it would use the cores of the next turn."""

    def quiet() -> bool:
        pods = lab.cluster_object.get("pods", "--namespace", lab.namespace)["items"]
        return not any(one["metadata"].get("deletionTimestamp") for one in pods) and len(pods) == 3

    lab.wait(quiet, seconds=60, what="three pods")


def _joins(lab: Any, observer: Observer, file: FileObserver, name: str) -> None:
    """Grow and shrink until so many pods have joined."""
    while sum(one == name for one in observer.set_of.copy().values()) < JOINS:
        for size in (MOST, 2):
            lab.put(f"clusters/{name}/target", {"size": size})
            lab.wait_ready(name, size, seconds=120)
            until(partial(file.has, size), 10, "the host file")


def _kubectl(lab: Any, *arguments: str, stdin: str = "") -> str:
    return str(lab.cluster_object.kubectl("--namespace", lab.namespace, *arguments, stdin=stdin))
