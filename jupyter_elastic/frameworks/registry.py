"""The known frameworks: ours, and those that other packages add by entry point."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import entry_points

from ..errors import BadInput
from .base import Framework
from .horovod import Horovod
from .horovod_elastic import HorovodElastic

ENTRY_POINT_GROUP = "jupyter_elastic.frameworks"
_OWN: tuple[Framework, ...] = (Horovod(), HorovodElastic())
_log = logging.getLogger(__name__)


@cache
def known_frameworks() -> dict[str, Framework]:
    """Return every framework by name, ours first. One that fails to load is logged and left out."""
    known = {framework.name: framework for framework in _OWN}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
            framework = loaded() if isinstance(loaded, type) else loaded
        except Exception:
            _log.exception("The framework %r of another package cannot be loaded", point.name)
            continue
        if not isinstance(framework, Framework):
            _log.error("The entry point %r is not a Framework", point.name)
        elif framework.name in known:
            _log.error("The framework name %r is taken; %r is ignored", framework.name, point.value)
        else:
            known[framework.name] = framework
    return dict(known)


def get_framework(name: str, allowed: tuple[str, ...] | None = None) -> Framework:
    """Return a framework by name.

    Raises
    ------
    BadInput
        An unknown name, or one that the administrator does not allow.
    """
    known = known_frameworks()
    usable = [item for item in known if allowed is None or item in allowed]
    if name not in usable:
        why = "is not allowed here" if name in known else "is not known"
        raise BadInput(
            f"The framework {name[:80]!r} {why}.",
            hint="Choose one of: " + ", ".join(usable) + ".",
            detail={"field": "framework", "allowed": usable},
        )
    return known[name]
