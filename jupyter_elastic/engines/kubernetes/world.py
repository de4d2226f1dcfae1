"""What the API server shows of our objects, kept fresh by reflectors in threads of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...keeper.kube.calls import CONFIGMAPS, EVENTS, JOBS, PODS, REPLICASETS, Api, Kind
from ...keeper.kube.reflector import Reflector, ReflectorHealth
from ...models import Health
from . import labels
from .trimming import trim_event, trim_object

Json = dict[str, Any]

# Without these nothing can be shown; without events only the reasons are poorer.
NEEDED = (PODS, REPLICASETS, CONFIGMAPS, JOBS)
_WORST_FIRST = ("gone", "unauthenticated", "forbidden", "failed", "stale", "starting", "live")


@dataclass(frozen=True)
class Objects:
    """All our objects of a namespace at one moment, by uid."""

    pods: Mapping[str, Json]
    replicasets: Mapping[str, Json]
    jobs: Mapping[str, Json]
    configmaps: Mapping[str, Json]
    events: Mapping[str, Json]


class World:
    """The caches of one namespace.

    Parameters
    ----------
    api
        Where to ask.
    on_change
        Called in a thread of a reflector after anything changed.
    """

    def __init__(self, api: Api, on_change: Callable[[], None]) -> None:
        self._reflectors: dict[Kind, Reflector] = {
            kind: Reflector(
                api, kind, selector=labels.selector(), trim=trim_object, on_change=on_change
            )
            for kind in NEEDED
        }
        # Events carry no labels of the objects they are about.
        self._reflectors[EVENTS] = Reflector(api, EVENTS, trim=trim_event, on_change=on_change)

    def start(self) -> None:
        """Begin to follow."""
        for reflector in self._reflectors.values():
            reflector.start()

    def stop(self) -> None:
        """End all threads; blocks for a moment."""
        for reflector in self._reflectors.values():
            reflector.stop(1.0)

    def poke(self) -> None:
        """Try now where the last try failed."""
        for reflector in self._reflectors.values():
            reflector.poke()

    def objects(self) -> Objects:
        """Return what is known now."""
        known = {kind: reflector.objects() for kind, reflector in self._reflectors.items()}
        return Objects(
            known[PODS], known[REPLICASETS], known[JOBS], known[CONFIGMAPS], known[EVENTS]
        )

    @property
    def complete(self) -> bool:
        """Whether everything that is needed was read at least once."""
        return all(self._reflectors[kind].health.last_list_at is not None for kind in NEEDED)

    def health(self) -> Health:
        """Return the worst of those that are needed, in words."""
        healths = [self._reflectors[kind].health for kind in NEEDED]
        worst = min(healths, key=lambda one: _WORST_FIRST.index(one.state))
        return Health(state=_state(worst), since=worst.since, text=worst.text)


def _state(health: ReflectorHealth) -> Any:
    return health.state
