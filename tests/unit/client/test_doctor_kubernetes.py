"""The doctor on Kubernetes, against an API server in this process."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_elastic import cli, doctor
from jupyter_elastic.checks import kubernetes
from jupyter_elastic.checks.check import Check
from jupyter_elastic.checks.kube import hub, reviews, room
from jupyter_elastic.checks.kube.wanted import EXCESS, WANTED
from jupyter_elastic.checks.kubernetes import Target
from jupyter_elastic.keeper.kube.kinds import LIMITRANGES, PODS, PVCS, QUOTAS

from ...fakes.kube import FakeKube

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        server.least_rights((verb, right.resource) for right in WANTED for verb in right.verbs)
        yield server


@pytest.fixture
def target(kube: FakeKube, tmp_path: Path) -> Target:
    return Target(kubeconfig=str(kubeconfig(tmp_path, kube.url)), wanted=True)


def kubeconfig(folder: Path, server: str, namespace: str = "team") -> Path:
    path = folder / "kubeconfig"
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        ],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def run(target: Target, environ: dict[str, str] | None = None, **more: Any) -> dict[str, Check]:
    found = kubernetes.checks(target, environ or {}, **more)
    assert len({item.name for item in found}) == len(found)
    return {item.name: item for item in found}


def test_the_role_is_the_list() -> None:
    role = next(
        one
        for one in yaml.safe_load_all((DEPLOY / "role.yaml").read_text())
        if one["kind"] == "Role"
    )
    granted = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {(r.group, r.resource, verb) for r in WANTED for verb in r.verbs}
    assert not granted & {(one.group, one.resource, one.verb) for one in EXCESS if not one.wide}


def test_with_the_role_only(target: Target, kube: FakeKube) -> None:
    found = run(target)
    assert [item.name for item in found.values() if item.ok is False] == []
    assert found["rights beyond the role"].ok is True
    said = found["Kubernetes"].text
    assert "v1.34.4" in said
    assert "system:serviceaccount:team:user" in said
    assert "namespace team" in said
    assert all(found[f"right to {right.resource}"].ok for right in WANTED)
    # It only looks: nothing is created but reviews.
    assert {request.method for request in kube.requests} == {"GET", "POST"}
    assert all(
        request.resource.startswith("selfsubject")
        for request in kube.requests
        if request.method == "POST"
    )


def test_a_missing_verb_is_named_with_what_grants_it(target: Target, kube: FakeKube) -> None:
    kube.forbid("patch", "replicasets")
    found = run(target)
    lacking = found["right to replicasets"]
    assert lacking.ok is False
    assert lacking.text.startswith("patch not allowed in team: workers cannot be")
    role, binding = lacking.fix.removeprefix("Ask the administrator to run: ").split(" && ")
    assert shlex.split(role)[-3:] == [
        "--namespace=team",
        "--verb=patch",
        "--resource=replicasets.apps",
    ]
    assert "--serviceaccount=team:user" in shlex.split(binding)
    assert [name for name, item in found.items() if item.ok is False] == ["right to replicasets"]


def test_no_rights_at_all_ask_for_the_role(target: Target, kube: FakeKube) -> None:
    kube.least_rights([])
    found = run(target)
    lacking = [item for item in found.values() if item.ok is False]
    assert len(lacking) == len(WANTED)
    assert all(
        "kubectl apply --namespace=team --filename=deploy/role.yaml" in i.fix for i in lacking
    )
    assert found["quota"].ok is None
    assert "may not be listed" in found["storage"].text


@pytest.mark.parametrize("one", EXCESS, ids=lambda one: f"{one.verb}-{one.resource}-{one.wide}")
def test_too_much_is_a_warning(target: Target, kube: FakeKube, one: Any) -> None:
    kube.grant(one.verb, one.resource, wide=one.wide)
    found = run(target)["rights beyond the role"]
    assert found.ok is None
    assert one.means in found.text
    assert found.text.count(";") == 0
    assert "every notebook" in found.text
    assert found.fix


def test_of_everything_only_everything_is_said(target: Target, kube: FakeKube) -> None:
    kube.all_rights()
    found = run(target)["rights beyond the role"]
    assert found.text.endswith("do everything in the whole Kubernetes cluster")


def test_a_hub_is_refused_and_nothing_is_to_be_granted_there(
    target: Target, kube: FakeKube
) -> None:
    kube.put(
        PODS,
        {"metadata": {"name": "hub-1", "labels": {"app": "jupyterhub", "component": "hub"}}},
    )
    kube.forbid("create", "pods")
    found = run(target)
    refused = found[hub.NAME]
    assert refused.ok is False
    assert "hub-1" in refused.text
    assert "kubectl apply --namespace=NAME --filename=deploy/role.yaml" in refused.fix
    assert "kubectl" not in found["right to pods"].fix


def test_pods_of_users_are_no_hub(target: Target, kube: FakeKube) -> None:
    labels = {"app": "jupyterhub", "component": "singleuser-server"}
    kube.put(PODS, {"metadata": {"name": "jupyter-ann", "labels": labels}})
    assert run(target)[hub.NAME].ok is True


@pytest.mark.parametrize(
    ("url", "namespace"),
    [
        ("http://hub:8081/hub/api", "own"),
        ("http://hub.jhub:8081/hub/api", "jhub"),
        ("http://hub.jhub.svc.cluster.local:8081/hub/api", "jhub"),
        ("https://hub.example.org/hub/api", ""),
        ("http://10.0.0.7:8081/hub/api", ""),
        ("http://[::1]:8081/hub/api", ""),
        ("http://[", ""),
        ("http://localhost:8081", ""),
        ("", ""),
    ],
)
def test_where_a_hub_is_by_its_address(url: str, namespace: str) -> None:
    assert hub.hub_namespace(url, "own") == namespace


def test_the_hub_of_this_pod(kube: FakeKube, tmp_path: Path, target: Target) -> None:
    (tmp_path / "namespace").write_text("team")
    (tmp_path / "token").write_text("t")
    environ = {
        "KUBERNETES_SERVICE_HOST": "192.0.2.1",
        "JUPYTERHUB_API_URL": "http://hub:8081/hub/api",
    }
    assert run(target, environ, folder=str(tmp_path))[hub.NAME].ok is False
    (tmp_path / "namespace").write_text("elsewhere")
    assert run(target, environ, folder=str(tmp_path))[hub.NAME].ok is True


def test_quota_limits_gpus_and_storage(target: Target, kube: FakeKube) -> None:
    hard = {"pods": "4", "requests.nvidia.com/gpu": "2"}
    used = {"pods": "4", "requests.nvidia.com/gpu": "1"}
    kube.put(QUOTAS, {"metadata": {"name": "q"}, "status": {"hard": hard, "used": used}})
    limit = {"type": "Container", "max": {"memory": "8Gi"}}
    kube.put(LIMITRANGES, {"metadata": {"name": "l"}, "spec": {"limits": [limit, {"type": "Pod"}]}})
    kube.put(
        PVCS,
        {
            "metadata": {"name": "home"},
            "spec": {"accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Bound"},
        },
    )
    found = run(target)
    assert found["quota q"].ok is None
    assert found["quota q"].text.startswith("pods 4 of 4, requests.nvidia.com/gpu 1 of 2")
    assert found["quota q"].text.endswith("used up: pods")
    assert found["limits l, Container"].text == "max memory 8Gi"
    assert found["GPUs of Kubernetes"].text == "nvidia.com/gpu: quota 1 of 2 used"
    assert "home (ReadWriteOnce; Bound): none is ReadWriteMany" in found["storage"].text


def test_gpus_of_nodes_by_model() -> None:
    node = {
        "metadata": {"labels": {"model": "T4"}},
        "status": {"allocatable": {"nvidia.com/gpu": "4"}},
    }
    found = room.gpu_kinds([("nvidia.com/gpu", "model")], [], [node, node])
    assert found == Check("GPUs of Kubernetes", True, "nvidia.com/gpu: on nodes 8 T4")
    assert room.gpu_kinds([("nvidia.com/gpu", "model")], [], []).ok is None


@pytest.mark.parametrize(
    ("labels", "ok"), [({room.ENFORCE: "restricted"}, True), ({}, None), (None, None)]
)
def test_pod_security(labels: dict[str, str] | None, ok: bool | None) -> None:
    assert room.security(labels, "team").ok is ok


def test_no_answer_is_one_line(tmp_path: Path) -> None:
    found = run(Target(kubeconfig=str(kubeconfig(tmp_path, "http://127.0.0.1:9")), wanted=True))
    assert list(found) == ["package kubernetes", "Kubernetes"]
    assert found["Kubernetes"].ok is False
    assert "egress" in found["Kubernetes"].fix


def test_a_server_that_hangs_costs_bounded_time(target: Target, kube: FakeKube) -> None:
    kube.fail(action="silent", resource="selfsubjectaccessreviews", times=1000)
    begin = time.monotonic()
    found = kubernetes.checks(target, {}, seconds=0.7)
    assert time.monotonic() - begin < 3
    assert found[-1].ok is False
    assert "0.7 s" in found[-1].text
    assert found[1].ok is True  # what was known by then is said
    kube.cut()


def test_a_refusal_in_the_middle_is_no_traceback(target: Target, kube: FakeKube) -> None:
    kube.fail(status=500, resource="resourcequotas", action="answer")
    found = kubernetes.checks(target, {})
    assert found[-1].ok is False
    assert "resourcequotas" in found[-1].text


def test_unknown_account(target: Target, kube: FakeKube) -> None:
    kube.tokens = {"another"}
    assert "does not know this account" in run(target)["Kubernetes"].text


def test_nothing_anywhere_is_one_quiet_line(tmp_path: Path) -> None:
    (only,) = kubernetes.checks(
        Target(), {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "x")}
    )
    assert (only.ok, only.fix) == (None, "")


def test_a_kubeconfig_alone_is_not_asked(tmp_path: Path, kube: FakeKube) -> None:
    environ = {"KUBECONFIG": str(kubeconfig(tmp_path, kube.url))}
    (only,) = kubernetes.checks(Target(), environ)
    assert only.ok is None
    assert "--context c" in only.fix
    assert kube.requests == []


def test_unasked_nothing_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kube: FakeKube
) -> None:
    (tmp_path / "token").write_text("t")
    monkeypatch.setattr(kubernetes, "_connect", lambda *_: (kube.access(), "the account"))
    kube.least_rights([])
    found = run(Target(), {"KUBERNETES_SERVICE_HOST": "192.0.2.1"}, folder=str(tmp_path))
    assert len(found) > 10
    assert {item.ok for item in found.values()} == {True, None}


@pytest.mark.parametrize(
    ("version", "ok"),
    [("28.1.0", False), ("29.0.0", True), ("36.0.1", False), ("36.0.3", True), ("37.0.2", True)],
)
def test_package(version: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    assert kubernetes.package_version().ok is ok


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "pip install" in kubernetes.package_version().fix


def test_the_first_error_of_many_is_raised() -> None:
    def ask(item: int) -> int:
        if item == 3:
            raise ValueError(item)
        return item * 2

    assert reviews.together(ask, [2, 1]) == [4, 2]
    with pytest.raises(ValueError, match="3"):
        reviews.together(ask, range(20))


def test_command_line(
    target: Target, kube: FakeKube, capsys: pytest.CaptureFixture[str], runtime: Path
) -> None:
    kube.forbid("patch", "jobs")
    assert cli.main(["doctor", "--kubeconfig", target.kubeconfig, "--namespace", "other"]) == 1
    said = capsys.readouterr().out
    assert "namespace other" in said
    assert "FAIL right to jobs: patch not allowed in other" in said


def test_a_namespace_that_is_not_there(target: Target, kube: FakeKube) -> None:
    kube.grant("get", "namespaces")
    kube.delete_namespace()
    found = run(target)
    assert list(found)[-1] == "namespace"
    assert found["namespace"].ok is False
    assert "kubectl create namespace team" in found["namespace"].fix


def test_a_kubeconfig_that_is_not_there(runtime: Path, tmp_path: Path) -> None:
    target = Target(kubeconfig=str(tmp_path / "none"), wanted=True)
    last = doctor.run_checks(target=target)[-1]
    assert last.ok is False
    assert "There is no kubeconfig" in last.text
