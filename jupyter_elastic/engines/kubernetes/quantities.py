"""Amounts as Kubernetes writes them, and as a person reads them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1),
    "k": Decimal("1e3"), "M": Decimal("1e6"), "G": Decimal("1e9"), "T": Decimal("1e12"),
    "P": Decimal("1e15"), "E": Decimal("1e18"),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
    "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]{1,2})"
)
_WORDS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def parse(value: object) -> Decimal | None:
    """Return a quantity such as ``500m``, ``2Gi`` or ``1e3`` as a number, or None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    suffix = match["suffix"]
    try:
        number = Decimal(match["number"])
        if suffix in _SUFFIXES:
            return number * _SUFFIXES[suffix]
        return number.scaleb(int(suffix[1:]))
    except InvalidOperation:
        return None


def whole(value: object) -> int:
    """Return a quantity of things that cannot be shared, such as GPUs; 0 if it is none."""
    number = parse(value)
    return max(0, int(number)) if number is not None and number < 2**31 else 0


def cores(value: float) -> str:
    """Return CPU cores as a quantity, in thousandths where they are not whole."""
    thousandths = round(value * 1000)
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def memory(size: int) -> str:
    """Return bytes as a quantity, in the largest unit that is exact."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        unit = int(_SUFFIXES[suffix])
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def size_words(size: int) -> str:
    """Return bytes for a person, such as ``1.5 GiB``."""
    for unit, word in _WORDS:
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {word}"
    return f"{size} bytes"
