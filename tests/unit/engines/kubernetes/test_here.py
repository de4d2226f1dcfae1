"""Clusters whose launcher is Jupyter's own pod: its keeper is a real one, the API server a fake."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines.base import ClusterFacts, ReleaseRules
from jupyter_elastic.engines.kubernetes import labels, ownpod
from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.engine import KubernetesEngine
from jupyter_elastic.engines.kubernetes.ownpod import OwnPod
from jupyter_elastic.engines.local.processes import keeper_of
from jupyter_elastic.errors import BadInput, Conflict, Forbidden
from jupyter_elastic.keeper.kube.calls import CONFIGMAPS, JOBS, PODS, REPLICASETS, SECRETS
from jupyter_elastic.models import ClusterSpec, HostList
from tests.fakes.kube import FakeKube

SPEC = ClusterSpec("tthvd", "horovod", 3, "kubernetes", launcher_mode="here", owner="ann")
IMAGE = "notebook:1"
# The address of this machine that proves that the pod is this one.
OWN = "127.0.0.1"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def notebook_pod(ip: str = OWN, gpus: int = 0) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "metadata": {"name": "jupyter-ann"},
        "spec": {
            "serviceAccountName": "jupyter-elastic",
            "nodeName": "node-1",
            "volumes": [
                {"name": "home", "persistentVolumeClaim": {"claimName": "home-ann"}},
                {"name": "token", "secret": {"secretName": "canary"}},
            ],
            "containers": [
                {
                    "name": "notebook",
                    "image": IMAGE,
                    "workingDir": "/home/ann",
                    "env": [{"name": "JUPYTERHUB_API_TOKEN", "value": "canary"}],
                    "resources": resources,
                    "volumeMounts": [{"name": "home", "mountPath": "/home/ann"}],
                }
            ],
        },
        "status": {"phase": "Running", "podIP": ip, "conditions": [READY]},
    }


@pytest.fixture(autouse=True)
def in_a_pod(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make this process Jupyter's pod, with a private folder and a user that is not root."""
    folder = tmp_path_factory.mktemp("r") / "r"
    monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(ownpod, "_unfit", lambda: "")
    return folder


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        server.controllers.start()
        server.put(PODS, notebook_pod())
        yield server


@pytest.fixture
def config(tmp_path: Path) -> KubernetesConfig:
    return KubernetesConfig(pod_name="jupyter-ann", host_folder=str(tmp_path / "mpi"))


MakeEngine = Callable[[], KubernetesEngine]


@pytest.fixture
async def make_engine(
    kube: FakeKube, config: KubernetesConfig, tmp_path: Path
) -> AsyncIterator[MakeEngine]:
    made: list[KubernetesEngine] = []

    def make() -> KubernetesEngine:
        made.append(KubernetesEngine(config, connect=kube.access, folder=tmp_path / "bridges"))
        return made[-1]

    yield make
    left = {thing["metadata"]["name"] for thing in kube.all(CONFIGMAPS)}
    for cluster in left:
        await made[-1].release(cluster)
    for engine in made:
        await engine.stop()


@pytest.fixture
def engine(make_engine: MakeEngine) -> KubernetesEngine:
    return make_engine()


async def seen(
    engine: KubernetesEngine, true: Callable[[tuple[ClusterFacts, ...]], bool]
) -> tuple[ClusterFacts, ...]:
    async def first() -> tuple[ClusterFacts, ...]:
        async for snapshot in engine.watch():
            if snapshot.health.state == "live" and true(snapshot.clusters):
                return snapshot.clusters
        raise AssertionError("the watch ended")

    return await asyncio.wait_for(first(), 20)


async def ready(engine: KubernetesEngine, size: int = 3) -> ClusterFacts:
    def all_ready(clusters: tuple[ClusterFacts, ...]) -> bool:
        return bool(clusters) and [one.state for one in clusters[0].containers] == ["ready"] * size

    return (await seen(engine, all_ready))[0]


def names(kube: FakeKube) -> set[str]:
    kinds = (PODS, REPLICASETS, JOBS, CONFIGMAPS, SECRETS)
    return {f"{kind.plural}/{one['metadata']['name']}" for kind in kinds for one in kube.all(kind)}


async def test_this_pod_is_the_launcher_and_workers_copy_it(
    engine: KubernetesEngine, kube: FakeKube
) -> None:
    cluster = await engine.create(SPEC, operation="once")
    assert await engine.create(SPEC, operation="once") == cluster
    facts = await ready(engine)
    launcher = facts.containers[0]
    assert (launcher.name, launcher.role, launcher.host) == ("jupyter-ann", "launcher", OWN)
    assert facts.slots_by_uid[launcher.uid].host == OWN
    assert kube.all(JOBS) == []
    pod = kube.find(PODS, "jupyter-ann")
    anchor = kube.find(CONFIGMAPS, cluster)
    assert pod is not None
    assert anchor is not None
    owners = anchor["metadata"]["ownerReferences"]
    assert [(one["kind"], one["uid"]) for one in owners] == [("Pod", pod["metadata"]["uid"])]
    workers = kube.find(REPLICASETS, cluster)
    assert workers is not None
    spec = workers["spec"]["template"]["spec"]
    container = spec["containers"][0]
    assert (container["image"], container["workingDir"]) == (IMAGE, "/home/ann")
    assert {"home-ann"} == {
        one["persistentVolumeClaim"]["claimName"]
        for one in spec["volumes"]
        if "persistentVolumeClaim" in one
    }
    assert spec["securityContext"]["runAsUser"] == (os.geteuid() or 1000)
    assert "canary" not in json.dumps(workers)
    assert "serviceAccountName" not in spec


