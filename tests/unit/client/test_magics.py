"""The magics in a shell of this process, and what their answers look like."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from jupyter_elastic import answers, load_ipython_extension, unload_ipython_extension
from jupyter_elastic.client import Client, Hosts
from jupyter_elastic.magics import NAMES
from jupyter_elastic.models import Offer, Reason
from jupyter_elastic.widget import ElasticWidget

from .standin import StandIn, make_cluster


@pytest.fixture
def shell(standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    found: Any = InteractiveShell()
    found.history_manager.enabled = False
    load_ipython_extension(found)
    yield found
    found.atexit_operations()
    atexit.unregister(found.atexit_operations)  # done; a second time fails


def test_story(shell: Any, standin: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    magic = shell.run_line_magic
    assert "+2 <now>" in repr(magic("elastic_create", "tthvd --plan"))
    assert "2 of 2 ready" in repr(magic("elastic_create", "--wait 5"))
    assert standin.clusters["training-abc123"].target == 2
    assert "plan for 4" in repr(magic("elastic_scale", "4 --plan"))
    assert "target 4" in repr(magic("elastic_scale", "4"))
    assert "4 of 4 ready" in repr(magic("elastic_scale", "4 --wait 5"))
    assert "127.0.0.4 slots=1" in repr(magic("elastic_hosts", ""))
    assert magic("elastic_command", "").value.text.startswith("horovodrun -np 4")
    assert "training" in repr(magic("elastic_status", ""))
    assert "launcher  training-0" in repr(magic("elastic_status", "-c training"))
    capsys.readouterr()
    quiet = magic("elastic_release", "--wait 5 --quiet")
    assert capsys.readouterr() == ("", "")
    assert quiet._ipython_display_() is None
    assert repr(quiet) == "training is released: 4 containers."


def test_errors(shell: Any) -> None:
    for name, line, words in (
        ("elastic_scale", "4", "There is no cluster. Create one"),
        ("elastic_scale", "", "required: SIZE"),
        ("elastic_scale", "'", "quote"),
        ("elastic_widget", "", "There is no cluster"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            shell.run_line_magic(name, line)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["scale", "create", "release"])
def test_interrupt_says_that_it_goes_on(
    name: str, shell: Any, standin: StandIn, monkeypatch: Any, capsys: Any
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    standin.add(make_cluster())
    monkeypatch.setattr("jupyter_elastic.client.wait_until_ready", interrupted)
    monkeypatch.setattr("jupyter_elastic.client.wait_until_gone", interrupted)
    words = {"scale": "4 --wait", "create": "--wait", "release": "--wait"}[name]
    with pytest.raises(KeyboardInterrupt):
        shell.run_line_magic(f"elastic_{name}", words)
    assert "Stopped waiting; " in capsys.readouterr().err


def test_unload(shell: Any) -> None:
    there = shell.magics_manager.magics["line"]
    assert all(f"elastic_{name}" in there for name in NAMES)
    assert sorted(NAMES) == sorted(n[8:] for n in there if n.startswith("elastic_"))
    unload_ipython_extension(shell)
    assert not any(name.startswith("elastic_") for name in there)


def test_widget(shell: Any, standin: StandIn) -> None:
    standin.add(make_cluster())
    widget: ElasticWidget = shell.run_line_magic("elastic_widget", "")
    assert widget.apply.disabled
    widget.slider.value = 4
    assert widget.plan.value.startswith("draft 4 · target 2, 2 of 2 ready")
    assert "&lt;now&gt;" not in widget.plan.value, "a label shows text as it is"
    standin.scale("tthvd-abc123", 3)
    widget.refresh()
    assert widget.slider.value == 4, "a refresh does not move the draft"
    widget.apply.click()
    assert standin.clusters["tthvd-abc123"].target == 4
    assert "<script>" not in widget.status.value


def test_nothing_of_others_becomes_html() -> None:
    evil = "<script>alert(1)</script>"
    cluster = make_cluster(evil)
    cluster = replace(
        cluster,
        reason=Reason("x", evil),
        offers=(Offer("release", evil, ("keep",), None),),
    )
    hosts = Hosts("x", evil, (evil,), False, reason=evil)
    for shown in (
        answers.show_cluster(cluster),
        answers.show_release(cluster, gone=False),
        answers.show_hosts(hosts),
    ):
        assert evil in repr(shown)
        assert "<script>" not in shown._repr_html_()
        assert "&lt;script&gt;" in shown._repr_html_()


def test_status_of_a_server_in_trouble(standin: StandIn) -> None:
    state = standin.state()
    (engine,) = state.engines
    stale = replace(engine, health=replace(engine.health, state="stale", text="no answer"))
    shown = answers.show_state(replace(state, engines=(stale,)), "9.9")
    assert repr(shown).splitlines()[0] == "This machine: stale. no answer"
    assert "version" not in repr(shown)
    assert Client().state() == state
