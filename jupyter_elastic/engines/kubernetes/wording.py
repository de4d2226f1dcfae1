"""Texts of Kubernetes made fit for a person: without ids, prefixes and control characters."""

from __future__ import annotations

import re

from ...models import Reason

READ_LIMIT = 4096  # characters of a message that are looked at
TEXT_LIMIT = 300  # characters
DETAIL_LIMIT = 1000
LINE_LIMIT = 160

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NOISE = (
    (re.compile(r"^\(combined from similar events\): "), ""),
    (re.compile(r"^Error creating: "), ""),
    # The name of a pod that was never made is new at each try.
    (re.compile(r'^pods? "[^"]*" is forbidden: ', re.IGNORECASE), ""),
    (re.compile(r'^Pod "[^"]*" is invalid: '), ""),
    (re.compile(r'^pods "[^"]*" not found: '), ""),
    (re.compile(r' ?\(pod: "[^"]*", container: [^)]*\)'), ""),
    (re.compile(rf" ?(?:in pod |of pod |pod=)\S*\({_UUID}\)"), ""),
    (re.compile(rf' ?\("?{_UUID}"?\)'), ""),
    (re.compile(rf'(?<=["_ ]){_UUID}(?=["_ ,.]|$)'), "..."),
    (re.compile(r"\bback-off \d[0-9hms.]*(?= )"), "back-off"),
    (re.compile(r"rpc error: code = \w+ desc = "), ""),
)  # fmt: skip


def cleaned(message: str, limit: int = DETAIL_LIMIT) -> str:
    """Return a message of Kubernetes without what differs from try to try."""
    kept = "".join(one if one.isprintable() else " " for one in message[:READ_LIMIT])
    kept = " ".join(kept.split())
    for pattern, instead in _NOISE:
        kept = pattern.sub(instead, kept)
    kept = kept.strip()
    return kept if len(kept) <= limit else kept[: limit - 3] + "..."


def reason(code: str, words: str, detail: str = "") -> Reason:
    """Return a reason with bounded, clean texts."""
    return Reason(code, cleaned(words, TEXT_LIMIT), cleaned(detail))


def sentence(words: str) -> str:
    """Return words with a capital at the begin and a full stop at the end."""
    words = words.strip()
    if not words:
        return ""
    words = words[0].upper() + words[1:]
    return words if words[-1] in ".!?" else words + "."


def last_line(output: str) -> str:
    """Return the last line of a container's output that says anything."""
    for line in reversed(output.splitlines()):
        line = cleaned(line, LINE_LIMIT).removeprefix("jupyter-elastic: ")
        if line:
            return line
    return ""


def count(number: int, noun: str) -> str:
    """Return ``1 node`` or ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def times(number: int) -> str:
    """Return ``once`` or ``3 times``."""
    return "once" if number == 1 else f"{number} times"
