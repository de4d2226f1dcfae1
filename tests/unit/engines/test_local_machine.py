"""Cores, quotas, addresses, limits and the words of the options."""

from __future__ import annotations

import pytest

from jupyter_elastic.engines.local import machine
from jupyter_elastic.engines.local.allocation import Machine, address, capacity
from jupyter_elastic.engines.local.options import options_of
from jupyter_elastic.models import Gpu, Health

HEALTH = Health("live", 0.0)
P4 = "NVIDIA P4"


@pytest.mark.parametrize(
    ("number", "host"),
    [
        (1, "127.0.0.1"),
        (2, "127.0.0.2"),
        (254, "127.0.0.254"),
        (255, "127.0.1.1"),
        (509, "127.0.2.1"),
    ],
)
def test_addresses(number: int, host: str) -> None:
    assert address(number) == host


def test_addresses_are_never_the_same() -> None:
    made = {address(number) for number in range(1, 70_000)}
    assert len(made) == 69_999
    assert not any(host.endswith((".0", ".255")) for host in made)


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("200000 100000", 2.0),
        ("max 100000", None),
        ("", None),
        ("50000 100000", 0.5),
        ("1 0", None),
    ],
)
def test_quota_of_control_groups(text: str, cores: float | None) -> None:
    assert machine.quota_v2(text) == cores


def test_quota_of_old_control_groups() -> None:
    assert machine.quota_v1("150000\n", "100000\n") == 1.5
    assert machine.quota_v1("-1\n", "100000\n") is None


@pytest.mark.parametrize(
    ("cores", "override", "places"), [(1, None, 4), (16, None, 16), (16, 2, 2)]
)
def test_places(cores: int, override: int | None, places: int) -> None:
    assert machine.places(cores, override) == places


def test_this_machine() -> None:
    assert machine.cores() >= 1
    assert machine.loopback_places() in (True, False)


def test_options_without_gpu() -> None:
    made = options_of(Machine("b", 8, cores=8), (), "local", "This machine", HEALTH)
    assert made.summary == "this machine, 8 CPU cores, no GPU"
    assert (made.max_size, made.gpu_kinds, made.gpu_note) == (8, (), "")
    assert "local_places" in made.capacity.text


def test_options_with_one_gpu_say_what_it_is_good_for() -> None:
    here = Machine("b", 4, gpus=(Gpu(0, P4),), cores=2)
    made = options_of(here, (), "local", "This machine", HEALTH)
    assert made.summary == f"this machine, 2 CPU cores, 1 {P4}"
    assert "size 1" in made.gpu_note
    assert (made.gpu_kinds[0].total, made.gpu_kinds[0].free) == (1, 1)


def test_options_when_gpus_cannot_be_read() -> None:
    here = Machine("b", 4, cores=1, gpu_problem="nvidia-smi did not answer within 5 s.")
    made = options_of(here, (), "local", "This machine", HEALTH)
    assert made.summary == "this machine, 1 CPU core, GPUs not available"
    assert made.gpu_note == "nvidia-smi did not answer within 5 s."


def test_options_of_one_line_addressing_say_what_it_costs() -> None:
    here = Machine("b", 4, addressing="slots", cores=2)
    summary = options_of(here, (), "local", "This machine", HEALTH).summary
    assert "only the newest can leave" in summary


def test_capacity_with_gpus_is_not_bound_by_cores() -> None:
    here = Machine("b", 4, gpus=tuple(Gpu(i, P4) for i in range(8)), cores=2)
    assert capacity(1, None, here).size == 8
    assert capacity(2, P4, here).size == 4
    assert capacity(3, P4, here).size == 2
    assert capacity(1, "A100", here).size == 0
    assert options_of(here, (), "local", "x", HEALTH).max_size == 8
