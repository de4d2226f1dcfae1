"""Which launcher mode a cluster gets where the request names none."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_elastic.errors import BadInput
from jupyter_elastic.manager.creating import Creating
from jupyter_elastic.models import EngineOptions, Health, Limit


def options(*modes: Any, gpus: int | None = None) -> EngineOptions:
    return EngineOptions(
        "kubernetes", "Kubernetes", "", Health("live", 0.0), 9, Limit(9, ""), modes,
        launcher_gpus=gpus,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "gpus", "mode"),
    [
        ({}, None, "here"),
        ({}, 0, "here"),
        ({"gpus_per_container": 1}, 0, "pod"),
        ({"gpus_per_container": 1}, 1, "here"),
        ({"gpus_per_container": 1}, 2, "pod"),
        ({"gpus_per_container": 1, "launcher_mode": "here"}, 2, "here"),
        ({"launcher_mode": "pod"}, 0, "pod"),
    ],
)
def test_this_pod_only_where_its_gpus_are_those_asked_for(
    body: dict[str, Any], gpus: int | None, mode: str
) -> None:
    assert Creating._mode(body, options("here", "pod", gpus=gpus)) == mode


def test_where_there_is_only_one_mode_it_stays() -> None:
    assert Creating._mode({"gpus_per_container": 1}, options("here", gpus=0)) == "here"
    with pytest.raises(BadInput) as caught:
        Creating._mode({"launcher_mode": "pod"}, options("here"))
    assert caught.value.detail["field"] == "launcher_mode"
