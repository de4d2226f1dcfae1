"""Newcomers of a live elastic run: waited for together, and announced again where Horovod forgot them."""

from __future__ import annotations

import dataclasses

from jupyter_elastic.engines.base import ClusterFacts, KeeperStatus
from jupyter_elastic.models import (
    ClusterSpec,
    Container,
    HostEntry,
    HostList,
    Limit,
    Run,
    Settings,
)
from jupyter_elastic.planning import joining
from jupyter_elastic.planning.joining import Announcer, batched

START = 1000.0


def container(number: int, state: str = "ready", since: float = START) -> Container:
    role = "worker" if number else "launcher"
    return Container(f"u{number}", f"c{number}", role, state, since, host=f"10.0.0.{number}")  # type: ignore[arg-type]


def entry(number: int) -> HostEntry:
    return HostEntry(f"u{number}", f"c{number}", f"10.0.0.{number}", 1)


def facts(*containers: Container, listed: tuple[int, ...] = (0, 1)) -> ClusterFacts:
    return ClusterFacts(
        id="x",
        spec=ClusterSpec("x", "horovod-elastic", 2, "fake"),
        settings=Settings(),
        created=START,
        target=len(containers),
        containers=containers,
        host_list=HostList(1, tuple(map(entry, listed))),
        host_folder="/etc/mpi",
        limit=Limit(8, ""),
        slots_by_uid={item.uid: entry(number) for number, item in enumerate(containers)},
    )


def keeper(*busy: int, elastic: bool = True, max_np: int = 8) -> KeeperStatus:
    run = Run("r", "running", "horovodrun", "", (), "/", START, max_np=max_np, elastic=elastic)
    hosts = tuple(f"10.0.0.{number}" for number in busy)
    return KeeperStatus(True, START, busy_hosts=hosts, runs=(run,))


def numbers(members: tuple[HostEntry, ...]) -> list[int]:
    return [int(one.uid[1:]) for one in members]


def test_a_newcomer_waits_for_those_that_start() -> None:
    seen = facts(
        container(0), container(1), container(2, since=START + 5), container(3, "starting")
    )
    members = tuple(map(entry, (0, 1, 2)))
    assert numbers(batched(seen, members, 0.0, START + 5)[0]) == [0, 1, 2]
    held, until = batched(seen, members, 10.0, START + 6)
    assert (numbers(held), until) == ([0, 1], START + 15)
    assert batched(seen, members, 10.0, START + 15) == (members, None)


def test_nobody_waits_for_what_cannot_start_or_when_all_are_there() -> None:
    members = tuple(map(entry, (0, 1, 2)))
    for other in (container(3, "pending"), container(3, "failed")):
        seen = facts(container(0), container(1), container(2), other)
        assert batched(seen, members, 10.0, START)[0] == members
    seen = facts(container(0), container(1), container(2))
    assert batched(seen, members, 10.0, START)[0] == members


def test_those_that_leave_are_not_held() -> None:
    seen = facts(container(0), container(1, "draining"), container(2), container(3, "starting"))
    held, _ = batched(seen, tuple(map(entry, (0, 2))), 10.0, START)
    assert numbers(held) == [0]


def test_a_host_without_a_rank_is_announced_again() -> None:
    seen = facts(container(0), container(1), container(2), listed=(0, 1, 2))
    members = tuple(map(entry, (0, 1, 2)))
    announcer, late = Announcer(), START + joining.UNUSED_SECONDS
    kept, look = announcer.apply(seen, keeper(0, 1), members, START + 1)
    assert (kept, look) == (members, late)
    kept, look = announcer.apply(seen, keeper(0, 1), members, late)
    assert (numbers(kept), look) == ([0, 1], late + joining.AWAY_SECONDS)
    kept, _ = announcer.apply(seen, keeper(0, 1), members, late + joining.AWAY_SECONDS)
    assert kept == members


def test_it_is_not_announced_for_ever() -> None:
    seen = facts(container(0), container(1), container(2), listed=(0, 1, 2))
    members = tuple(map(entry, (0, 1, 2)))
    announcer, away, now = Announcer(), 0, START
    before = members
    while now < START + 600:
        now += 1
        kept, _ = announcer.apply(seen, keeper(0, 1), members, now)
        away += before == members != kept
        before = kept
    assert away == joining.ANNOUNCEMENTS


def test_no_host_is_sent_away_without_need() -> None:
    members = tuple(map(entry, (0, 1, 2)))
    seen = facts(container(0), container(1), container(2), listed=(0, 1, 2))
    late = START + 100
    for status in (
        keeper(0, 1, 2),  # all have a rank
        keeper(0, 1, elastic=False),  # a static run reads the list once
        keeper(0, 1, max_np=2),  # the run wants no more
        dataclasses.replace(keeper(0, 1), runs=()),
        None,
    ):
        assert Announcer().apply(seen, status, members, late)[0] == members
    # The launcher is never sent away.
    assert Announcer().apply(seen, keeper(1, 2), members, late)[0] == members
