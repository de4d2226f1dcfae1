"""A cluster whose server is gone for good gives everything back by itself."""

from __future__ import annotations

import time

import pytest
from testcluster.cluster import Cluster

from .bare import BareLab

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


def test_nobody_comes_back(cluster: Cluster, namespace: str) -> None:
    lab = BareLab(cluster, namespace, kubernetes_idle_seconds=15.0)
    try:
        before = lab.objects()
        lab.start()
        lab.create()
        lab.kill()
        assert lab.objects() > before
        deadline = time.monotonic() + 15 + 90
        while lab.objects() != before:
            assert time.monotonic() < deadline, f"left: {lab.objects() - before}"
            time.sleep(1)
    finally:
        lab.close()


def test_release_gives_everything_back(cluster: Cluster, namespace: str) -> None:
    lab = BareLab(cluster, namespace)
    try:
        lab.start()
        before = lab.objects()
        made = lab.create(size=3)
        lab.delete(f"clusters/{made['id']}")
        lab.wait(lambda: lab.objects() == before, seconds=60, what=f"nothing left of {before}")
        assert not lab.get("clusters")["clusters"]
    finally:
        lab.close()
