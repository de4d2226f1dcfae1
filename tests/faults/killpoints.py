"""Makes a process kill itself at a named point, once, when a test has armed that point.

The armed point is the content of the file named by ``KILL_FILE``; reaching it removes the file and sends SIGKILL to
the process itself, so no handler and no ``finally`` runs. Nothing of this is part of the product.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
from collections.abc import Callable
from typing import Any

ENGINE_CALLS = ("create", "configure", "scale", "commit_hosts", "remove", "release", "keeper")
CHANNEL_CALLS = ("publish", "set_rules")


def reached(point: str) -> None:
    """End this process if the test has armed `point`."""
    armed = os.environ.get("KILL_FILE", "")
    try:
        with open(armed, encoding="utf-8") as handle:
            wanted = handle.read()
    except OSError:
        return
    if wanted == point:
        os.unlink(armed)
        os.kill(os.getpid(), signal.SIGKILL)


def around(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a plain or coroutine function with a point before and one after."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapped_async(*args: Any, **kwargs: Any) -> Any:
            reached(f"{name}:before")
            result = await function(*args, **kwargs)
            reached(f"{name}:after")
            return result

        return wrapped_async

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        reached(f"{name}:before")
        result = function(*args, **kwargs)
        reached(f"{name}:after")
        return result

    return wrapped


def _everything_below(base: type) -> list[type]:
    found: list[type] = [base]
    kind: type
    for kind in base.__subclasses__():
        found += _everything_below(kind)
    return found


def install_in_server() -> None:
    """Wrap every engine call, every channel call and every rename of a file in this process."""
    import jupyter_elastic.engines.local  # noqa: F401 - its classes must exist before they are wrapped
    from jupyter_elastic.engines.base import Engine, KeeperChannel

    for base, calls, prefix in (
        (Engine, ENGINE_CALLS, "engine"),
        (KeeperChannel, CHANNEL_CALLS, "channel"),
    ):
        for kind in _everything_below(base):
            for call in calls:
                own = kind.__dict__.get(call)
                if own is not None and not getattr(own, "__isabstractmethod__", False):
                    setattr(kind, call, around(own, f"{prefix}.{call}"))
    install_in_files("server")


def install_in_files(who: str) -> None:
    """Wrap the rename that makes a written file visible; the point names the file."""
    real = os.replace

    @functools.wraps(real)
    def replace(source: Any, target: Any, **kwargs: Any) -> None:
        name = os.path.basename(os.fspath(target))
        kind = (
            "state" if os.path.basename(os.path.dirname(os.fspath(target))) == "clusters" else name
        )
        reached(f"{who}.write.{kind}:before")
        real(source, target, **kwargs)
        reached(f"{who}.write.{kind}:after")

    os.replace = replace  # type: ignore[assignment]
