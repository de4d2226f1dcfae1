"""JSON patches, merge patches and label selectors, as an API server applies them."""

from __future__ import annotations

import copy
import re
from typing import Any


class PatchFailedError(Exception):
    """A patch that does not fit the object."""


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target after a merge patch: null removes, maps merge, the rest replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(target: Any, operations: list[dict[str, Any]]) -> Any:
    """Return the target after a JSON patch (test, add, replace, remove)."""
    result = copy.deepcopy(target)
    for operation in operations:
        path = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
        parent = result
        try:
            for part in path[1:-1]:
                parent = parent[int(part) if isinstance(parent, list) else part]
            _change(parent, path[-1], operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PatchFailedError(f"no such place: {operation['path']}") from error
    return result


def _change(parent: Any, last: str, operation: dict[str, Any]) -> None:
    op = operation["op"]
    if isinstance(parent, list) and op == "add":
        parent.insert(len(parent) if last == "-" else int(last), operation["value"])
        return
    key: Any = int(last) if isinstance(parent, list) else last
    if op == "add":
        parent[key] = operation["value"]
        return
    held = parent[key]
    if op == "test":
        if held != operation["value"]:
            raise PatchFailedError(f"test failed: {operation['path']}")
    elif op == "replace":
        parent[key] = operation["value"]
    elif op == "remove":
        del parent[key]
    else:
        raise PatchFailedError(f"unknown operation {op}")


def selects(selector: str, labels: dict[str, str] | None) -> bool:
    """Whether a label selector means an object with these labels."""
    have = labels or {}
    for term in re.split(r",(?![^(]*\))", selector):
        term = term.strip()
        found = re.fullmatch(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)", term)
        if not term:
            continue
        if found:
            values = {value.strip() for value in found[3].split(",")}
            if (have.get(found[1]) in values) != (found[2] == "in"):
                return False
        elif "!=" in term:
            key, _, value = term.partition("!=")
            if have.get(key.strip()) == value.strip():
                return False
        elif "=" in term:
            key, _, value = term.replace("==", "=").partition("=")
            if have.get(key.strip()) != value.strip():
                return False
        elif term.startswith("!"):
            if term[1:].strip() in have:
                return False
        elif term not in have:
            return False
    return True
