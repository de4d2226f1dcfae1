"""What the words of a magic or of the command line mean."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_elastic import ask
from jupyter_elastic.errors import BadInput
from jupyter_elastic.models import KernelOption, Options
from jupyter_elastic.wire import from_json

from .standin import OPTIONS, make_cluster


@given(st.text(max_size=30))
def test_anything_but_digits_is_refused_with_the_limit(text: str) -> None:
    assume(not re.fullmatch(r"[+]?[0-9]+", text))
    with pytest.raises(BadInput, match=r"from 1 to 8 \(8 CPU places on this machine\)") as caught:
        ask.size_for(make_cluster(), text)
    assert caught.value.detail["minimum"] == 1


@given(st.integers(1, 10**11))
def test_digits_are_a_size(size: int) -> None:
    assert ask.size_for(make_cluster(), str(size)) == size


@pytest.mark.parametrize("text", ["1_0", "٣", " 3", "3\n", "0x4", "9" * 5000, "+", ""])
def test_what_python_would_take_but_a_person_does_not_mean(text: str) -> None:
    with pytest.raises(BadInput):
        ask.whole(text, "size", low=1, high="8")


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("8G", 2**33), ("8gib", 2**33), ("512 M", 2**29)]
)
def test_memory(text: str, size: int) -> None:
    assert ask.memory(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "1.5G", "G", "8X", "8GG"])
def test_memory_that_is_none(text: str) -> None:
    with pytest.raises(BadInput, match="512M"):
        ask.memory(text)


def test_seconds() -> None:
    assert ask.seconds(None) is None
    assert ask.seconds(True) == 300
    assert ask.seconds("0.5") == 0.5
    for text in ("inf", "nan", "-1", "0", "86401", "x"):
        with pytest.raises(BadInput, match="86400"):
            ask.seconds(text)


def test_a_relative_script_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert ask.path("a b.py") == str(tmp_path / "a b.py")
    assert ask.path("~/c.py") == "/home/me/c.py"


def test_free_name() -> None:
    assert ask.free_name([]) == "training"
    taken = [make_cluster("training"), make_cluster("training-2"), make_cluster("x")]
    assert ask.free_name(taken) == "training-3"


def test_kernel_of_this_python() -> None:
    options = from_json(Options, OPTIONS)
    python = os.path.abspath(options.kernels[0].python)
    assert ask.kernel_of(options, python) == "python3"
    assert ask.kernel_of(options, "/other/python") is None
    twice = (*options.kernels, KernelOption("again", "Again", python))
    # Two kernelspecs of one environment: the server's default decides.
    assert ask.kernel_of(Options(**{**vars(options), "kernels": twice}), python) is None
