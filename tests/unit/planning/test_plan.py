"""Victims and plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.errors import BadInput, Conflict, LimitReached, NotFound
from jupyter_elastic.models import Container, Limit, Run
from jupyter_elastic.planning.plan import Situation, make_plan
from jupyter_elastic.planning.victims import choose_victims, members


def container(number, state="ready", role="worker", **changes):
    return Container(
        f"u{number}",
        f"c-{number}",
        role,
        state,
        1.0,
        host=f"10.0.0.{number}",
        created=float(number),
        **changes,
    )


def cluster(*states, gpus=0, target=None, **changes):
    containers = (
        container(1, role="launcher"),
        *tuple(container(number, state) for number, state in enumerate(states, start=2)),
    )
    base = {
        "cluster": "c",
        "containers": containers,
        "target": target or len(containers),
        "limit": Limit(8, "8 places"),
        "slots": max(1, gpus),
        "gpus_per_container": gpus,
        "growth": "live",
        "shrink": "live",
    }
    return Situation(**{**base, **changes})


def elastic_run(**changes):
    base = {"np": 2, "min_np": 2, "max_np": 8, "elastic": True, **changes}
    return Run("r", "running", "horovodrun", "", (), "/", 1.0, **base)


def test_newest_leaves_first_but_not_ready_before():
    situation = cluster("ready", "starting", "ready")
    assert make_plan(situation, 3).remove == ("c-3",)
    assert make_plan(situation, 2).remove == ("c-3", "c-4")


def test_what_was_never_created_leaves_first():
    ghost = Container("u9", "c-9", "worker", "not created", 1.0)
    situation = cluster("ready", "pending")
    victims = choose_victims((*situation.containers, ghost), 3)
    assert [item.name for item in victims] == ["c-9"]


def test_leaving_ones_do_not_count():
    situation = cluster("draining", "ready")
    assert make_plan(situation, 2).text == "Nothing changes."
    assert make_plan(situation, 3).add == 1


def test_named_victims_are_honoured_exactly():
    plan = make_plan(cluster("ready", "ready", "starting"), 3, ["c-2"])
    assert plan.remove == ("c-2",)
    plan = make_plan(cluster("ready", "ready", "starting"), 2, ["c-2"])
    assert plan.remove == ("c-2", "c-4")


def test_bad_victims():
    situation = cluster("ready", "draining")
    with pytest.raises(NotFound):
        make_plan(situation, 1, ["nope"])
    with pytest.raises(Conflict) as caught:
        make_plan(situation, 1, ["c-1"])
    assert caught.value.code == "launcher"
    with pytest.raises(Conflict):
        make_plan(situation, 1, ["c-3"])
    with pytest.raises(BadInput):
        make_plan(situation, 2, ["c-2"])


@given(
    st.lists(st.sampled_from(["ready", "starting", "draining", "failed", "pending"]), max_size=7),
    st.integers(1, 8),
)
def test_plan_reaches_the_target_and_never_takes_the_launcher(states, target):
    situation = cluster(*states)
    plan = make_plan(situation, target)
    there = members(situation.containers)
    assert len(there) - len(plan.remove) + plan.add == target
    assert "c-1" not in plan.remove
    assert len(set(plan.remove)) == len(plan.remove)
    assert not (plan.add and plan.remove)
    ready_victims = [item for item in there if item.name in plan.remove and item.state == "ready"]
    if ready_victims:
        stays = [item for item in there if item.name not in plan.remove and item.role != "launcher"]
        assert all(item.state == "ready" for item in stays)


def test_words_of_growth():
    run = elastic_run()
    plan = make_plan(cluster("ready", gpus=1, runs=(run,)), 4)
    assert plan.text == "+2 containers = 2 GPUs. 2 start now. The live run takes up to 8."
    assert (plan.gpus, plan.np, plan.confirm) == (2, 4, False)


def test_words_of_shrinking_within_the_runs_range():
    plan = make_plan(cluster("ready", "ready", "ready", gpus=1, runs=(elastic_run(),)), 2)
    assert plan.text == "-2 containers = 2 GPUs go back: c-4, c-3. The live run goes on with 2."
    assert (plan.gpus, plan.confirm) == (-2, False)


def test_below_the_minimum_asks():
    plan = make_plan(cluster("ready", runs=(elastic_run(),)), 1)
    assert plan.confirm
    assert "Below the minimum of the live run, 2." in plan.warnings


def test_above_the_maximum_is_a_warning_not_a_lock():
    plan = make_plan(cluster("ready", runs=(elastic_run(max_np=2),)), 4)
    assert not plan.confirm
    assert plan.warnings == ("2 of them stay idle: above the maximum of the live run.",)


def test_static_run_is_ended_by_removing_a_busy_worker():
    run = Run("r", "running", "horovodrun", "", (), "/", 1.0, np=2)
    busy = cluster("ready", "ready", runs=(run,), growth="restart needed", shrink="restart needed")
    idle_leaves = make_plan(busy, 2)
    assert (idle_leaves.remove, idle_leaves.confirm) == (("c-3",), False)
    assert idle_leaves.text.endswith("The live run does not use them.")
    assert make_plan(busy, 1).confirm
    named = cluster(
        "ready", "ready", runs=(run,), shrink="restart needed", busy_hosts=("10.0.0.2",)
    )
    assert make_plan(named, 2, ["c-2"]).confirm
    grows = make_plan(busy, 4)
    assert grows.text.endswith("The live run keeps its 2; the next launch uses all.")


def test_replacement_keeps_the_size():
    plan = make_plan(cluster("ready", "ready"), 3, ["c-2"], replace=True)
    assert (plan.remove, plan.add, plan.target) == (("c-2",), 1, 3)


def test_a_limit_that_sank_does_not_trap_the_cluster():
    situation = cluster("ready", "ready", "ready", limit=Limit(2, "quota"))
    assert make_plan(situation, 4).text == "Nothing changes."
    assert len(make_plan(situation, 3).remove) == 1
    with pytest.raises(LimitReached):
        make_plan(situation, 5)
