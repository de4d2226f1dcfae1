from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_elastic.engines.kubernetes.config import KubernetesConfig
from jupyter_elastic.engines.kubernetes.validation import validate
from jupyter_elastic.errors import BadInput
from jupyter_elastic.models import ClusterSpec, Mount, Toleration

GIB = 2**30
WRONG: Any = "In"
CONFIG = KubernetesConfig(default_image="registry.example/horovod:1")


def spec(**fields: Any) -> ClusterSpec:
    known: dict[str, Any] = {
        "name": "tthvd", "framework": "horovod", "size": 2, "engine": "kubernetes",
        "launcher_mode": "pod",
    }  # fmt: skip
    return ClusterSpec(**{**known, **fields})


def refused(config: KubernetesConfig = CONFIG, **fields: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        validate(spec(**fields), config)
    assert caught.value.status == 400
    return caught.value


GOOD: list[dict[str, Any]] = [
    {},
    {"size": 1},
    {"gpus_per_container": 8, "gpu_kind": "NVIDIA-A100-SXM4-80GB"},
    {"image": "horovod"},
    {"image": "localhost:5000/team/a_b__c--d.e/horovod:v1.2_3"},
    {"image": "registry.example/x@sha256:" + "a" * 64},
    {"cpu": 0.5, "memory": 2 * GIB, "shared_memory": GIB},
    {"cpu": 4},
    {"env": (("A", ""), ("_b9", "x\n\ty; $(reboot) {{7*7}} ${IFS} ☃"))},
    {"secret_env": (("WANDB_API_KEY", "wandb", "api.key"),)},
    {"storage": (Mount("data", "/data/"), Mount("a.b-c", "/home/ann/x y", sub_path="a/b..c"))},
    {"storage": (Mount("data", "/var/lib/data"), Mount("data", "/usr/local/data"))},
    {"node_selector": (("kubernetes.io/arch", "amd64"), ("pool", ""))},
    {
        "tolerations": (
            Toleration(operator="Exists"),
            Toleration("a.b/c", "Equal", "v", "NoExecute", 5),
        )
    },
]


@pytest.mark.parametrize("fields", GOOD)
def test_what_is_right_passes(fields: dict[str, Any]) -> None:
    validate(spec(**fields), CONFIG)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "x" * 65}, "name"),
    ({"size": 0}, "size"),
    ({"size": 1001}, "size"),
    ({"size": True}, "size"),
    ({"size": "3"}, "size"),
    ({"size": 2.0}, "size"),
    ({"gpus_per_container": -1}, "gpus_per_container"),
    ({"gpus_per_container": 65}, "gpus_per_container"),
    ({"gpus_per_container": 1, "gpu_kind": "other.com/gpu=x"}, "gpu_kind"),
    ({"gpu_kind": "a b"}, "gpu_kind"),
    ({"gpu_kind": "x" * 64}, "gpu_kind"),
    ({"image": "Upper/Case"}, "image"),
    ({"image": "a:b:c"}, "image"),
    ({"image": "a b"}, "image"),
    ({"image": "a\n"}, "image"),
    ({"image": "-a"}, "image"),
    ({"image": "http://registry/a"}, "image"),
    ({"image": "a@sha256:" + "a" * 31}, "image"),
    ({"image": "{{7*7}}"}, "image"),
    ({"image": "a/" + "b" * 512}, "image"),
    ({"cpu": 0}, "cpu"),
    ({"cpu": float("nan")}, "cpu"),
    ({"cpu": float("inf")}, "cpu"),
    ({"cpu": True}, "cpu"),
    ({"cpu": "2"}, "cpu"),
    ({"memory": 2**20}, "memory"),
    ({"memory": 2**60}, "memory"),
    ({"memory": 2.0 * GIB}, "memory"),
    ({"memory": True}, "memory"),
    ({"shared_memory": 0}, "shared_memory"),
    ({"memory": GIB, "shared_memory": GIB}, "shared_memory"),
    ({"memory": GIB, "shared_memory": 2 * GIB}, "shared_memory"),
    ({"env": (("1A", "x"),)}, "env[0].name"),
    ({"env": (("A", "1"), ("A=B", "x"))}, "env[1].name"),
    ({"env": (("A\n", "x"),)}, "env[0].name"),
    ({"env": (("A", "1"), ("A", "2"))}, "env[1].name"),
    ({"env": (("A", "\0"),)}, "env[0].value"),
    ({"env": (("A", "\ud800"),)}, "env[0].value"),
    ({"env": (("A", 5),)}, "env[0].value"),
    ({"env": (("A", "x" * 8193),)}, "env[0].value"),
    ({"env": (("A", "é" * 4097),)}, "env[0].value"),
    ({"env": tuple((f"A{n}", "x" * 8000) for n in range(9))}, "env"),
    ({"env": tuple((f"A{n}", "") for n in range(101))}, "env"),
    ({"secret_env": (("A", "Bad_Secret", "k"),)}, "secret_env[0].secret"),
    ({"secret_env": (("A", "s", "a/b"),)}, "secret_env[0].key"),
    ({"env": (("A", "1"),), "secret_env": (("A", "s", "k"),)}, "secret_env[0].name"),
    ({"storage": (Mount("Bad", "/data"),)}, "storage[0].claim"),
    ({"storage": (Mount("x" * 254, "/data"),)}, "storage[0].claim"),
    ({"storage": (Mount("a", "/data"), Mount("b", "/data/"))}, "storage[1].path"),
    ({"storage": (Mount("a", "/data", sub_path="../x"),)}, "storage[0].sub_path"),
    ({"storage": (Mount("a", "/data", sub_path="/x"),)}, "storage[0].sub_path"),
    ({"storage": (Mount("a", "/data", sub_path="a//b"),)}, "storage[0].sub_path"),
    ({"storage": tuple(Mount("a", f"/data/{n}") for n in range(33))}, "storage"),
    ({"node_selector": (("-a", "x"),)}, "node_selector[0].key"),
    ({"node_selector": (("a", "x y"),)}, "node_selector[0].value"),
    ({"node_selector": (("a", "1"), ("a", "2"))}, "node_selector[1].key"),
    ({"node_selector": (("a/b/c", "x"),)}, "node_selector[0].key"),
    ({"tolerations": (Toleration(),)}, "tolerations[0].key"),
    ({"tolerations": (Toleration("a", WRONG),)}, "tolerations[0].operator"),
    ({"tolerations": (Toleration("a", "Exists", "v"),)}, "tolerations[0].value"),
    ({"tolerations": (Toleration("a", effect=WRONG),)}, "tolerations[0].effect"),
    ({"tolerations": (Toleration("a", effect="NoSchedule", seconds=5),)}, "tolerations[0].seconds"),
    ({"tolerations": (Toleration("a", effect="NoExecute", seconds=-5),)}, "tolerations[0].seconds"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "field"), BAD)
