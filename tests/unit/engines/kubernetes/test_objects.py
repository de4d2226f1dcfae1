from __future__ import annotations

import base64
import json
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_elastic.engines.kubernetes import anchor as anchors
from jupyter_elastic.engines.kubernetes import keys, labels, layout, notebook, objects, scripts
from jupyter_elastic.engines.kubernetes.config import GpuResource, KubernetesConfig
from jupyter_elastic.engines.kubernetes.launcher import launcher_job
from jupyter_elastic.engines.kubernetes.pod import Build
from jupyter_elastic.engines.kubernetes.quantities import parse
from jupyter_elastic.engines.kubernetes.validation import validate
from jupyter_elastic.engines.kubernetes.workers import worker_set
from jupyter_elastic.errors import TooLarge
from jupyter_elastic.models import ClusterSpec, HostList, Mount, Settings, Toleration
from jupyter_elastic.naming import ID_LIMIT

from .restricted import offences

GIB = 2**30
CONFIG = KubernetesConfig(default_image="registry.example/horovod:1")
ANCHOR = {"metadata": {"name": "tthvd-bcd234", "uid": "a-1"}}
OWNER = objects.owner(ANCHOR, "ConfigMap", "v1")


def spec(**fields: Any) -> ClusterSpec:
    known: dict[str, Any] = {
        "name": "tthvd", "framework": "horovod", "size": 3, "engine": "kubernetes",
        "launcher_mode": "pod",
    }  # fmt: skip
    return ClusterSpec(**{**known, **fields})


def build(config: KubernetesConfig = CONFIG, **fields: Any) -> Build:
    return Build("tthvd-bcd234", spec(**fields), config, "op-1")


def launcher(made: Build) -> dict[str, Any]:
    return launcher_job(made, 1.0)["spec"]["template"]


def worker(made: Build) -> dict[str, Any]:
    return worker_set(made, OWNER)["spec"]["template"]


def main(template: dict[str, Any]) -> dict[str, Any]:
    return template["spec"]["containers"][0]


# -- any specification that passes ---------------------------------------------------------------

_label = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)
_value = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
_MIB = 2**20
specs = st.builds(
    spec,
    size=st.integers(1, 1000),
    gpus_per_container=st.integers(0, 64),
    gpu_kind=st.sampled_from([None, "Tesla-P4", "nvidia.com/gpu", "amd.com/gpu=MI210"]),
    image=st.sampled_from([None, "a/b:1", "r.example:5000/x@sha256:" + "0" * 64]),
    shared_memory=st.none() | st.integers(_MIB, 31 * _MIB),
    memory=st.none() | st.integers(32 * _MIB, 2**40),
    cpu=st.none() | st.floats(0.01, 1024),
    env=st.dictionaries(
        st.from_regex(r"A_[A-Za-z0-9_]{0,8}", fullmatch=True), _value, max_size=4
    ).map(lambda values: tuple(values.items())),
    secret_env=st.lists(st.tuples(st.just("TOKEN"), _label, _label), max_size=1).map(tuple),
    storage=st.lists(
        st.builds(
            Mount,
            claim=_label,
            path=st.from_regex(r"/(data|mnt|home/ann)/[A-Za-z0-9._ -]{0,8}x/?", fullmatch=True),
            read_only=st.booleans(),
            sub_path=st.sampled_from(["", "a/b"]),
        ),
        max_size=4,
        unique_by=lambda mount: mount.path.rstrip("/"),
    ).map(tuple),
    node_selector=st.dictionaries(_label, _label, max_size=2).map(
        lambda items: tuple(items.items())
    ),
    tolerations=st.lists(
        st.builds(Toleration, key=_label, operator=st.sampled_from(["Equal", "Exists"])), max_size=2
    ).map(tuple),
)
configs = st.builds(
    KubernetesConfig,
    default_image=st.just("registry.example/horovod:1"),
    run_as_user=st.none() | st.integers(1, 2**31 - 1),
    run_as_group=st.none() | st.integers(1, 2**31 - 1),
    keeper_account=st.sampled_from(["", "keeper"]),
    pull_policy=st.sampled_from([None, "Always", "Never"]),
    pull_secrets=st.lists(_label, max_size=2).map(tuple),
    max_lifetime=st.none() | st.integers(1, 10**6),
    cpu_limit=st.booleans(),
    storage=st.just((Mount("shared", "/shared"),)) | st.just(()),
)


