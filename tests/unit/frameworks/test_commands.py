"""The command of each framework, its quoting, and what a script is."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.errors import BadInput
from jupyter_elastic.frameworks import (
    CommandContext,
    Framework,
    get_framework,
    known_frameworks,
    registry,
)
from jupyter_elastic.frameworks.horovod import Horovod
from jupyter_elastic.frameworks.script import has_elastic_code
from jupyter_elastic.models import HostEntry

PLACES = ("127.0.0.1", "127.0.0.2")


def context(hosts=PLACES, slots=1, **changes):
    entries = tuple(HostEntry(f"u{i}", f"n{i}", host, slots) for i, host in enumerate(hosts))
    base = {
        "cluster": "c",
        "hosts": entries,
        "slots": slots,
        "hostfile": "/etc/mpi/hostfile",
        "discovery_script": "/etc/mpi/discover_hosts.sh",
        "script": "tensorflow2_mnist.py",
        "min_size": 1,
        "max_size": 8,
    }
    return CommandContext(**{**base, **changes})


def text(name, *args, **kwargs):
    return shlex.join(get_framework(name).command(context(*args, **kwargs)))


def test_static():
    wanted = "horovodrun -np 2 --hostfile /etc/mpi/hostfile python tensorflow2_mnist.py"
    assert text("horovod") == wanted


def test_elastic():
    assert text("horovod-elastic", script="train.py") == (
        "horovodrun -np 2 --min-np 1 --max-np 8 "
        "--host-discovery-script /etc/mpi/discover_hosts.sh python train.py"
    )


def test_np_is_the_sum_of_the_slots():
    assert "-np 8 " in text("horovod", slots=4)
    elastic = text("horovod-elastic", slots=4, min_size=2, max_size=3)
    assert "-np 8 --min-np 8 --max-np 12" in elastic


def test_range_always_holds_np():
    assert "-np 2 --min-np 2 --max-np 2" in text("horovod-elastic", min_size=5, max_size=1)


def test_an_elastic_start_with_one_place_names_the_interface():
    alone = text("horovod-elastic", ("127.0.0.1",))
    assert " --network-interfaces lo" in alone
    assert "--network-interfaces" not in text("horovod-elastic", ("10.0.0.1",))
    assert "--network-interfaces" not in text("horovod", ("127.0.0.1",))


@pytest.mark.parametrize("name", ["horovod", "horovod-elastic"])
def test_no_hosts(name):
    with pytest.raises(BadInput):
        text(name, ())


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30),
    st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20), max_size=4),
    st.sampled_from(["horovod", "horovod-elastic"]),
)
def test_no_text_becomes_code(script, arguments, name):
    line = text(name, script=script, arguments=tuple(arguments))
    assert shlex.split(line)[-len(arguments) - 2 :] == ["python", script, *arguments]


@pytest.mark.parametrize(
    ("source", "elastic"),
    [
        ("import horovod.tensorflow as hvd\n@hvd.elastic.run\ndef train(state): ...", True),
        ("from horovod.torch import elastic", True),
        ("from horovod.tensorflow.elastic import run", True),
        ("import horovod.torch.elastic", True),
        ("import horovod.tensorflow as hvd\nhvd.init()", False),
        ("# hvd.elastic.run would be nice\nprint('hvd.elastic')", False),
        ("", False),
        ("print 'python 2'\nhvd.elastic.run(x)", True),
        ("print 'python 2'\nhvd.init()", False),
        ("\x00", False),
        ("(" * 5000, False),
    ],
)
def test_elastic_code_is_found(source, elastic):
    assert has_elastic_code(source) is elastic
    assert (get_framework("horovod-elastic").script_warning(source) is None) is elastic
    assert get_framework("horovod").script_warning(source) is None


def test_what_resizing_does():
    static, elastic = get_framework("horovod"), get_framework("horovod-elastic")
    assert (static.growth, static.shrink, static.elastic) == (
        "restart needed",
        "restart needed",
        False,
    )
    assert (elastic.growth, elastic.shrink, elastic.elastic) == ("live", "live", True)
    assert 134 in elastic.normal_exits
    assert static.files(context()) == ("/etc/mpi/hostfile",)
    assert elastic.files(context())[0] == "/etc/mpi/discover_hosts.sh"
    assert static.valid_sizes(8) is None
    assert static.preflight_checks() == ("horovodrun", "python")


def test_unknown_and_forbidden_names():
    with pytest.raises(BadInput, match="not known"):
        get_framework("nope")
    with pytest.raises(BadInput, match="not allowed"):
        get_framework("horovod", ("horovod-elastic",))


class Point:
    """An entry point."""

    value = "other:thing"

    def __init__(self, name, loaded):
        self.name, self._loaded = name, loaded

    def load(self):
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def test_other_packages_add_theirs(monkeypatch, caplog):
    class Mine(Horovod):
        name = "mine"

    class Clash(Mine):
        name = "horovod"

    points = [Point("a", Mine), Point("b", Clash), Point("c", 3), Point("d", ImportError("x"))]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    known_frameworks.cache_clear()
    try:
        known = known_frameworks()
        assert list(known) == ["horovod", "horovod-elastic", "mine"]
        assert isinstance(known["mine"], Framework)
        assert len(caplog.records) == 3
    finally:
        monkeypatch.undo()
        known_frameworks.cache_clear()
