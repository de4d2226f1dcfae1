"""What the words of a magic or of the command line mean; the same rules for both."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from .errors import BadInput
from .models import Cluster, Options
from .waiting import MAX_WAIT, WAIT_SECONDS

_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def whole(text: str, field: str, *, low: int, high: str) -> int:
    """Read a whole number of at least `low`.

    Parameters
    ----------
    high
        The upper limit in words, for the message; the server checks it.

    Raises
    ------
    BadInput
        With the range.
    """
    value = int(text) if _WHOLE.fullmatch(text) else None
    if value is None or value < low:
        raise BadInput(
            f"{field} is a whole number from {low} to {high}, not {text[:40]!r}.",
            detail={"field": field, "minimum": low},
        )
    return value


def size_for(cluster: Cluster, text: str) -> int:
    """Read a size; the message names this cluster's limit and who set it."""
    why = f" ({cluster.limit.text})" if cluster.limit.text else ""
    high = f"{cluster.limit.size}{why}"
    return whole(text, "size: containers, launcher included,", low=1, high=high)


def seconds(text: str | bool | None) -> float | None:
    """Read ``--wait``: None does not wait, True is the default, else seconds.

    Raises
    ------
    BadInput
        When it is not a number of seconds above 0 and up to a day.
    """
    if text is None or text is False:
        return None
    if text is True:
        return WAIT_SECONDS
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= MAX_WAIT:
        raise BadInput(
            f"--wait takes seconds above 0 and up to {MAX_WAIT:g}, not {text[:40]!r}.",
            detail={"field": "wait", "maximum": MAX_WAIT},
        )
    return value


def memory(text: str, option: str = "--shared-memory") -> int:
    """Read a memory size like ``512M`` or ``8Gi`` in bytes (K, M, G, T are powers of 1024)."""
    found = re.fullmatch(r"([0-9]{1,12})\s*([KMGT]?)(i?B?)", text, re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise BadInput(f"{option} is a size like 512M or 8G, not {text[:40]!r}.")
    return int(found[1]) * _UNITS[found[2].upper()]


def split(text: str) -> list[str]:
    """Split the script's arguments as a shell would.

    Raises
    ------
    BadInput
        When a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BadInput(f"--arguments {text[:40]!r}: {error}.") from None


def path(text: str) -> str:
    """Make a script's path absolute: relative means relative to the caller's folder."""
    return os.path.abspath(os.path.expanduser(text))


def new_cluster(words: Namespace) -> dict[str, Any]:
    """Turn the words of ``create`` into the fields of the request, without the name."""
    fields: dict[str, Any] = {
        "size": whole(words.size, "--size", low=1, high="the engine's limit"),
        "framework": words.framework,
        "engine": words.engine,
        "launcher_mode": words.launcher,
        "gpu_kind": words.gpu_kind,
        "image": words.image,
        "kernelspec": words.kernelspec,
        "script": path(words.script) if words.script else None,
        "arguments": split(words.arguments or ""),
        "pass_env": words.pass_env,
        "cpu": None if words.cpu is None else _cores(words.cpu),
        "storage": [_mount(text) for text in words.storage],
        "env": _pairs(words.env, "--env"),
        "node_selector": _pairs(words.node_label, "--node-label"),
    }
    if words.memory is not None:
        fields["memory"] = memory(words.memory, "--memory")
    if words.gpus is not None:
        fields["gpus_per_container"] = whole(words.gpus, "--gpus", low=0, high="what one host has")
    if words.shared_memory is not None:
        fields["shared_memory"] = memory(words.shared_memory)
    for name in ("min_size", "max_size"):
        text = getattr(words, name)
        if text is not None:
            option = "--" + name.replace("_", "-")
            fields[name] = whole(text, option, low=1, high="the engine's limit")
    return {key: value for key, value in fields.items() if value not in (None, [], {}, "")}


def _cores(text: str) -> float:
    try:
        cores = float(text)
    except ValueError:
        cores = 0.0
    if not 0 < cores < float("inf"):
        raise BadInput(
            f"--cpu must be a number of cores above 0, not {text[:40]!r}.",
            hint="For example 4, or 0.5.",
            detail={"field": "cpu"},
        )
    return cores


def _mount(text: str) -> str | dict[str, Any]:
    claim, _, rest = text.partition(":")
    path, _, mode = rest.partition(":")
    if not claim or mode not in ("", "ro", "rw") or (rest and not path):
        raise BadInput(
            f"--storage {text[:80]!r} is not a claim, a path and ro.",
            hint="For example datasets, or datasets:/data:ro.",
            detail={"field": "storage"},
        )
    return {"claim": claim, "path": path, "read_only": mode == "ro"} if path else claim


def _pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        # The value may be a secret: only the name is shown.
        if not sign or not name:
            raise BadInput(f"{option} {name[:40]!r} lacks its value.", hint="Give NAME=VALUE.")
        if name in pairs:
            raise BadInput(f"{option} gives {name[:40]!r} twice.", hint="Give it once.")
        pairs[name] = value
    return pairs


def free_name(clusters: Sequence[Cluster]) -> str:
    """Return ``training``, or the first free ``training-n``."""
    taken = {item.name for item in clusters}
    if "training" not in taken:
        return "training"
    return next(name for n in range(2, len(taken) + 3) if (name := f"training-{n}") not in taken)


def kernel_of(options: Options, python: str) -> str | None:
    """Return the one kernelspec whose Python is `python`, so that the training uses it too."""
    same = [item.name for item in options.kernels if os.path.abspath(item.python) == python]
    return same[0] if len(same) == 1 else None