@given(specs, configs)
@settings(max_examples=100, deadline=None)
def test_every_pod_of_a_valid_specification_is_restricted(
    asked: ClusterSpec, config: KubernetesConfig
) -> None:
    validate(asked, config)
    made = Build("tthvd-bcd234", asked, config)
    for template in (launcher(made), worker(made)):
        assert offences(template["spec"]) == []
        json.dumps(template)
        _check_names(template["spec"])
        _check_memory(main(template), template["spec"])


def _check_names(pod: dict[str, Any]) -> None:
    volumes = [item["name"] for item in pod["volumes"]]
    mounts = pod["containers"][0]["volumeMounts"]
    assert len(volumes) == len(set(volumes))
    assert {item["name"] for item in mounts} == set(volumes)
    paths = [item["mountPath"].rstrip("/") for item in mounts]
    assert len(paths) == len(set(paths))
    names = [item["name"] for item in pod["containers"][0]["env"]]
    assert len(names) == len(set(names))


def _check_memory(container: dict[str, Any], pod: dict[str, Any]) -> None:
    resources = container["resources"]
    assert resources["limits"].get("memory") == resources["requests"].get("memory")
    shm = next(item for item in pod["volumes"] if item["name"] == "shm")["emptyDir"]
    assert shm["medium"] == "Memory"
    limit = parse(resources["limits"].get("memory"))
    size = parse(shm["sizeLimit"])
    assert size is not None
    assert size > 0
    assert limit is None or size < limit


def test_the_checker_refuses_what_restricted_refuses() -> None:
    bad = {
        "hostNetwork": True,
        "volumes": [{"name": "x", "hostPath": {"path": "/"}}],
        "containers": [{"name": "c", "ports": [{"hostPort": 22}]}],
    }
    found = " ".join(offences(bad))
    for word in ("hostNetwork", "hostPath", "hostPort", "Escalation", "NonRoot", "seccomp", "drop"):
        assert word in found


@given(st.text(max_size=60), st.text(max_size=20))
@settings(max_examples=50, deadline=None)
def test_no_value_of_a_user_is_part_of_a_script(value: str, name: str) -> None:
    plain = build()
    other = build(
        name="$(reboot) " + name,
        env=(("A", value),),
        storage=(Mount("c", "/data"),),
        settings=Settings(script="/x; reboot", arguments=("`id`",)),
    )
    for make in (launcher, worker):
        before, after = main(make(plain)), main(make(other))
        for part in ("command", "readinessProbe", "startupProbe", "lifecycle"):
            assert before.get(part) == after.get(part)


def test_a_dollar_in_a_value_stays_one() -> None:
    env = main(worker(build(env=(("A", "$(POD_IP) $$ ${X} 100$"),))))["env"]
    assert env[-1] == {"name": "A", "value": "$$(POD_IP) $$$$ $${X} 100$$"}


# -- the objects one by one ----------------------------------------------------------------------


def test_the_launcher_is_a_job_that_gives_back_all_it_owns() -> None:
    job = launcher_job(build(KubernetesConfig(default_image="x", max_lifetime=60)), 5.0)
    assert job["metadata"]["name"] == "tthvd-bcd234"
    assert "ownerReferences" not in job["metadata"]
    assert job["spec"]["ttlSecondsAfterFinished"] == 0
    assert job["spec"]["activeDeadlineSeconds"] == 60
    assert job["spec"]["backoffLimit"] > 10**6
    assert job["spec"]["suspend"] is False
    assert "activeDeadlineSeconds" not in launcher_job(build(), 5.0, suspended=True)["spec"]
    template = job["spec"]["template"]
    assert template["spec"]["restartPolicy"] == "OnFailure"
    assert template["metadata"]["labels"][labels.ROLE] == "launcher"
    assert labels.SET not in template["metadata"]["labels"]


