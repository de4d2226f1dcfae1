"""A clock that jumps over waiting times, and reflectors that are ended."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import PODS, Api
from jupyter_elastic.keeper.kube.reflector import Reflector

from ...fakes.kube import FakeKube


class FakeClock:
    """Monotonic time in which waiting costs nothing, and all else what it costs."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._lock = threading.Lock()
        #: What was waited for, in order.
        self.waits: list[float] = []

    def __call__(self) -> float:
        with self._lock:
            return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._ahead += seconds

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.waits.append(seconds)
            self._ahead += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        # A moment of real time, so that what others do meanwhile happens.
        if event.wait(min(seconds, 0.002)):
            return True
        self.sleep(seconds)
        return False


def eventually(check: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait until something holds, and return it."""
    ends = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < ends, "it never came to hold"
        time.sleep(0.003)
    return found


def pod(name: str, **labels: str) -> dict[str, Any]:
    """Return a pod with labels."""
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main"}]},
    }


def names(reflector: Reflector) -> list[str]:
    """Return the names of the objects it holds."""
    return sorted(found["metadata"]["name"] for found in reflector.objects().values())


def same_as_list(reflector: Reflector, api: Api) -> bool:
    """Whether the cache equals a fresh list."""
    items, _ = api.list(PODS)
    return reflector.objects() == {item["metadata"]["uid"]: item for item in items}


def line(kind: str, name: str, version: str, uid: str = "", **more: Any) -> bytes:
    """Return one event as a server writes it."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": metadata, **more}}).encode() + b"\n"


def event_watch(kube: FakeKube, *lines: bytes, **more: Any) -> Any:
    """Let the next watch of pods say just this."""
    return kube.fail(verb="watch", resource="pods", action="lines", lines=list(lines), **more)


class Watched:
    """A reflector of all pods on a clock that jumps, and what it told."""

    def __init__(self, kube: FakeKube, api: Api, clock: FakeClock, **options: Any) -> None:
        self.kube = kube
        self.api = api
        self.clock = clock
        self.told = 0
        self.states: list[str] = []
        self.sizes: list[int] = []
        options.setdefault("silence", 5.0)
        self.reflector = Reflector(
            api,
            options.pop("kind", PODS),
            on_change=self._note,
            rng=random.Random(11),
            clock=clock,
            wait=clock.wait,
            **options,
        )

    def _note(self) -> None:
        self.told += 1
        self.sizes.append(len(self.reflector.objects()))
        state = self.reflector.health.state
        if self.states[-1:] != [state]:
            self.states.append(state)

    @property
    def state(self) -> str:
        return self.reflector.health.state

    def live(self) -> None:
        """Wait until it is live and knows all there is."""
        eventually(lambda: self.state == "live")

    def next_watch(self) -> None:
        """Let the open watch end as by its time-out, and wait for the next one."""
        self.clock.advance(2)
        opened = len(self.kube.asked("watch"))

        def again() -> bool:
            self.kube.end_watches()
            return len(self.kube.asked("watch")) > opened

        eventually(again)

    def most_in_a_second(self, since: float) -> int:
        """Return the most requests in any one second of the jumping clock after a time."""
        times = [one.time for one in self.kube.asked() if one.time >= since]
        return max((sum(at <= t < at + 1 for t in times) for at in times), default=0)


@pytest.fixture
def kube() -> Iterator[FakeKube]:
    with FakeKube() as server:
        yield server


@pytest.fixture
def clock(kube: FakeKube) -> FakeClock:
    fake = FakeClock()
    kube.clock = fake
    return fake


@pytest.fixture
def api(kube: FakeKube, clock: FakeClock) -> Iterator[Api]:
    with kube.api(timeout=5.0, clock=clock, sleep=clock.sleep) as found:
        yield found


@pytest.fixture
def watch(kube: FakeKube, api: Api, clock: FakeClock) -> Iterator[Callable[..., Watched]]:
    """Start reflectors, and end them."""
    started: list[Watched] = []

    def start(**options: Any) -> Watched:
        watched = Watched(kube, options.pop("api", api), clock, **options)
        started.append(watched)
        watched.reflector.start()
        return watched

    yield start
    for watched in started:
        watched.reflector.stop()
        assert not watched.reflector._thread.is_alive()
