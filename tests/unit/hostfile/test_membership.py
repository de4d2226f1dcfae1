"""Who is in the host file: the guarantees about membership and order, each as a property."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.engines.base import ClusterFacts
from jupyter_elastic.hostfile.membership import next_look, next_members, valid_host
from jupyter_elastic.models import (
    ClusterSpec,
    Container,
    HostEntry,
    HostList,
    Limit,
    Reason,
    Settings,
)

NOW = 1000.0
STATES = ["not created", "pending", "starting", "ready", "draining", "failed", "unknown"]


def container(number: int, state: str = "ready", since: float = 0.0) -> Container:
    role = "launcher" if number == 1 else "worker"
    return Container(f"u{number}", f"c-{number}", role, state, since, host=host(number))  # type: ignore[arg-type]


def host(number: int) -> str:
    return f"10.0.0.{number}"


def entry(number: int, **fields: object) -> HostEntry:
    made = HostEntry(f"u{number}", f"c-{number}", host(number), 1)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def facts(containers: list[Container], **fields: object) -> ClusterFacts:
    lines = {
        item.uid: HostEntry(item.uid, item.name, item.host, 1)
        for item in containers
        if item.host is not None
    }
    made = ClusterFacts(
        id="c",
        spec=ClusterSpec("c", "horovod", len(containers), "local"),
        settings=Settings(),
        created=0.0,
        target=len(containers),
        containers=tuple(containers),
        host_list=HostList(0),
        host_folder="/x",
        limit=Limit(8, ""),
        slots_by_uid=lines,
    )
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def hosts(*numbers: int) -> HostList:
    return HostList(7, tuple(entry(number) for number in numbers))


def numbers(entries: tuple[HostEntry, ...]) -> list[int]:
    return [int(item.uid[1:]) for item in entries]


def test_first_list_is_launcher_then_ready_workers_in_join_order() -> None:
    made = facts([container(1, "starting"), container(2), container(3, "pending"), container(10)])
    assert numbers(next_members(made, HostList(0), NOW)) == [1, 2, 10]


def test_survivors_keep_order_and_a_late_old_one_is_appended() -> None:
    made = facts([container(1), container(2), container(3), container(4)])
    assert numbers(next_members(made, hosts(1, 4, 3), NOW)) == [1, 4, 3, 2]


@pytest.mark.parametrize("state", ["not created", "pending", "draining", "failed"])
def test_facts_leave_at_once(state: str) -> None:
    made = facts([container(1), container(2, state, NOW), container(3)])
    assert numbers(next_members(made, hosts(1, 2, 3), NOW)) == [1, 3]


def test_gone_leaves_at_once() -> None:
    made = facts([container(1), container(3)])
    assert numbers(next_members(made, hosts(1, 2, 3), NOW)) == [1, 3]


@pytest.mark.parametrize("state", ["starting", "unknown"])
def test_flapping_stays_for_the_debounce_and_not_longer(state: str) -> None:
    made = facts([container(1), container(2, state, NOW - 9.9)])
    assert numbers(next_members(made, hosts(1, 2), NOW)) == [1, 2]
    assert next_look(made, hosts(1, 2), NOW) == pytest.approx(NOW + 0.1)
    assert numbers(next_members(made, hosts(1, 2), NOW + 0.2)) == [1]
    assert next_look(made, hosts(1, 2), NOW + 0.2) is None


def test_un_ready_never_enters() -> None:
    made = facts([container(1), container(2, "starting", NOW)])
    assert numbers(next_members(made, hosts(1), NOW)) == [1]
    assert next_look(made, hosts(1), NOW) is None


def test_unknown_launcher_keeps_the_old_list() -> None:
    assert next_members(facts([]), hosts(1, 2), NOW) == ()
    no_address = facts([dataclasses.replace(container(1), host=None)])
    assert next_members(no_address, HostList(0), NOW) == ()
    # The same launcher that was agreed on before is still where it was.
    assert numbers(next_members(no_address, hosts(1, 2), NOW)) == [1]


def test_new_launcher_takes_line_one() -> None:
    other = dataclasses.replace(container(1), uid="u9", host=host(9))
    made = facts([other, container(2)])
    assert numbers(next_members(made, hosts(1, 2), NOW)) == [9, 2]


@pytest.mark.parametrize("change", [{"ended": Reason("x", "y")}, {"releasing": True}])
def test_ended_and_releasing_change_nothing(change: dict[str, object]) -> None:
    assert next_members(facts([container(1)], **change), hosts(1, 2), NOW) == hosts(1, 2).hosts


def test_address_used_again_belongs_to_the_new_one() -> None:
    again = dataclasses.replace(container(3), host=host(2))
    made = facts([container(1), container(2, "unknown", NOW), again])
    assert numbers(next_members(made, hosts(1, 2), NOW)) == [1, 3]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("127.0.0.1", True),
        ("a-b.c", True),
        ("a_b", False),
        ("fe80::1", False),
        ("a b", False),
        ("$(id)", False),
        ("a:2", False),
        ("u@a", False),
        ("-a", False),
        ("a" * 64, False),
        ("a.", False),
        ("a\n", False),
        ("", False),
        (None, False),
    ],
)
def test_hosts(text: str | None, good: bool) -> None:
    assert valid_host(text) is good


def test_a_host_that_is_no_host_never_enters() -> None:
    bad = dataclasses.replace(container(2), host="a;reboot")
    assert numbers(next_members(facts([container(1), bad]), HostList(0), NOW)) == [1]


@given(
    st.lists(st.tuples(st.sampled_from(STATES), st.floats(NOW - 20, NOW)), min_size=1, max_size=12),
    st.lists(st.integers(2, 14), unique=True, max_size=12),
)
def test_properties(states: list[tuple[str, float]], before: list[int]) -> None:
    made = facts([container(1), *(container(n, *s) for n, s in enumerate(states, start=2))])
    previous = hosts(1, *before)
    after = next_members(made, previous, NOW)
    found = numbers(after)
    assert found[0] == 1
    assert len(set(found)) == len(found)
    by_number = dict(enumerate(states, start=2))
    for number in found[1:]:
        state, since = by_number[number]
        assert state == "ready" or (
            state in ("starting", "unknown") and number in before and since + 10 > NOW
        )
    for number, (state, _) in by_number.items():
        if state == "ready":
            assert number in found
    kept = [number for number in found[1:] if number in before]
    assert kept == [number for number in before if number in kept]
    assert found[1 : 1 + len(kept)] == kept
    # Nothing changes when nothing changed.
    assert next_members(made, HostList(8, after), NOW) == after