def test_workers_are_one_set_below_the_anchor() -> None:
    found = worker_set(build(size=4), OWNER)
    assert found["spec"]["replicas"] == 3
    assert found["spec"]["selector"]["matchLabels"] == {
        "jupyter-elastic/cluster": "tthvd-bcd234",
        "jupyter-elastic/set": "tthvd-bcd234",
    }
    marks = found["spec"]["template"]["metadata"]["labels"]
    assert found["spec"]["selector"]["matchLabels"].items() <= marks.items()
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1", "kind": "ConfigMap", "name": "tthvd-bcd234", "uid": "a-1",
            "controller": False, "blockOwnerDeletion": False,
        }
    ]  # fmt: skip
    pod = found["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Always"
    assert pod["terminationGracePeriodSeconds"] == 30
    stop = main({"spec": pod})["lifecycle"]["preStop"]["exec"]["command"]
    assert stop[-1] == "25"
    assert worker_set(build(size=1), OWNER)["spec"]["replicas"] == 0


@pytest.mark.parametrize(("role", "seconds"), [(launcher, 300), (worker, 30)])
def test_a_lost_node_is_given_up_after_a_time(role: Any, seconds: int) -> None:
    found = role(build())["spec"]["tolerations"]
    assert [(item["key"], item["tolerationSeconds"]) for item in found] == [
        ("node.kubernetes.io/not-ready", seconds),
        ("node.kubernetes.io/unreachable", seconds),
    ]
    assert {item["effect"] for item in found} == {"NoExecute"}


def test_only_the_launcher_has_the_key_and_maybe_a_token() -> None:
    made = build(KubernetesConfig(default_image="x", keeper_account="keeper"))
    both = launcher(made)["spec"], worker(made)["spec"]
    items = []
    for pod in both:
        secret = next(item["secret"] for item in pod["volumes"] if item["name"] == "ssh")
        items.append({item["key"] for item in secret["items"]})
    assert items == [
        {"host_key", "authorized_keys", "id_ed25519", "known_hosts"},
        {"host_key", "authorized_keys"},
    ]
    assert both[0]["serviceAccountName"] == "keeper"
    assert [pod["automountServiceAccountToken"] for pod in both] == [True, False]
    assert "serviceAccountName" not in both[1]
    assert launcher(build())["spec"]["automountServiceAccountToken"] is False


def test_the_layout_of_a_pod() -> None:
    paths = {
        name: [item["mountPath"] for item in main(template)["volumeMounts"]]
        for name, template in (("launcher", launcher(build())), ("worker", worker(build())))
    }
    common = ["/dev/shm", "/run/jupyter-elastic", "/etc/mpi", "/etc/jupyter-elastic/ssh"]
    assert paths == {"launcher": [*common, "/opt/jupyter-elastic"], "worker": common}
    env = {item["name"]: item for item in main(worker(build()))["env"]}
    assert env["POD_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert env["POD_UID"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.uid"}}
    assert env["POD_NAME"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert main(worker(build()))["ports"][0]["containerPort"] == 2222
    assert main(launcher(build(gpus_per_container=4)))["command"][-1] == "4"


def test_gpus_are_limits_with_the_label_of_their_kind() -> None:
    config = KubernetesConfig(
        default_image="x",
        gpus=(
            GpuResource("nvidia.com/gpu", "nvidia.com/gpu.product"),
            GpuResource("nvidia.com/mig-1g.5gb"),
            GpuResource("amd.com/gpu", "amd.com/product"),
        ),
    )
    for kind, resource, selector in (
        ("Tesla-P4", "nvidia.com/gpu", {"nvidia.com/gpu.product": "Tesla-P4"}),
        (None, "nvidia.com/gpu", None),
        ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb", None),
        ("amd.com/gpu=MI210", "amd.com/gpu", {"amd.com/product": "MI210"}),
    ):
        template = worker(build(config, gpus_per_container=2, gpu_kind=kind))
        assert main(template)["resources"]["limits"] == {resource: "2"}
        assert template["spec"].get("nodeSelector") == selector
        assert "void" not in json.dumps(template)
        if kind is not None:
            found = config.gpu(kind)
            assert found is not None
            assert config.kind(found[0].resource, found[1]) == kind
    none = worker(build(config, gpu_kind="Tesla-P4"))
    assert none["spec"].get("nodeSelector") is None
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in main(none)["env"]
    assert config.gpu("amd.com/gpu=") is None
    assert config.gpu("other.com/gpu=x") is None


def test_shared_memory_is_a_part_of_the_memory() -> None:
    def sizes(**fields: Any) -> tuple[str | None, str]:
        template = worker(build(**fields))
        shm = next(item for item in template["spec"]["volumes"] if item["name"] == "shm")
        return main(template)["resources"]["limits"].get("memory"), shm["emptyDir"]["sizeLimit"]

    assert sizes() == (None, "1Gi")
    assert sizes(memory=8 * GIB, shared_memory=2 * GIB) == ("8Gi", "2Gi")
    assert sizes(memory=GIB) == ("1Gi", "512Mi")
    assert main(worker(build(cpu=1.5)))["resources"]["limits"]["cpu"] == "1500m"


def test_claims_are_mounted_once_each() -> None:
    mounts = (
        Mount("data", "/data", read_only=True),
        Mount("work", "/work"),
        Mount("work", "/home/u", sub_path="u"),
    )
    config = KubernetesConfig(
        default_image="x", storage=(Mount("admin", "/work"), Mount("a", "/a"))
    )
    pod = worker(build(config, storage=mounts))["spec"]
    claims = [item for item in pod["volumes"] if "persistentVolumeClaim" in item]
    assert [item["persistentVolumeClaim"] for item in claims] == [
        {"claimName": "data", "readOnly": True},
        {"claimName": "work", "readOnly": False},
        {"claimName": "a", "readOnly": False},
    ]
    assert pod["containers"][0]["volumeMounts"][-4:] == [
        {"name": "storage-0", "mountPath": "/data", "readOnly": True},
        {"name": "storage-1", "mountPath": "/work"},
        {"name": "storage-1", "mountPath": "/home/u", "subPath": "u"},
        {"name": "storage-2", "mountPath": "/a"},
    ]


def test_the_anchor_can_be_read_again_and_holds_no_value_of_a_variable() -> None:
    made = build(env=(("KEY", "canary-value"),), settings=Settings(script="/x.py"))
    known = objects.about(made, 12.5)
    found = objects.anchor(made, known, None)
    found["metadata"].update(uid="u", resourceVersion="7")
    read = anchors.read(found)
    assert read.about.spec.env == (("KEY", ""),)
    assert read.about.settings == Settings(script="/x.py")
    assert read.about.created == 12.5
    assert read.hosts == HostList(0)
    assert found["metadata"]["annotations"][labels.NAME] == "tthvd"
    assert found["metadata"]["annotations"][labels.OPERATION] == "op-1"
    assert "canary-value" not in json.dumps([found, launcher_job(made, 1.0)["metadata"]])
    assert "canary-value" not in repr(made.spec)


def test_the_keeper_comes_with_its_configuration() -> None:
    made = build(KubernetesConfig(default_image="x", idle_seconds=60.0, termination_seconds=40))
    found = objects.keeper_map(made, OWNER, b"program", ("horovodrun",))
    assert base64.b64decode(found["binaryData"]["keeper.pyz"]) == b"program"
    config = json.loads(found["data"]["config.json"])
    ssh = config.pop("ssh_config")
    assert config == {
        "cluster": "tthvd-bcd234", "name": "tthvd", "host_folder": "/etc/mpi",
        "programs": ["horovodrun"], "allow_env": ["*"], "grace_seconds": 10.0,
        "termination_seconds": 40, "state_file": "", "lock_file": "",
    }  # fmt: skip
    for line in ("Port 2222", "HostKeyAlias tthvd-bcd234", "StrictHostKeyChecking yes"):
        assert line in ssh.splitlines()
    rules = json.loads(found["data"]["rules.json"])["rules"]
    assert rules == {"on_run_end": "ask", "idle_seconds": 60.0}
    with pytest.raises(TooLarge):
        objects.keeper_map(made, OWNER, b"x" * 2**20, ())


def test_the_secret_has_all_keys() -> None:
    found = objects.ssh_secret(build(), OWNER, keys.generate())
    assert set(found["data"]) == set(layout.LAUNCHER_KEYS)
    known = base64.b64decode(found["data"]["known_hosts"]).decode()
    assert known.startswith("tthvd-bcd234 ssh-ed25519 AAAA")
    assert found["immutable"] is True


def test_everything_carries_our_labels_and_short_names() -> None:
    made = Build("x" * ID_LIMIT, spec(), CONFIG, "op")
    known = objects.about(made, 1.0)
    for thing in (
        launcher_job(made, 1.0),
        worker_set(made, OWNER),
        objects.anchor(made, known, OWNER),
        objects.keeper_map(made, OWNER, b"", ()),
        objects.ssh_secret(made, OWNER, keys.generate()),
    ):
        assert labels.cluster_of(thing) == made.id
        assert len(thing["metadata"]["name"]) <= 63
    assert labels.cluster_of({"metadata": {"name": "x", "labels": None}}) is None
    assert labels.cluster_of({"metadata": {"labels": {labels.CLUSTER: "x"}}}) is None


# -- mode here -----------------------------------------------------------------------------------

NOTEBOOK: dict[str, Any] = {
    "metadata": {
        "uid": "n-1", "name": "jupyter-ann",
        "ownerReferences": [{"kind": "StatefulSet", "uid": "s", "controller": True}],
    },
    "spec": {
        "nodeName": "node-1",
        "serviceAccountName": "notebook",
        "imagePullSecrets": [{"name": "pull"}],
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            {"key": "gpu", "operator": "Exists"},
        ],
        "securityContext": {"fsGroup": 100},
        "volumes": [
            {"name": "home", "persistentVolumeClaim": {"claimName": "claim-ann"}},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "token", "projected": {}},
        ],
        "containers": [
            {"name": "proxy", "image": "proxy:1"},
            {
                "name": "notebook", "image": "notebook:1", "workingDir": "/home/ann",
                "env": [{"name": "JUPYTERHUB_API_TOKEN", "value": "canary"}],
                "securityContext": {"runAsUser": 1234, "runAsGroup": 5678},
                "resources": {"limits": {"nvidia.com/gpu": "2", "cpu": "4"}},
                "volumeMounts": [
                    {"name": "home", "mountPath": "/home/ann", "subPath": "ann"},
                    {"name": "secret", "mountPath": "/secret"},
                    {"name": "token", "mountPath": "/var/run/secrets"},
                ],
            },
        ],
    },
    "status": {"podIP": "10.1.2.3"},
}  # fmt: skip


