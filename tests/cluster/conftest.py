"""One real Kubernetes for all tests of this folder, and a namespace for each of them.

With ``KUBECONFIG`` and ``JUPYTER_ELASTIC_TEST_CLUSTER=1`` an existing cluster is used. Without
it one is started and ended here. Where that cannot be, the tests are skipped with the reason,
or fail with it if ``CI`` is set.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from testcluster import cluster as clusters
from testcluster import image, life, namespaces, programs, sessions
from testcluster.cluster import Cluster
from testcluster.faults import ClusterError
from testcluster.versions import BASE_IMAGE

OPTIONS = life.Options(gpus=8)
FAILED = pytest.StashKey[str]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: it takes minutes, and each test has a time limit."""
    needed = any("cluster" in getattr(item, "fixturenames", ()) for item in session.items)
    if not needed or session.config.option.collectonly or life.obstacles(OPTIONS):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            programs.ensure()
            image.ensure(BASE_IMAGE)
    except ClusterError as error:
        session.config.stash[FAILED] = str(error)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with one real node that claims 8 ``nvidia.com/gpu``."""
    existing = clusters.given()
    if existing is not None:
        yield existing
        return
    lacking = life.obstacles(OPTIONS)
    if lacking:
        reason = "No Kubernetes for the tests: " + "; ".join(lacking)
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    failed = request.config.stash.get(FAILED, "")
    if failed:
        pytest.fail(failed, pytrace=False)
    sessions.sweep()
    folder = sessions.folder()
    try:
        yield life.start(folder, OPTIONS)
    finally:
        life.stop(folder)


@pytest.fixture
def make_namespace(
    cluster: Cluster, request: pytest.FixtureRequest
) -> Iterator[Callable[..., str]]:
    """Make namespaces; ``make_namespace(security="baseline")`` returns the name of one."""
    stem = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40]
    made: list[str] = []

    def make(security: str = "restricted") -> str:
        name = f"t-{stem}-{secrets.token_hex(3)}"
        made.append(name)
        namespaces.create(cluster, name, security=security)
        return name

    yield make
    for name in made:
        namespaces.delete(cluster, name, seconds=0)


@pytest.fixture
def namespace(make_namespace: Callable[..., str]) -> str:
    """A namespace in which Pod Security ``restricted`` is enforced; it ends with the test."""
    return make_namespace()
