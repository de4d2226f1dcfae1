"""Sizes, limits and what a live run allows."""

from __future__ import annotations

import pytest

from jupyter_elastic.errors import BadInput, Conflict, LimitReached
from jupyter_elastic.models import Limit, Run
from jupyter_elastic.planning.limits import check_run, check_size, combined, run_bounds

LIMIT = Limit(8, "This machine has 8 places.")


def run(**changes):
    base = {
        "id": "r",
        "state": "running",
        "program": "horovodrun",
        "text": "",
        "argv": (),
        "cwd": "/",
    }
    return Run(**{**base, "started": 1.0, **changes})


@pytest.mark.parametrize("value", [True, False, None, "3", "", 2.0, 2.5, [], float("nan")])
def test_not_a_whole_number(value):
    with pytest.raises(BadInput) as caught:
        check_size(value, LIMIT)
    assert caught.value.detail["field"] == "size"
    assert caught.value.status == 400


@pytest.mark.parametrize("value", [0, -1, -(10**30)])
def test_too_small(value):
    with pytest.raises(BadInput):
        check_size(value, LIMIT)


def test_form_starts_at_two():
    with pytest.raises(BadInput, match="at least 2"):
        check_size(1, LIMIT, minimum=2)
    assert check_size(1, LIMIT) == 1


@pytest.mark.parametrize("value", [9, 10**9, 10**30])
def test_too_large_names_the_limit_and_who(value):
    with pytest.raises(LimitReached) as caught:
        check_size(value, LIMIT)
    assert caught.value.detail["limit"] == 8
    assert caught.value.hint == LIMIT.text


def test_valid_sizes():
    assert check_size(4, LIMIT, valid_sizes=(2, 4, 8)) == 4
    with pytest.raises(LimitReached) as caught:
        check_size(3, LIMIT, valid_sizes=(2, 4, 8))
    assert caught.value.code == "size_not_usable"


def test_the_smallest_limit_speaks():
    assert combined(LIMIT, None, Limit(3, "quota")).text == "quota"


def test_bounds_of_an_elastic_run_are_in_containers():
    bounds = run_bounds([run(np=4, min_np=3, max_np=9, elastic=True)], slots=2)
    assert (bounds.minimum, bounds.maximum, bounds.elastic) == (2, 4, True)


def test_a_static_run_needs_all_its_ranks():
    bounds = run_bounds([run(np=4)], slots=1)
    assert (bounds.minimum, bounds.maximum, bounds.elastic) == (4, None, False)


def test_ended_and_found_runs_without_np_set_no_bounds():
    assert run_bounds([run(np=4, state="ended"), run()], slots=1).minimum is None


def test_the_strictest_of_several_runs_counts():
    runs = [run(id="a", np=2), run(id="b", np=3)]
    assert run_bounds(runs, 1).run == "b"


def test_below_the_minimum_only_when_forced():
    bounds = run_bounds([run(np=4, min_np=2, elastic=True)], slots=1)
    check_run(2, bounds, force=False)
    check_run(1, bounds, force=True)
    with pytest.raises(Conflict) as caught:
        check_run(1, bounds, force=False)
    assert caught.value.code == "below_run_minimum"
    assert caught.value.detail["minimum"] == 2
