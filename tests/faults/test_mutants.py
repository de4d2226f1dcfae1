"""The tests of the host file catch what they are there to catch: a file that is cut, reordered or lists who is leaving."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from .conftest import KillableServer, Reader, leaver_listed
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


SCALES, SIZES = 40, 8


def scale_and_look(mutant: str) -> list[str]:
    """Scale at random as the big test does, with a fault in the product; return what was noticed."""
    server = KillableServer(mutant, local_places=SIZES, drain_grace=0.2)
    try:
        server.start()
        cluster = server.create(size=2, max_size=SIZES)
        path = Path(cluster["hostfile"]["hostfile"])
        reader = Reader(path, server.folder)
        draw = random.Random(7)
        leavers: list[str] = []
        for _ in range(SCALES):
            server.put(f"clusters/{cluster['id']}/target", {"size": draw.randint(1, SIZES)})
            time.sleep(draw.choice((0.05, 0.1, 0.7)))
            leavers += filter(None, [leaver_listed(server, cluster["id"], path)])
        return [*reader.finish()["errors"], *leavers]
    finally:
        server.close()


@pytest.mark.parametrize(
    ("mutant", "noticed"),
    [("cut", "newline|empty|host line"), ("reorder", "order changed"), ("leaver", "leaving")],
)
def test_faulty_product_is_caught(mutant: str, noticed: str) -> None:
    assert any(re.search(noticed, error) for error in scale_and_look(mutant))


def test_product_itself_is_not() -> None:
    assert scale_and_look("") == []
