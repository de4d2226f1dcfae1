"""What a merged kubeconfig says: contexts, clusters and users, checked while they are read.

No error quotes what stands in a file, except names: files hold secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import BadInput


@dataclass(frozen=True)
class Entry:
    """One named part: its content, and the folder of its file, where relative paths begin."""

    name: str = ""
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    folder: str = ""


@dataclass(frozen=True)
class Kubeconfig:
    """All files together; in each table the first file that has a name wins."""

    files: tuple[str, ...]
    current: str
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]


@dataclass(frozen=True)
class Choice:
    """One context with what it points to."""

    context: str
    namespace: str
    cluster: Entry
    user: Entry


def choose(config: Kubeconfig, context: str | None) -> Choice:
    """Return a context, None: the current one.

    Raises
    ------
    BadInput
        When it, its cluster or its user is not there.
    """
    where = ", ".join(config.files)
    name = context or config.current
    known = ", ".join(sorted(config.contexts)) or "none"
    if not name:
        raise bad(f"No current context is set in {where}.", "context", f"Choose one of: {known}.")
    chosen = config.contexts.get(name)
    if chosen is None:
        raise bad(f"There is no context {name!r} in {where}.", "context", f"Known: {known}.")
    cluster = config.clusters.get(text(chosen.content, "cluster"))
    if cluster is None:
        raise bad(f"The cluster of context {name!r} is not in {where}.", "context")
    user_name = text(chosen.content, "user")
    user = config.users.get(user_name, Entry()) if user_name else Entry()
    if user_name and not user.name:
        raise bad(f"The user of context {name!r} is not in {where}.", "context")
    return Choice(name, text(chosen.content, "namespace"), cluster, user)


def collect(entries: list[tuple[Mapping[str, Any], str]], kind: str) -> dict[str, Entry]:
    """Turn a list of named entries with their files into a table; the first of a name wins.

    Parameters
    ----------
    entries
        Each ``{"name": ..., kind: {...}}`` and the file it came from.
    kind
        ``context``, ``cluster`` or ``user``.
    """
    table: dict[str, Entry] = {}
    for entry, path in entries:
        content = entry.get(kind) or {}
        name = entry["name"]
        if not isinstance(content, Mapping) or not isinstance(name, str):
            raise TypeError(kind)
        table.setdefault(name, Entry(name, content, os.path.dirname(os.path.abspath(path))))
    return table


def text(content: Mapping[str, Any], key: str) -> str:
    """Return a text of an entry; "" when it is not there.

    Raises
    ------
    BadInput
        When it is something else than a text.
    """
    value = content.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(f"{key!r} in the kubeconfig is not a text.", key, "Put it in quotes.")
    return value


def bad(message: str, name: str, hint: str = "") -> BadInput:
    """Return an error about one field of the kubeconfig or one setting."""
    hint = hint or "Compare it with what `kubectl config view` shows."
    return BadInput(message, hint=hint, detail={"field": name})
