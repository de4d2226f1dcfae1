"""Another process that reads the real host file in a tight loop, with the grammar of Horovod.

``python reader.py FILE STOPFILE`` prints one JSON line at the end: reads, how many distinct contents, and the first errors.
"""

from __future__ import annotations

import json
import os
import re
import sys

KEPT_ERRORS = 5
LINE = re.compile(r"[\w.-]+ slots=[0-9]+")


def problem(text: str, first: str) -> str | None:
    """Return what is wrong with one reading, or None."""
    if not text:
        return "empty"
    if not text.endswith("\n") or text.endswith("\n\n"):
        return "not exactly one newline at the end"
    lines = text[:-1].split("\n")
    bad = [line for line in lines if not LINE.fullmatch(line)]
    if bad:
        return f"not a host line: {bad[0]!r}"
    hosts = [line.split()[0] for line in lines]
    if hosts[0] != first:
        return f"the launcher is not first: {hosts[0]}"
    if len(set(hosts)) != len(hosts):
        return "a host twice"
    return None


def order_kept(before: list[str], after: list[str]) -> bool:
    """Whether survivors kept their relative order and newcomers came behind them."""
    survivors = [host for host in before if host in after]
    return after[: len(survivors)] == survivors


def main(path: str, stop: str, first: str = "127.0.0.1") -> None:
    """Read until the stop file exists."""
    reads, seen = 0, set()
    errors: list[str] = []
    last: list[str] = []
    while not os.path.exists(stop):
        try:
            with open(path, encoding="ascii", newline="") as handle:
                text = handle.read()
        except (OSError, UnicodeDecodeError) as error:
            if not os.path.isdir(os.path.dirname(stop)):
                return  # the test has failed and cleared up: nobody asks for an answer
            if len(errors) < KEPT_ERRORS:
                errors.append(repr(error))
            continue
        reads += 1
        if (
            text in seen
            and last
            and text.split("\n")[0]
            and [w.split()[0] for w in text.split("\n")[:-1]] == last
        ):
            continue
        wrong = problem(text, first)
        hosts = [line.split()[0] for line in text.split("\n")[:-1] if line]
        if wrong is None and last and not order_kept(last, hosts):
            wrong = f"order changed: {last} -> {hosts}"
        if wrong and len(errors) < KEPT_ERRORS:
            errors.append(wrong)
        seen.add(text)
        last = hosts
    print(json.dumps({"reads": reads, "contents": len(seen), "errors": errors}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