async def test_the_keeper_here_writes_the_host_file_and_has_the_keys(
    engine: KubernetesEngine, in_a_pod: Path, config: KubernetesConfig
) -> None:
    cluster = await engine.create(SPEC)
    facts = await ready(engine)
    assert facts.host_folder == config.host_folder
    channel = await engine.keeper(cluster)
    hosts = HostList(1, tuple(facts.slots_by_uid[one.uid] for one in facts.containers))
    await engine.commit_hosts(cluster, hosts)
    await channel.publish(hosts)
    listed = (Path(facts.host_folder) / "hostfile").read_text().splitlines()
    assert [line.split()[0] for line in listed] == [one.host for one in facts.containers]
    ssh = in_a_pod / cluster / "ssh"
    assert ssh.stat().st_mode & 0o777 == 0o700
    assert (ssh / "id_ed25519").stat().st_mode & 0o777 == 0o600
    text = (in_a_pod / cluster / "ssh_config").read_text()
    assert f"IdentityFile {ssh}/id_ed25519" in text
    assert "Port 2222" in text
    argv = channel.attach_argv("abc")
    assert argv[-1] == str(in_a_pod / cluster / "shells" / "abc.sock")


async def test_a_second_cluster_has_a_host_folder_of_its_own(
    engine: KubernetesEngine, config: KubernetesConfig
) -> None:
    await engine.create(SPEC)
    await engine.create(dataclasses.replace(SPEC, name="other"))
    first, second = await seen(engine, lambda clusters: len(clusters) == 2)
    folders = {first.host_folder, second.host_folder}
    assert len(folders) == 2
    assert config.host_folder in folders


async def test_release_gives_back_objects_files_and_the_keeper(
    engine: KubernetesEngine, kube: FakeKube, in_a_pod: Path, config: KubernetesConfig
) -> None:
    before = names(kube)
    cluster = await engine.create(SPEC)
    await ready(engine)
    await (await engine.keeper(cluster)).set_rules(_rules(None))
    assert keeper_of(in_a_pod / cluster)
    await engine.release(cluster)
    assert names(kube) == before
    assert not (in_a_pod / cluster).exists()
    assert not list((in_a_pod / "here").iterdir())
    assert not os.path.exists(config.host_folder)


async def test_another_server_of_this_pod_takes_over(
    kube: FakeKube,
    config: KubernetesConfig,
    tmp_path: Path,
    make_engine: MakeEngine,
    in_a_pod: Path,
) -> None:
    engine = KubernetesEngine(config, connect=kube.access, folder=tmp_path / "bridges")
    cluster = await engine.create(SPEC)
    await ready(engine)
    await (await engine.keeper(cluster)).set_rules(_rules(None))
    living = keeper_of(in_a_pod / cluster)
    await engine.stop()
    again = make_engine()
    facts = await ready(again)
    assert facts.ended is None
    await (await again.keeper(cluster)).set_rules(_rules(60.0))
    assert keeper_of(in_a_pod / cluster) == living != set()


async def test_what_the_keeper_gives_back_by_its_rules_goes(
    engine: KubernetesEngine, kube: FakeKube
) -> None:
    before = names(kube)
    cluster = await engine.create(SPEC)
    await ready(engine)
    await (await engine.keeper(cluster)).set_rules(_rules(0.0))
    await seen(engine, lambda clusters: clusters == ())
    await engine.release(cluster)  # waits for the one that is under way
    assert names(kube) == before


async def test_a_lost_state_file_is_no_wish_while_the_keeper_lives(
    engine: KubernetesEngine, kube: FakeKube, in_a_pod: Path
) -> None:
    cluster = await engine.create(SPEC)
    await ready(engine)
    await (await engine.keeper(cluster)).set_rules(_rules(None))
    (living,) = keeper_of(in_a_pod / cluster)
    state = in_a_pod / "here" / f"{cluster}.json"
    content, before = state.read_text(), names(kube)
    state.unlink()
    await engine.refresh()
    (facts,) = await seen(engine, lambda clusters: clusters[0].ended is not None)
    await asyncio.sleep(3)  # longer than until the next look
    assert names(kube) == before, "nothing was given back"
    state.write_text(content)
    await engine.refresh()
    await seen(engine, lambda clusters: clusters[0].ended is None)
    assert keeper_of(in_a_pod / cluster) == {living}
    assert facts.id == cluster