def test_workers_of_mode_here_are_like_the_notebook_without_its_secrets() -> None:
    found = notebook.read(NOTEBOOK)
    made = Build("i", spec(launcher_mode="here"), KubernetesConfig(), "op", found)
    template = worker(made)
    pod, container = template["spec"], main(template)
    assert container["image"] == "notebook:1"
    assert container["workingDir"] == "/home/ann"
    assert container["volumeMounts"][-1] == {
        "name": "storage-0", "mountPath": "/home/ann", "subPath": "ann",
    }  # fmt: skip
    assert pod["securityContext"]["runAsUser"] == 1234
    assert pod["securityContext"]["runAsGroup"] == 5678
    assert pod["securityContext"]["fsGroup"] == 100
    assert pod["tolerations"][-1] == {"key": "gpu", "operator": "Exists"}
    assert len(pod["tolerations"]) == 3
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    text = json.dumps(template)
    for word in ("canary", "serviceAccountName", "projected", "/secret"):
        assert word not in text
    assert offences(pod) == []
    assert found.gpus == (("nvidia.com/gpu", 2),)
    assert (found.host, found.node, found.uid) == ("10.1.2.3", "node-1", "n-1")
    assert found.owner is not None
    assert found.owner["uid"] == "s"


def test_workers_of_a_root_notebook_are_not_root() -> None:
    pod = json.loads(json.dumps(NOTEBOOK))
    pod["spec"]["containers"][1]["securityContext"] = {"runAsUser": 0}
    made = Build("i", spec(launcher_mode="here"), KubernetesConfig(), "op", notebook.read(pod))
    assert worker(made)["spec"]["securityContext"]["runAsUser"] == 1000


@pytest.mark.parametrize("pod", [{}, {"spec": None}, {"spec": {"containers": [None, 1]}}])
def test_a_broken_notebook_pod_is_read_as_an_empty_one(pod: dict[str, Any]) -> None:
    assert notebook.read(pod).image is None


# -- the scripts ---------------------------------------------------------------------------------


SHELLS = [name for name in ("sh", "dash", "bash", "busybox", "ksh") if shutil.which(name)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ["WORKER", "WORKER_STOP", "WORKER_READY", "LAUNCHER"])
def test_every_shell_can_read_the_scripts(shell: str, name: str) -> None:
    words = [shell, "sh"] if shell == "busybox" else [shell]
    done = subprocess.run(
        [*words, "-n", "-c", getattr(scripts, name)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_that_is_idle_does_not_wait_to_be_stopped() -> None:
    done = subprocess.run(scripts.worker_stop_command(25), timeout=5, check=False)
    assert done.returncode == 0
