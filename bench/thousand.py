"""A cluster of 1,000 containers: what the server needs for it, and how far behind it is.

The launcher is a real pod; its workers are on nodes that exist in the API only (kwok), so that
one machine can have that many.
"""

from __future__ import annotations

import contextlib
import gzip
import statistics
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.harness.lab import TOKEN

from .measure import Row, percentile, spread
from .pods_watch import FileObserver, Observer, until
from .ticker import Ticker

REPO = Path(__file__).parents[1]
sys.path.insert(0, str(REPO / "scripts"))

SIZE = 1000
NODES = 8
READS = 30
NAMESPACE = "thousand"
SECONDS = 900


def rows() -> list[Row]:
    """Start a cluster, grow to 1,000, and end it."""
    with _lab() as (lab, observer):
        made = lab.create(gpus_per_container=1)
        name = made["id"]
        # Only the nodes without a machine take the others.
        lab.cluster_object.kubectl("cordon", "--selector=type!=kwok")
        server = psutil.Process(lab.process.pid)
        time.sleep(5)
        before = server.memory_info().rss
        with FileObserver(lab, made) as file, Ticker(lab) as ticker:
            started = time.perf_counter()
            lab.put(f"clusters/{name}/target", {"size": SIZE})
            until(lambda: file.lines == SIZE, SECONDS, f"{SIZE} lines; there are {file.lines}")
            grown = time.perf_counter() - started
            behind = [
                1000 * (file.listed[host] - at)
                for host, at in observer.ready.items()
                if host in file.listed and at > started
            ]
        time.sleep(5)
        added = (server.memory_info().rss - before) / 2**20
        whole, size, same = _reads(lab)
        return [
            Row("1,000 pods: memory added to the server", added, "MB", 80),
            Row(
                "1,000 pods: Ready to listed, p99",
                percentile(behind, 99),
                "ms",
                1000,
                spread(behind),
            ),
            Row("1,000 pods: whole state", statistics.median(whole), "ms", 100, spread(whole)),
            Row("1,000 pods: whole state, gzip", size, "kB", 60),
            Row("1,000 pods: unchanged (304)", statistics.median(same), "ms", 5, spread(same)),
            Row(
                "1,000 pods: longest stall beyond a control process",
                ticker.stall,
                "ms",
                50,
                ticker.words,
            ),
            Row("1,000 pods: from 2 to all listed", grown, "s", None, "kwok and its controllers"),
        ]


def _reads(lab: Any) -> tuple[list[float], float, list[float]]:
    """Return ms of whole answers, their kB in gzip, and ms of answers that nothing changed."""
    url = f"http://127.0.0.1:{lab.port}/jupyter-elastic/clusters"
    whole, same, tag, body = [], [], "", b""
    for _ in range(READS):
        headers = {"Authorization": f"token {TOKEN}"}
        start = time.perf_counter()
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            body, tag = answer.read(), answer.headers["ETag"]
        whole.append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        with contextlib.suppress(urllib.error.HTTPError):
            request = urllib.request.Request(url, headers={**headers, "If-None-Match": tag})
            urllib.request.urlopen(request).close()
            continue  # it has changed: not what is measured here
        same.append(1000 * (time.perf_counter() - start))
    return whole, len(gzip.compress(body, 6)) / 1000, same


@contextlib.contextmanager
def _lab() -> Iterator[tuple[Any, Observer]]:
    from testcluster import kwok, life, namespaces, sessions

    from tests.cluster.lab import ClusterLab

    state = sessions.folder()
    # A cluster of its own: its real node is closed for the workers.
    cluster = life.start(state, life.Options(gpus=4, kwok_nodes=NODES, kwok_gpus=SIZE // NODES + 1))
    try:
        namespaces.create(cluster, NAMESPACE)
        template = {"spec": {"tolerations": [kwok.TOLERATION]}}
        lab = ClusterLab(
            cluster, NAMESPACE, drain_grace=0.5, max_size=SIZE, kubernetes_pod_template=template
        )
        cluster.kubectl("cordon", "--selector=type=kwok")
        try:
            lab.start()
            with Observer(cluster.kubeconfig, NAMESPACE) as observer:
                yield lab, observer
        finally:
            lab.close()
    finally:
        life.stop(state)