def test_what_is_wrong_is_refused_with_its_field(fields: dict[str, Any], field: str) -> None:
    error = refused(**fields)
    assert error.detail["field"] == field
    assert len(error.message) < 400


@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "LD_AUDIT", "KUBERNETES_SERVICE_HOST", "JUPYTERHUB_API_TOKEN", "JPY_X",
     "JUPYTER_ELASTIC_KEEPER", "BASH_ENV", "ENV", "IFS", "HOME", "POD_IP", "SSH_CONNECTION"],
)  # fmt: skip
def test_names_that_are_not_the_users_are_denied(name: str) -> None:
    assert refused(env=((name, "x"),)).detail["field"] == "env[0].name"
    assert refused(secret_env=((name, "s", "k"),)).detail["field"] == "secret_env[0].name"


@pytest.mark.parametrize(
    "path",
    ["", "data", "/", "//data", "/data//x", "/data/../etc", "/data/.", "/da:ta", "/da\nta", "/d\x7f",
     "/\u202edata", "/etc", "/etc/mpi", "/etc/mpi/x", "/etc/jupyter-elastic/ssh", "/etc/passwd", "/run",
     "/run/jupyter-elastic", "/opt", "/opt/jupyter-elastic/x", "/dev/shm", "/dev", "/proc/1", "/usr",
     "/usr/bin/x", "/lib", "/var/run/secrets", "/var", "/sys", "/x" * 600, "/data\\x"],
)  # fmt: skip
def test_nothing_is_mounted_over_the_system_or_us(path: str) -> None:
    assert refused(storage=(Mount("a", path),)).detail["field"] == "storage[0].path"


def test_the_host_folder_is_taken_too() -> None:
    config = KubernetesConfig(default_image="x", host_folder="/data/mpi")
    for path in ("/data", "/data/mpi", "/data/mpi/x"):
        assert refused(config, storage=(Mount("a", path),)).detail["field"] == "storage[0].path"
    validate(spec(storage=(Mount("a", "/data/mpis"),)), config)


def test_an_image_is_needed_unless_the_notebook_has_one() -> None:
    assert refused(KubernetesConfig()).detail["field"] == "image"
    validate(spec(launcher_mode="here"), KubernetesConfig())
    config = KubernetesConfig(images={"horovod": ("h:1", "h:2"), "torchrun": ("t:1",)})
    assert config.image(spec()) == "h:1"
    assert config.image(spec(image="h:2")) == "h:2"
    assert config.image(spec(framework="torchrun")) == "t:1"
    assert config.image(spec(framework="mpi")) is None


def test_the_limit_is_named() -> None:
    error = refused(memory=GIB, shared_memory=2 * GIB)
    assert error.detail["limit"] == GIB
    assert "2 GiB" in error.message
    assert "1 GiB" in error.message
    assert "memory" in error.hint


_anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)


@given(
    st.dictionaries(
        st.sampled_from(["size", "cpu", "memory", "shared_memory", "gpus_per_container", "image"]),
        _anything,
    ),
    st.lists(st.tuples(_anything, _anything), max_size=2),
    st.lists(st.builds(Mount, claim=_anything, path=_anything, sub_path=_anything), max_size=2),
)
@settings(max_examples=200, deadline=None)
def test_nothing_else_is_raised(
    fields: dict[str, Any], env: list[tuple[Any, Any]], storage: list[Mount]
) -> None:
    try:
        validate(spec(**fields, env=tuple(env), storage=tuple(storage)), CONFIG)
    except BadInput as error:
        named = error.detail["field"]
    else:
        named = "none"
    assert isinstance(named, str)
