"""The words of ``create`` that only containers of a cluster have."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_elastic import ask
from jupyter_elastic.cli import _parser
from jupyter_elastic.errors import BadInput


def fields(*words: str) -> dict[str, Any]:
    return ask.new_cluster(_parser().parse_args(["create", "x", *words]))


def test_all_of_them() -> None:
    read = fields(
        *("--cpu", "0.5", "--memory", "16G", "--env", "A=b=c", "--env", "B="),
        *("--storage", "data:/data:ro", "--storage", "work", "--node-label", "disk=fast"),
    )
    assert read["cpu"] == 0.5
    assert read["memory"] == 16 * 2**30
    assert read["env"] == {"A": "b=c", "B": ""}
    assert read["storage"] == [{"claim": "data", "path": "/data", "read_only": True}, "work"]
    assert read["node_selector"] == {"disk": "fast"}


def test_nothing_of_them_is_sent_when_none_is_given() -> None:
    assert not set(fields()) & {"cpu", "memory", "env", "storage", "node_selector"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--cpu", "0"), "--cpu"),
        (("--cpu", "nan"), "--cpu"),
        (("--cpu", "inf"), "--cpu"),
        (("--cpu", "four"), "--cpu"),
        (("--memory", "much"), "--memory"),
        (("--env", "TOKEN"), "--env"),
        (("--env", "=x"), "--env"),
        (("--env", "A=1", "--env", "A=2"), "--env"),
        (("--storage", ":/data"), "--storage"),
        (("--storage", "data:/data:rx"), "--storage"),
        (("--storage", "data::ro"), "--storage"),
    ],
)
def test_bad_words(words: tuple[str, ...], named: str) -> None:
    with pytest.raises(BadInput) as caught:
        fields(*words)
    assert named in caught.value.message


def test_a_value_is_never_shown() -> None:
    with pytest.raises(BadInput) as caught:
        fields("--env", "A=geheim", "--env", "A=geheim")
    assert "geheim" not in caught.value.message + caught.value.hint
