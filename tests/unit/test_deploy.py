"""The files of ``deploy/`` say what they are for, and nothing that their readers do not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_elastic.checks.kube.wanted import WANTED
from jupyter_elastic.engines.kubernetes import labels
from jupyter_elastic.traits import ElasticTraits

DEPLOY = Path(__file__).parents[2] / "deploy"
OBJECTS = ("role.yaml", "networkpolicy.yaml", "hub-clusterrole.yaml", "kubeflow-notebook.yaml")
VALUES = ("zero-to-jupyterhub.yaml", "zero-to-jupyterhub-training-namespace.yaml")

# Names of KubeSpawner 7's traits, from the class KubeSpawner in kubespawner/spawner.py.
SPAWNER = {
    "allow_privilege_escalation",
    "automount_service_account_token",
    "container_security_context",
    "enable_user_namespaces",
    "environment",
    "hub_connect_url",
    "modify_pod_hook",
    "pod_security_context",
    "service_account",
    "user_namespace_labels",
    "user_namespace_template",
}
# Keys of the chart's values.yaml (zero-to-jupyterhub 2 and later) that the files use.
CHART = {
    "hub": {"networkPolicy", "config", "extraConfig"},
    "singleuser": {"networkPolicy", "cloudMetadata", "extraFiles"},
}


def load(name: str) -> list[Any]:
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def test_every_file_is_tested_here_and_told_in_the_readme() -> None:
    assert {path.name for path in DEPLOY.glob("*.yaml")} == {*OBJECTS, *VALUES}
    readme = (DEPLOY / "README.md").read_text()
    assert [name for name in (*OBJECTS, *VALUES) if f"({name})" not in readme] == []


def test_every_right_is_told_in_the_readme() -> None:
    readme = (DEPLOY / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("| ")]
    for right in WANTED:
        assert any(f"`{right.resource}`" in row for row in rows), right.resource


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(name: str) -> None:
    for one in load(name):
        assert one["apiVersion"]
        assert one["kind"]
        assert one["metadata"]["name"].startswith("jupyter-elastic")
        assert "namespace" not in one["metadata"]  # it is the administrator's to say


def test_the_cluster_role_is_the_role() -> None:
    (role,) = (one for one in load("role.yaml") if one["kind"] == "Role")
    rules = {
        one["metadata"]["name"]: one["rules"]
        for one in load("hub-clusterrole.yaml")
        if one["kind"] == "ClusterRole"
    }
    assert rules["jupyter-elastic"] == role["rules"]
    (bind,) = (rule for rule in rules["jupyter-elastic-hub"] if "bind" in rule["verbs"])
    assert bind["resourceNames"] == ["jupyter-elastic"]


def test_only_our_pods_reach_ours() -> None:
    (policy,) = load("networkpolicy.yaml")
    ours = {"matchLabels": {labels.MANAGED_BY: labels.MANAGER}}
    assert policy["spec"]["podSelector"] == ours
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": ours}]}]
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    (values,) = load(name)
    assert set(values) <= set(CHART)
    for part, keys in values.items():
        assert set(keys) <= CHART[part]
    assert set(values["hub"]["config"]) == {"KubeSpawner"}
    assert set(values["hub"]["config"]["KubeSpawner"]) <= SPAWNER
    for code in values["hub"].get("extraConfig", {}).values():
        tree = compile(code, name, "exec")
        assert set(tree.co_names) & SPAWNER
    for file in values["singleuser"]["extraFiles"].values():
        assert len({"data", "stringData"} & set(file)) == 1
        if "data" in file:
            check_traits(file["data"])
        else:
            compile(file["stringData"], name, "exec")


def test_the_hook_refuses_the_hubs_namespace_and_binds_one_role() -> None:
    (values,) = load("zero-to-jupyterhub.yaml")
    assert values["hub"]["config"]["KubeSpawner"]["enable_user_namespaces"] is True
    code = values["hub"]["extraConfig"]["jupyter-elastic"]
    assert 'ROLE = "jupyter-elastic"' in code
    assert "spawner.namespace == HUB_NAMESPACE" in code


def test_settings_of_a_training_namespace() -> None:
    (values,) = load("zero-to-jupyterhub-training-namespace.yaml")
    traits = ElasticTraits()
    space = {"c": type("C", (), {"ElasticExtensionApp": traits})()}
    code = values["singleuser"]["extraFiles"]["jupyter-elastic"]["stringData"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELASTIC_TRAINING_NAMESPACE", "train-ann")
        exec(code, space)
    assert traits.kubernetes_namespace == "train-ann"
    assert traits.engines == ["kubernetes", "local"]


def test_settings_of_kubeflow() -> None:
    (settings,) = (one for one in load("kubeflow-notebook.yaml") if one["kind"] == "ConfigMap")
    check_traits(json.loads(settings["data"]["jupyter_server_config.json"]))


def check_traits(config: dict[str, Any]) -> None:
    assert set(config) == {"ElasticExtensionApp"}
    known = set(ElasticTraits.class_trait_names(config=True))
    assert set(config["ElasticExtensionApp"]) <= known
    ElasticTraits(**config["ElasticExtensionApp"])
