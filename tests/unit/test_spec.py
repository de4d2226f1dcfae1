from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_elastic.engines.decode import decode
from jupyter_elastic.errors import BadInput
from jupyter_elastic.models import ClusterSpec, Mount, Toleration, to_json
from jupyter_elastic.spec import read_mounts


def test_a_whole_specification_goes_through_json_and_back() -> None:
    spec = ClusterSpec(
        name="tthvd",
        framework="horovod",
        size=2,
        engine="kubernetes",
        launcher_mode="pod",
        storage=(Mount("data", "/data", True, "a"),),
        cpu=2.5,
        memory=2**30,
        env=(("A", "1"),),
        secret_env=(("B", "secret", "key"),),
        node_selector=(("pool", "gpu"),),
        tolerations=(Toleration("a", "Exists", effect="NoExecute", seconds=5),),
        preset="small",
    )
    assert decode(ClusterSpec, json.loads(json.dumps(to_json(spec)))) == spec


def test_an_older_specification_can_be_read() -> None:
    old = {"name": "x", "framework": "horovod", "size": 2, "engine": "local", "storage": []}
    found = decode(ClusterSpec, old)
    assert (found.storage, found.env, found.cpu) == ((), (), None)


def test_a_claim_may_be_given_by_its_name_alone() -> None:
    assert read_mounts(
        ["data", {"claim": "b"}, {"claim": "c", "path": "/c", "read_only": True}]
    ) == (
        Mount("data", "/mnt/data"),
        Mount("b", "/mnt/b"),
        Mount("c", "/c", True),
    )


@pytest.mark.parametrize(
    "value",
    [7, None, {}, {"path": "/x"}, {"claim": 5}, {"claim": "a", "path": 5}, {"claim": "a", "extra": 1},
     {"claim": "a", "read_only": "yes"}, {"claim": "a", "sub_path": None}, ["a"]],
)  # fmt: skip
def test_anything_else_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(BadInput) as caught:
        read_mounts(["a", value])
    assert caught.value.detail["field"] == "storage[1]"
