"""Each framework's grammar, row by row of the reference's tables."""

from __future__ import annotations

import pytest

from jupyter_elastic.hostfile.grammar import (
    GrammarError,
    deepspeed,
    horovod_discovery,
    horovod_static,
    open_mpi,
)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("h slots=2\n", (("h", 2),)),
        ("h slots=2", (("h", 2),)),
        ("h slots=2\r\n", (("h", 2),)),
        ("h\tslots=2\n", (("h", 2),)),
        ("h cpu=3\n", (("h", 3),)),
        ("h slots=0\n", (("h", 0),)),
        ("127.0.0.1 slots=1\n127.0.0.2 slots=1\n", (("127.0.0.1", 1), ("127.0.0.2", 1))),
        ("h slots=1\nh slots=1\n", (("h", 1), ("h", 1))),
    ],
)
def test_horovod_reads(text: str, hosts: object) -> None:
    assert horovod_static(text) == hosts


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a slots=1\n\nb slots=1\n", 2),
        ("# comment\n", 1),
        ("h\n", 1),
        ("h:2\n", 1),
        ("h slots=2 max_slots=2\n", 1),
        ("h slots=2 # x\n", 1),
        ("h slots = 2\n", 1),
        ("user@h slots=1\n", 1),
        ("fe80::1 slots=1\n", 1),
        ("h slots=\n", 1),
        ("", 0),
    ],
)
def test_horovod_stops(text: str, line: int) -> None:
    with pytest.raises(GrammarError) as caught:
        horovod_static(text)
    assert caught.value.line == line


def test_discovery() -> None:
    assert horovod_discovery("a:1\nb:2\n") == (("a", 1), ("b", 2))
    assert horovod_discovery("a\n\nb\n", slots_per_host=2) == (("a", 2), ("b", 2))
    assert horovod_discovery("") == ()


@pytest.mark.parametrize(
    "text", ["a\n", "a slots=2\n", "# note\n", " a:1\n", "fe80::1:2\n", "a:x\n"]
)
def test_discovery_stops_or_would_misread(text: str) -> None:
    with pytest.raises(GrammarError):
        horovod_discovery(text)


def test_deepspeed() -> None:
    text = "# all\n\na slots=1\r\nb   slots=0 max_slots=4\n"
    assert deepspeed(text) == (("a", 1), ("b", 0))


@pytest.mark.parametrize(
    "text", ["a slots=1\na slots=1\n", "a\n", "a:2\n", "a slots = 2\n", "", "#\n"]
)
def test_deepspeed_stops(text: str) -> None:
    with pytest.raises(GrammarError):
        deepspeed(text)


def test_open_mpi() -> None:
    text = "# all\na slots=2 max_slots=4 # x\n\nb\nuser@c slots = 1\n"
    assert open_mpi(text, default_slots=8) == (("a", 2), ("b", 8), ("user@c", 1))


@pytest.mark.parametrize("text", ["", "a slot=2\n", "a; slots=1\n", "a slots=1 more\n"])
def test_open_mpi_stops(text: str) -> None:
    with pytest.raises(GrammarError):
        open_mpi(text)
