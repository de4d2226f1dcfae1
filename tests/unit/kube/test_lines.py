"""Events out of bytes: nothing before its newline, however the bytes are cut."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.keeper.kube.errors import BrokenStream
from jupyter_elastic.keeper.kube.lines import Lines, parse

EVENTS = [
    {"type": "ADDED", "object": {"metadata": {"uid": str(n), "name": text}}}
    for n, text in enumerate(["plain", "ü€𝄞", "line\u2028end", "", "\\n"])
]
STREAM = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in EVENTS)


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cut_gives_the_same_events(cuts: list[int]) -> None:
    lines = Lines()
    found = []
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in itertools.pairwise(edges):
        found += [parse(line) for line in lines.feed(STREAM[start:end])]
    assert [{"type": one.kind, "object": one.object} for one in found] == EVENTS
    assert not lines.unfinished


def test_single_bytes_give_each_event_with_its_newline() -> None:
    lines = Lines()
    for byte in STREAM:
        done = lines.feed(bytes([byte]))
        assert bool(done) == (byte == ord("\n"))


def test_a_tail_is_no_event() -> None:
    lines = Lines()
    assert lines.feed(STREAM[:-1]) == STREAM.split(b"\n")[:-2]
    assert lines.unfinished


def test_empty_lines_are_left_out() -> None:
    assert Lines().feed(b"\n\r\n  \n{}\n") == [b"{}"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_has_a_longest_length(end: bytes) -> None:
    lines = Lines(100)
    assert lines.feed(b"x" * 60) == []
    with pytest.raises(BrokenStream, match="100 bytes"):
        lines.feed(b"x" * 60 + end)


def test_many_short_lines_are_no_long_one() -> None:
    assert len(Lines(100).feed(b"0123456789\n" * 50)) == 50


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"ADDED"',
        b"{}",
        b'{"type": 1, "object": {}}',
        b'{"type": "ADDED", "object": []}',
        b'{"type": "ADDED", "object": null}',
        b'{"type": "ADDED", "object": {}',
        b"[" * 100_000,
    ],
)
def test_what_is_not_an_event_breaks_the_stream(line: bytes) -> None:
    with pytest.raises(BrokenStream):
        parse(line)