async def test_another_start_of_the_pod_is_an_end(engine: KubernetesEngine, kube: FakeKube) -> None:
    cluster = await engine.create(SPEC)
    await ready(engine)

    def older(anchor: dict[str, Any]) -> None:
        anchor["metadata"]["annotations"][labels.BOOT] = "an earlier one"

    kube.edit(CONFIGMAPS, cluster, older)
    (facts,) = await seen(engine, lambda clusters: clusters[0].ended is not None)
    assert facts.ended is not None
    assert facts.ended.code == "restarted"


async def test_in_another_pod_the_launcher_is_unknown_and_stays_listed(
    engine: KubernetesEngine, kube: FakeKube
) -> None:
    cluster = await engine.create(SPEC)
    await ready(engine)

    pod = notebook_pod("192.0.2.7")
    pod["metadata"]["name"] = "jupyter-bob"
    other = kube.put(PODS, pod)["metadata"]["uid"]

    def elsewhere(anchor: dict[str, Any]) -> None:
        anchor["metadata"]["ownerReferences"][0].update({"uid": other, "name": "jupyter-bob"})

    kube.edit(CONFIGMAPS, cluster, elsewhere)
    (facts,) = await seen(engine, lambda clusters: clusters[0].containers[0].state != "ready")
    launcher = facts.containers[0]
    assert (launcher.name, launcher.state, launcher.uid) == ("jupyter-bob", "unknown", other)
    assert launcher.reason is not None
    assert launcher.reason.code == "elsewhere"
    assert facts.ended is None


async def test_options_offer_this_pod_first(engine: KubernetesEngine) -> None:
    options = await engine.options()
    assert (options.launcher_modes, options.launcher_note) == (("here", "pod"), "")
    assert options.launcher_gpus == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"here": False}, "does not allow"),
        ({"pod_name": "jupyter-bob"}, "is not in the namespace"),
    ],
)
async def test_without_this_pod_there_is_only_mode_pod(
    kube: FakeKube, config: KubernetesConfig, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    other = dataclasses.replace(config, **change)
    engine = KubernetesEngine(other, connect=kube.access, folder=tmp_path / "bridges")
    try:
        options = await engine.options()
        assert options.launcher_modes == ("pod",)
        assert words in options.launcher_note
        with pytest.raises(BadInput) as caught:
            await engine.create(SPEC)
        assert caught.value.detail["field"] == "launcher_mode"
        assert words in caught.value.message
    finally:
        await engine.stop()


def test_a_pod_of_the_same_name_at_another_address_is_not_this_one(
    kube: FakeKube, config: KubernetesConfig
) -> None:
    def moved(pod: dict[str, Any]) -> None:
        pod["status"]["podIP"] = "192.0.2.7"

    kube.edit(PODS, "jupyter-ann", moved)
    with kube.api() as api:
        site = OwnPod(api, config).site()
    assert site.notebook is None
    assert "its address is not here" in site.note


def test_outside_of_pods_nobody_is_asked(kube: FakeKube, config: KubernetesConfig) -> None:
    with kube.api() as api:
        site = OwnPod(api, dataclasses.replace(config, pod_name=""), environ={}).site()
    assert (site.notebook, site.note) == (None, "")
    assert kube.asked("get", "pods") == []


def test_other_images_make_a_launcher_of_its_own_the_default(
    kube: FakeKube, config: KubernetesConfig
) -> None:
    with kube.api() as api:
        site = OwnPod(api, config).site()
    assert site.modes(()) == (("here", "pod"), "")
    assert site.modes((IMAGE, "b:1")) == (("here", "pod"), "")
    modes, why = site.modes(("b:1",))
    assert modes == ("pod", "here")
    assert "image" in why


async def test_more_gpus_than_this_pod_has_are_refused(engine: KubernetesEngine) -> None:
    with pytest.raises(BadInput) as caught:
        await engine.create(dataclasses.replace(SPEC, gpus_per_container=1))
    assert caught.value.detail == {"field": "gpus_per_container", "limit": 0}


async def test_a_name_is_taken_once(engine: KubernetesEngine) -> None:
    await engine.create(SPEC)
    with pytest.raises(Conflict):
        await engine.create(SPEC)


async def test_a_refusal_leaves_nothing(
    engine: KubernetesEngine, kube: FakeKube, in_a_pod: Path, config: KubernetesConfig
) -> None:
    before = names(kube)
    kube.forbid("create", "secrets")
    with pytest.raises(Forbidden):
        await engine.create(SPEC)
    await seen(engine, lambda clusters: clusters == ())
    assert names(kube) == before
    assert not list((in_a_pod / "here").iterdir())
    assert not os.path.exists(config.host_folder)


def _rules(idle: float | None) -> ReleaseRules:
    return ReleaseRules(idle_seconds=idle)
