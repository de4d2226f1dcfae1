from __future__ import annotations

import copy
from typing import Any

import pytest

from jupyter_elastic.engines.kubernetes import template
from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.launcher import launcher_job
from jupyter_elastic.engines.kubernetes.pod import Build
from jupyter_elastic.engines.kubernetes.workers import worker_set
from jupyter_elastic.models import ClusterSpec

OWNER: dict[str, Any] = {"kind": "ConfigMap", "name": "c", "uid": "u"}


def made(pod_template: dict[str, Any]) -> list[dict[str, Any]]:
    config = KubernetesConfig(default_image="x", pod_template=pod_template)
    spec = ClusterSpec("c", "horovod", 2, "kubernetes", launcher_mode="pod")
    build = Build("c-bcd234", spec, config)
    return [
        launcher_job(build, 1.0)["spec"]["template"],
        worker_set(build, OWNER)["spec"]["template"],
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 4}}, {"a": {"c": 2, "d": 4}}),
        ({"args": [1, 2]}, {"args": [3]}, {"args": [3]}),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
            {"env": [
                {"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"},
            ]},
        ),
        (
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "a"}, {"key": "b"}]},
            {"tolerations": [{"key": "a"}, {"key": "b"}]},
        ),
        ({"env": [{"name": "A"}]}, {"env": [7]}, {"env": [{"name": "A"}, 7]}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
    ],
)  # fmt: skip
def test_merging(ours: dict[str, Any], theirs: dict[str, Any], result: dict[str, Any]) -> None:
    before = copy.deepcopy((ours, theirs))
    assert template.merged(ours, theirs) == result
    assert (ours, theirs) == before


def test_the_administrator_has_the_last_word() -> None:
    for pod in made(
        {
            "metadata": {
                "labels": {"kueue.x-k8s.io/queue-name": "team", "jupyter-elastic/cluster": "other"},
                "annotations": {"cost": "a"},
            },
            "spec": {
                "priorityClassName": "low",
                "schedulerName": "other",
                "serviceAccountName": "trainer",
                "restartPolicy": "Never",
                "nodeSelector": {"pool": "gpu"},
                "containers": [
                    {"name": "main", "env": [{"name": "SITE", "value": "1"}]},
                    {"name": "logs", "image": "logs:1"},
                ],
            },
        }
    ):
        spec = pod["spec"]
        assert pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
        # What makes a pod ours cannot be taken away: nobody would find it again.
        assert pod["metadata"]["labels"]["jupyter-elastic/cluster"] == "c-bcd234"
        assert spec["restartPolicy"] in ("OnFailure", "Always")
        assert pod["metadata"]["annotations"]["cost"] == "a"
        assert spec["priorityClassName"] == "low"
        assert spec["serviceAccountName"] == "trainer"
        assert spec["nodeSelector"] == {"pool": "gpu"}
        assert [item["name"] for item in spec["containers"]] == ["main", "logs"]
        main = spec["containers"][0]
        assert main["env"][-1] == {"name": "SITE", "value": "1"}
        assert {item["name"] for item in main["env"]} > {"POD_IP", "POD_UID"}
        assert main["securityContext"]["allowPrivilegeEscalation"] is False


def test_two_clusters_do_not_share_a_template() -> None:
    base = {"spec": {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "a"}]}}
    first, second = made(base)
    first["spec"]["nodeSelector"]["pool"] = "other"
    first["spec"]["tolerations"][-1]["key"] = "b"
    assert second["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert base["spec"]["tolerations"] == [{"key": "a"}]
