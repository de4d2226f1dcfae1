"""What a reflector asks for, and what it makes of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.calls import PODS

from ...fakes.kube import FakeKube
from .conftest import Watched, event_watch, eventually, line, names, pod, same_as_list

Watch = Callable[..., Watched]


# Rule 1


def test_first_list_is_consistent_and_paged(kube: FakeKube, watch: Watch) -> None:
    for number in range(600):
        kube.put(PODS, pod(f"p{number:03}", app="a"))
    watched = watch(selector="app=a")
    watched.live()
    assert len(watched.reflector.objects()) == 600
    lists = [one.query for one in kube.asked("list")]
    assert [one["limit"] for one in lists] == ["250"] * 3
    assert ["continue" in one for one in lists] == [False, True, True]
    assert not any("resourceVersion" in one or "fieldSelector" in one for one in lists)
    # One change for the list, one for becoming live.
    assert watched.told == 2


@pytest.mark.parametrize("page", [1, 2])
def test_expired_page_starts_the_list_again(kube: FakeKube, watch: Watch, page: int) -> None:
    for number in range(600):
        kube.put(PODS, pod(f"p{number:03}"))
    kube.fail(verb="list", status=410, body={"reason": "Expired"}, skip=page)
    watched = watch()
    watched.live()
    assert len(watched.reflector.objects()) == 600
    assert len(kube.asked("list")) == page + 1 + 3
    assert set(watched.states) <= {"starting", "live"}


# Rule 2


def test_relist_finds_what_vanished_came_and_changed(kube: FakeKube, watch: Watch) -> None:
    for name in ("stays", "goes", "changes"):
        kube.put(PODS, pod(name))
    watched = watch()
    watched.live()
    kube.fail(verb="watch", status=410, body={"reason": "Expired"})
    kube.fail(verb="list", delay=0.05, action="pass")
    kube.end_watches()
    kube.remove(PODS, "goes")
    kube.put(PODS, pod("comes"))
    kube.edit(PODS, "changes", lambda found: found["metadata"]["labels"].update(new="1"))
    eventually(lambda: names(watched.reflector) == ["changes", "comes", "stays"])
    eventually(lambda: same_as_list(watched.reflector, watched.api))


def test_relist_that_finds_nothing_new_tells_nobody(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    told = watched.told
    kube.compact()
    watched.next_watch()
    eventually(lambda: len(kube.asked("list")) == 2)
    eventually(lambda: len(kube.asked("watch")) == 3)
    assert watched.told == told


def test_failed_list_changes_nothing(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    down = kube.fail(verb="list", times=None, status=500)
    kube.fail(verb="watch", status=410, body={"reason": "Expired"})
    kube.end_watches()
    eventually(lambda: watched.state == "stale")
    assert names(watched.reflector) == ["a"]
    down.clear()
    watched.live()
    assert 0 not in watched.sizes


# Rule 3, rule 4


def test_watch_without_bookmarks_is_short(kube: FakeKube, watch: Watch) -> None:
    kube.bookmark_seconds = None
    watched = watch(selector="app in (a,b),!c")
    watched.live()
    for _ in range(3):
        watched.next_watch()
    assert len(kube.asked("watch")) >= 4
    for one in kube.asked("watch"):
        assert one.query["timeoutSeconds"] == "55"
        assert one.query["allowWatchBookmarks"] == "true"
        assert one.query["labelSelector"] == "app in (a,b),!c"
        assert "fieldSelector" not in one.query


def test_watch_with_bookmarks_lasts_some_minutes_by_chance(kube: FakeKube, watch: Watch) -> None:
    kube.bookmark_seconds = 0.02
    kube.put(PODS, pod("a"))
    watched = watch()
    eventually(lambda: watched.reflector.health.last_event_at)
    for _ in range(10):
        watched.next_watch()
    seconds = [int(one.query["timeoutSeconds"]) for one in kube.asked("watch")]
    assert seconds[0] == 55
    assert all(240 <= one <= 480 for one in seconds[1:])
    assert len(set(seconds[1:])) > 3
    assert len(kube.asked("list")) == 1


def test_watch_starts_where_the_list_ended_and_goes_on_from_bookmarks(
    kube: FakeKube, watch: Watch
) -> None:
    kube.bookmark_seconds = 0.02
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    first = kube.asked("watch")[0].query["resourceVersion"]
    assert first == str(kube.store.version)
    for _ in range(3):
        kube.store.tick()
    eventually(lambda: watched.reflector.health.version == str(kube.store.version))
    watched.next_watch()
    assert kube.asked("watch")[1].query["resourceVersion"] == str(kube.store.version)
    assert watched.told == 2  # a bookmark is no change


def test_silence_is_a_dead_connection(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    kube.fail(verb="watch", action="hush")
    watched = watch(silence=0.2)
    eventually(lambda: "stale" in watched.states)
    kube.bookmark_seconds = 0.05
    kube.put(PODS, pod("b"))
    eventually(lambda: names(watched.reflector) == ["a", "b"] and watched.state == "live")
    assert len(kube.asked("list")) == 2


# Rule 5


def test_unknown_events_are_counted_and_left_alone(kube: FakeKube, watch: Watch) -> None:
    fresh = line("ADDED", "b", "2000")
    event_watch(kube, line("RENAMED", "a", "1999"), fresh, line("SYNCED", "c", "2001"))
    watched = watch()
    eventually(lambda: watched.reflector.health.odd == 2)
    assert watched.sizes[-1] in (0, 1)
    assert names(watched.reflector) == ["b"] or len(kube.asked("list")) > 1


@pytest.mark.parametrize("action", ["half", "garbage"])
def test_what_is_no_event_reaches_nobody(kube: FakeKube, watch: Watch, action: str) -> None:
    kube.put(PODS, pod("a"))
    kube.fail(verb="watch", action=action)
    watched = watch()
    eventually(lambda: len(kube.asked("list")) == 2)
    watched.live()
    assert names(watched.reflector) == ["a"]
    assert max(watched.sizes) == 1


def test_events_before_an_error_count(kube: FakeKube, watch: Watch) -> None:
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
    event_watch(kube, line("ADDED", "b", "2000") + json.dumps(error).encode() + b"\n")
    watched = watch()
    eventually(lambda: 1 in watched.sizes)


# Rule 6


@pytest.mark.parametrize("form", ["status", "event", "compacted"])
def test_410_is_one_relist_and_no_flicker(kube: FakeKube, watch: Watch, form: str) -> None:
    kube.bookmark_seconds = 0.02
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    watched.clock.advance(5)
    kube.put(PODS, pod("b"))
    eventually(lambda: len(watched.reflector.objects()) == 2)
    if form == "status":
        kube.fail(verb="watch", status=410, body={"reason": "Expired"})
        kube.end_watches()
    elif form == "event":
        kube.expire_watches("pods")
    else:
        kube.bookmark_seconds = None
        kube.compact()
        kube.end_watches()
    eventually(lambda: len(kube.asked("list")) == 2)
    kube.put(PODS, pod("c"))
    eventually(lambda: len(watched.reflector.objects()) == 3)
    assert len(kube.asked("list")) == 2
    assert watched.states == ["starting", "live"]
    assert watched.sizes == sorted(watched.sizes)


def test_410_for_ever_is_no_loop(kube: FakeKube, watch: Watch) -> None:
    kube.fail(verb="watch", times=None, status=410, body={"reason": "Expired"})
    watched = watch()
    eventually(lambda: watched.state == "stale")
    start = watched.clock()
    eventually(lambda: watched.clock() - start > 120)
    assert len(kube.asked()) < 40


def test_too_large_version_waits_and_lists(kube: FakeKube, watch: Watch) -> None:
    kube.put(PODS, pod("a"))
    watched = watch()
    watched.live()
    kube.store.version -= 500  # the database was put back
    kube.store.log.clear()
    kube.store.oldest = 0
    watched.clock.advance(2)
    kube.end_watches()
    eventually(lambda: len(kube.asked("list")) == 2)
    again = kube.asked("list")[1]
    # Once was enough to know that this version is of no use.
    (refused,) = [one for one in kube.asked("watch")[1:] if one.time < again.time]
    assert again.time - refused.time >= 1.0
    assert "resourceVersion" not in again.query
    watched.live()


@pytest.mark.parametrize("body", [{"details": {"retryAfterSeconds": 20}}, "try later, please"])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_429_waits_as_long_as_it_is_told(
    kube: FakeKube, watch: Watch, body: Any, verb: str
) -> None:
    headers = {"Retry-After": "20"} if isinstance(body, str) else {}
    kube.put(PODS, pod("a"))
    kube.fail(verb=verb, status=429, body=body, headers=headers)
    watched = watch()
    watched.live()
    first, second = kube.asked(verb)[:2]
    assert 20 <= second.time - first.time < 22
    assert names(watched.reflector) == ["a"]
    assert max(watched.sizes) == 1


@pytest.mark.parametrize("asked", ["86400", "1e30"])
def test_nobody_is_kept_away_for_a_day(kube: FakeKube, watch: Watch, asked: str) -> None:
    kube.fail(verb="list", status=429, headers={"Retry-After": asked})
    watch().live()
    first, second = kube.asked("list")
    assert 60 <= second.time - first.time < 62
