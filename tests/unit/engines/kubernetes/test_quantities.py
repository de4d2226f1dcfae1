from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.engines.kubernetes import quantities


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", "0"), ("500m", "0.5"), ("2", "2"), ("1.5Gi", "1610612736"), ("1k", "1000"), ("1e3", "1000"),
     ("1E3", "1000"), ("2E", "2e18"), ("100n", "1e-7"), (".5", "0.5"), ("-1", "-1"), (3, "3")],
)  # fmt: skip
def test_quantities_are_read(text: object, number: str) -> None:
    assert quantities.parse(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", "x", "1 Gi", "1gi", "1e", "1e999", "Infinity", "nan", None, True, [], "9" * 40]
)
def test_what_is_no_quantity_is_none(text: object) -> None:
    assert quantities.parse(text) is None


@given(st.integers(1, 2**60))
def test_bytes_are_written_exactly(size: int) -> None:
    assert quantities.parse(quantities.memory(size)) == size


@given(st.floats(0.001, 4096))
def test_cores_are_written_to_a_thousandth(value: float) -> None:
    found = quantities.parse(quantities.cores(value))
    assert found is not None
    assert abs(float(found) - value) <= 0.000501


def test_words() -> None:
    assert quantities.memory(2**30) == "1Gi"
    assert quantities.memory(1000) == "1000"
    assert quantities.memory(0) == "0"
    assert quantities.cores(2) == "2"
    assert quantities.cores(0.25) == "250m"
    assert quantities.size_words(3 * 2**29) == "1.5 GiB"
    assert quantities.size_words(100) == "100 bytes"
    assert quantities.whole("4") == 4
    assert quantities.whole("-4") == quantities.whole("x") == quantities.whole("1e40") == 0
