"""Waiting times, and the most requests of a second."""

from __future__ import annotations

import random

import pytest

from jupyter_elastic.keeper.kube.backoff import LONGEST_SECONDS, Backoff, Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("seed", range(30))
def test_waits_double_up_to_half_a_minute(seed: int) -> None:
    backoff = Backoff(random.Random(seed), Clock())
    waits = [backoff.failure() for _ in range(40)]
    assert 0 <= waits[0] <= 0.8
    for number, wait in enumerate(waits[1:], 1):
        assert 1.0 <= wait <= min(0.8 * 2**number, LONGEST_SECONDS)


def test_chance_has_its_whole_range() -> None:
    backoff = Backoff(random.Random(1), Clock())
    waits = [backoff.failure() for _ in range(500)][10:]
    assert min(waits) < 2
    assert max(waits) > 28


@pytest.mark.parametrize(("healthy", "short"), [(119.0, False), (120.0, True)])
def test_two_minutes_of_health_forget_the_failures(healthy: float, short: bool) -> None:
    clock = Clock()
    backoff = Backoff(random.Random(1), clock)
    for _ in range(9):
        backoff.failure()
    backoff.healthy()
    clock.now += healthy / 2
    backoff.healthy()  # still the same health
    clock.now += healthy / 2
    assert (backoff.failure() < 0.8) == short


def test_a_failure_ends_the_health() -> None:
    clock = Clock()
    backoff = Backoff(random.Random(1), clock)
    backoff.failure()
    backoff.healthy()
    clock.now += 60
    backoff.failure()
    clock.now += 61
    backoff.healthy()
    assert backoff.failure() >= 1.0


def test_a_thousand_failures_do_not_overflow() -> None:
    backoff = Backoff(random.Random(1), Clock())
    assert max(backoff.failure() for _ in range(2000)) <= LONGEST_SECONDS


def test_two_requests_in_any_second() -> None:
    clock = Clock()
    pace = Pace(clock)
    times = []
    for _ in range(20):
        clock.now += pace.wait()
        pace.went()
        times.append(clock.now)
        clock.now += 0.01
    for start in times:
        assert sum(start <= t < start + 1 for t in times) <= 2
    assert times[-1] - times[0] == pytest.approx(9.9, abs=0.2)


def test_who_asks_rarely_never_waits() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(5):
        assert pace.wait() == 0
        pace.went()
        clock.now += 0.6
