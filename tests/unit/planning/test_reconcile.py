"""The next steps: truths 1 to 5."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.engines.base import ClusterFacts, KeeperStatus
from jupyter_elastic.hostfile.membership import next_members
from jupyter_elastic.models import (
    ClusterSpec,
    Container,
    HostEntry,
    HostList,
    Limit,
    Reason,
    Role,
    Run,
    Settings,
)
from jupyter_elastic.planning.reconcile import Commit, Publish, Remove, next_steps

NOW = 1000.0


def container(number, state="ready", until=None):
    role: Role = "launcher" if number == 1 else "worker"
    return Container(
        f"u{number}", f"c-{number}", role, state, 1.0, host=f"10.0.0.{number}", drain_until=until
    )


def entry(number):
    return HostEntry(f"u{number}", f"c-{number}", f"10.0.0.{number}", 1)


def facts(*containers, listed=(), generation=1, **changes):
    spec = ClusterSpec("c", "horovod", 2, "local")
    base = ClusterFacts(
        id="c",
        spec=spec,
        settings=Settings(),
        created=1.0,
        target=2,
        containers=containers,
        host_list=HostList(generation if listed else 0, tuple(entry(n) for n in listed)),
        host_folder="/x",
        limit=Limit(8, ""),
        slots_by_uid={item.uid: entry(int(item.uid[1:])) for item in containers},
    )
    return replace(base, **changes)


def keeper(generation=1, busy=(), live=False, reachable=True):
    runs = (Run("r", "running", "horovodrun", "", (), "/", 1.0),) if live else ()
    return KeeperStatus(
        reachable, 1.0, generation, busy_hosts=tuple(f"10.0.0.{n}" for n in busy), runs=runs
    )


def steps(seen, status, now=NOW):
    return next_steps(seen, status, next_members(seen, seen.host_list, now), now)


def test_new_cluster_agrees_then_publishes():
    found = steps(facts(container(1), container(2)), keeper(0))
    assert [type(item) for item in found.actions] == [Commit, Publish]
    assert found.actions[0].hosts == HostList(1, (entry(1), entry(2)))


def test_nothing_to_do():
    found = steps(facts(container(1), container(2), listed=(1, 2)), keeper(1))
    assert found == next_steps(facts(), None, (), NOW)


def test_unknown_members_leave_the_list_alone():
    seen = facts(container(1), container(2), listed=(1, 2))
    assert next_steps(seen, keeper(1), (), NOW).actions == ()


def test_no_publish_while_the_keeper_is_away_but_the_list_is_agreed():
    found = steps(
        facts(container(1), container(2), container(3), listed=(1, 2)), keeper(1, reachable=False)
    )
    assert [type(item) for item in found.actions] == [Commit]


def test_a_restarted_keeper_gets_the_list_again():
    found = steps(facts(container(1), container(2), listed=(1, 2), generation=5), keeper(0))
    assert found.actions == (Publish(HostList(5, (entry(1), entry(2)))),)


def test_leaver_goes_in_order():
    seen = facts(container(1), container(2, "draining", NOW + 30), listed=(1, 2))
    first = steps(seen, keeper(1))
    assert first.actions == (Commit(HostList(2, (entry(1),))), Publish(HostList(2, (entry(1),))))
    agreed = replace(seen, host_list=HostList(2, (entry(1),)))
    assert [type(item) for item in steps(agreed, keeper(1)).actions] == [Publish]
    assert steps(agreed, keeper(2)).actions == (Remove("u2", "c-2"),)


def test_leaver_waits_for_its_rank_then_the_grace():
    seen = facts(container(1), container(2, "draining", NOW + 30), listed=(1,), generation=2)
    waits = steps(seen, keeper(2, busy=(2,)))
    assert (waits.actions, waits.offers, waits.wake_at) == ((), (), NOW + 30)
    spent = steps(seen, keeper(2, busy=(2,)), NOW + 30)
    assert spent.actions[0].uid == "u2"
    assert spent.actions[0].note


def test_with_a_live_run_the_person_is_asked_first():
    seen = facts(container(1), container(2, "draining", NOW), listed=(1,), generation=2)
    asked = steps(seen, keeper(2, busy=(2,), live=True))
    assert asked.actions == ()
    assert (asked.offers[0].container, asked.offers[0].due) == ("c-2", NOW + 60)
    assert asked.offers[0].choices == ("wait", "delete", "keep")
    assert asked.wake_at == NOW + 60
    unattended = steps(seen, keeper(2, busy=(2,), live=True), NOW + 60)
    assert unattended.actions[0].uid == "u2"


def test_a_leaver_without_an_address_waits_for_nobody():
    ghost = replace(container(2, "draining", NOW + 30), host=None)
    assert steps(facts(container(1), ghost, listed=(1,)), None).actions == (Remove("u2", "c-2"),)


def test_ended_and_releasing_clusters_are_left_alone():
    for changes in ({"ended": Reason("boot", "restarted")}, {"releasing": True}):
        seen = facts(container(1), container(2, "draining", 1.0), listed=(1, 2), **changes)
        assert steps(seen, keeper(1)).actions == ()


@given(
    st.lists(st.sampled_from(["ready", "starting", "draining", "failed"]), max_size=5),
    st.sets(st.integers(2, 6)),
    st.integers(0, 4),
    st.sets(st.integers(1, 6)),
    st.booleans(),
    st.booleans(),
)
def test_never_removed_while_it_may_be_listed_or_busy(
    states, listed, written, busy, live, reachable
):
    containers = [container(1)]
    containers += [container(n, state, NOW + 5) for n, state in enumerate(states, start=2)]
    names = (1, *sorted(listed & {int(item.uid[1:]) for item in containers}))
    seen = facts(*containers, listed=names, generation=3)
    status = keeper(written, busy, live, reachable)
    found = steps(seen, status)
    for action in found.actions:
        if isinstance(action, Remove):
            number = int(action.uid[1:])
            assert number != 1
            assert containers[number - 1].state == "draining"
            assert number not in names
            assert reachable
            assert written >= 3
            assert number not in busy
        elif isinstance(action, Commit):
            assert action.hosts.generation == 4
            assert action.hosts.hosts[0].uid == "u1"
            leaving = {item.uid for item in containers if item.state in ("draining", "failed")}
            assert not leaving & {item.uid for item in action.hosts.hosts}
