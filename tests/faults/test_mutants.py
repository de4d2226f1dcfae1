"""The reader catches what it is there to catch: files that are cut, reordered or list a host that is leaving."""

from __future__ import annotations

import pytest

from .reader import order_kept, problem

GOOD = "127.0.0.1 slots=1\n127.0.0.2 slots=1\n127.0.0.3 slots=1\n"


def test_good_file_passes() -> None:
    assert problem(GOOD, "127.0.0.1") is None


@pytest.mark.parametrize("cut", range(len(GOOD)))
def test_every_truncation_inside_a_line_is_caught(cut: int) -> None:
    text = GOOD[:cut]
    whole_lines = cut > 0 and GOOD[cut - 1] == "\n"
    assert (problem(text, "127.0.0.1") is None) == whole_lines


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.2 slots=1\n127.0.0.1 slots=1\n",
        "127.0.0.1 slots=1\n127.0.0.2 slots=1\n127.0.0.2 slots=1\n",
        "127.0.0.1 slots=1\n\n",
        "127.0.0.1\n",
        "127.0.0.1:1\n",
        "127.0.0.1 slots=1 # launcher\n",
        "# hosts\n127.0.0.1 slots=1\n",
    ],
)
def test_wrong_content_is_caught(text: str) -> None:
    assert problem(text, "127.0.0.1") is not None


def test_reordering_is_caught() -> None:
    assert order_kept(["a", "b", "c"], ["a", "c", "d"])
    assert not order_kept(["a", "b", "c"], ["a", "c", "b"])
    assert not order_kept(["a", "b"], ["a", "d", "b"])
