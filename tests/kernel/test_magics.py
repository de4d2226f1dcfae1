"""The magics in a real kernel, against a stand-in server."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from ..unit.client.standin import StandIn, containers, make_cluster, sleeper
from .kernels import Kernel, kernel


def test_scale_shows_an_object(notebook: Kernel, standin: StandIn) -> None:
    done = notebook.run("%elastic_scale 4")
    assert done.status == "ok"
    assert "tthvd: target 4" in done.text
    assert "+2 &lt;now&gt;." in done.html
    assert "<now>" not in done.html
    assert standin.clusters["tthvd-abc123"].target == 4
    assert notebook.run("x = %elastic_scale 3\nprint(x.value.add)").stdout == "0\n"


def test_quiet_prints_nothing(notebook: Kernel, standin: StandIn) -> None:
    done = notebook.run("%elastic_scale 3 --wait --quiet")
    assert (done.status, done.stdout, done.stderr, done.text, done.html) == ("ok", "", "", "", "")
    assert standin.clusters["tthvd-abc123"].ready == 3


def test_wait_tells_what_it_waits_for(notebook: Kernel, standin: StandIn) -> None:
    standin.delay = 0.5
    done = notebook.run("%elastic_scale 4 --wait 20")
    assert "tthvd: 2 of 4 ready; tthvd-2 is pending: pulling image" in done.stdout
    assert "tthvd: ready, 4 of 4 ready" in done.text
    assert "<table>" in done.html


def test_plan_changes_nothing(notebook: Kernel, standin: StandIn) -> None:
    done = notebook.run("%elastic_scale 4 --plan")
    assert "plan for 4" in done.text
    assert standin.clusters["tthvd-abc123"].target == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%elastic_scale", "required: SIZE"),
        ("%elastic_scale 0", "from 1 to 8 (8 CPU places on this machine), not '0'"),
        ("%elastic_scale -3", "from 1 to 8"),
        ("%elastic_scale 2.5", "not '2.5'"),
        ("%elastic_scale True", "not 'True'"),
        ("%elastic_scale 1e9", "not '1e9'"),
        ("%elastic_scale ''", "not ''"),
        ("%elastic_scale 1000000000", "is over 8. Ask your admin."),
        ("%elastic_scale 4 --wait soon", "--wait takes seconds above 0"),
        ("%elastic_scale 4 --wait 0", "up to 86400"),
        ("%elastic_scale 4 --wait nan", "up to 86400"),
        ("%elastic_scale 4 --cluster nobody", "No cluster 'nobody'. There are: tthvd"),
        ("%elastic_scale 4 --no-such", "unrecognized arguments"),
        ("%elastic_scale 'open", "quote"),
        ("%elastic_create --size zero", "--size is a whole number from 1"),
        ("%elastic_create --gpus -1", "--gpus is a whole number from 0"),
        ("%elastic_create --shared-memory lots", "512M"),
        ('%elastic_create --arguments "\'"', "No closing quotation"),
        ("%elastic_status --server nowhere", "'nowhere'"),
    ],
)
def test_errors_are_one_line(notebook: Kernel, line: str, words: str) -> None:
    done = notebook.run(line)
    assert done.status == "error"
    assert done.traceback == []
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("UsageError: ")
    assert done.stderr.count("\n") == 1


def test_timeout_of_wait(notebook: Kernel, standin: StandIn) -> None:
    standin.delay = None
    done = notebook.run("%elastic_scale 3 --wait 0.5")
    assert done.status == "error"
    assert "Not ready after 0.5 s: 2 of 3 ready; tthvd-2 is pending" in done.stderr


def test_interrupt_ends_the_waiting_only(notebook: Kernel, standin: StandIn) -> None:
    standin.delay = None
    cell = notebook.start("%elastic_scale 4 --wait 60")
    notebook.wait_for_output(cell, "2 of 4 ready")
    begin = time.monotonic()
    notebook.interrupt()
    done = notebook.finish(cell, 10)
    assert time.monotonic() - begin < 1.0
    assert (done.error, done.errors) == ("KeyboardInterrupt", 1)
    assert "Stopped waiting; tthvd goes on to 4." in done.stderr
    assert standin.clusters["tthvd-abc123"].target == 4
    standin.delay = 0.0
    assert "4 of 4 ready" in notebook.run("%elastic_status").text
    assert "is released" in notebook.run("%elastic_release --wait").text
    assert standin.clusters == {}


def test_kernel_killed_while_it_waits(standin: StandIn, environment: dict[str, str]) -> None:
    standin.delay = None
    with kernel(environment) as doomed:
        cell = doomed.start("%elastic_scale 4 --wait 60")
        doomed.wait_for_output(cell, "2 of 4 ready")
    asked = len(standin.requests)
    time.sleep(1)
    assert len(standin.requests) == asked
    assert standin.clusters["tthvd-abc123"].target == 4


def test_create_and_remember(notebook: Kernel, standin: StandIn) -> None:
    done = notebook.run(
        "%elastic_create 'my run' --size 3 --script ~/a.py --arguments='--epochs 3' --wait 10"
    )
    assert done.status == "ok", done
    _, _, body = next(item for item in standin.requests if item[:2] == ("POST", "clusters"))
    assert body["script"].startswith("/")
    assert body["script"].endswith("/a.py")
    assert (body["arguments"], body["size"], body["name"]) == (["--epochs", "3"], 3, "my run")
    assert body["kernelspec"] == "python3"
    notebook.run("%elastic_scale 4")
    assert standin.clusters["my-run-abc123"].target == 4
    assert standin.clusters["tthvd-abc123"].target == 2


def test_two_clusters_are_listed(notebook: Kernel, standin: StandIn) -> None:
    standin.add(make_cluster("other"))
    done = notebook.run("%elastic_hosts")
    assert "There are 2 clusters: tthvd (tthvd-abc123), other (other-abc123)." in done.stderr
    assert notebook.run("%elastic_hosts -c other").status == "ok"
    assert notebook.run("%elastic_command").status == "ok"


def test_status_says_why(notebook: Kernel, standin: StandIn) -> None:
    some = containers("tthvd", 2, 1)
    standin.add(replace(standin.clusters["tthvd-abc123"], containers=some, ready=1))
    done = notebook.run("%elastic_status")
    assert "tthvd-1 is pending: pulling image &lt;b&gt;" in done.html
    assert "The server has version 9.9" in done.text
    assert "pulling image <b>" in notebook.run("%elastic_status -c tthvd").text


def test_command_is_shown_and_not_run(notebook: Kernel) -> None:
    assert "<pre>horovodrun -np 2 python train.py</pre>" in notebook.run("%elastic_command").html


def test_release_asks_about_a_live_run(notebook: Kernel, standin: StandIn) -> None:
    standin.start_run("tthvd-abc123")
    done = notebook.run("%elastic_release")
    assert done.stderr == "UsageError: A run lives. Stop it with --stop-runs.\n"
    assert notebook.run("%elastic_release --stop-runs").status == "ok"
    assert standin.clusters == {}


def test_release_of_one_of_several_names_it(notebook: Kernel, standin: StandIn) -> None:
    assert notebook.run("%elastic_create second").status == "ok"
    done = notebook.run("%elastic_release")
    assert "There are 2 clusters: tthvd (tthvd-abc123), second" in done.stderr
    assert len(standin.clusters) == 2
    assert notebook.run("%elastic_release --cluster second").status == "ok"
    assert list(standin.clusters) == ["tthvd-abc123"]


def test_an_empty_name_is_sent_as_it_is(notebook: Kernel, standin: StandIn) -> None:
    notebook.run('%elastic_create ""')
    assert "training" not in {one.name for one in standin.clusters.values()}


@pytest.mark.parametrize("magic", ["create", "scale", "status", "hosts", "command", "release"])
def test_help_instead_of_doing_it(notebook: Kernel, standin: StandIn, magic: str) -> None:
    for option in ("--help", "-h"):
        done = notebook.run(f"%elastic_{magic} {option}")
        assert (done.status, done.stderr) == ("ok", "")
        assert f"%elastic_{magic}" in done.stdout
        assert "--server" in done.stdout
    assert list(standin.clusters) == ["tthvd-abc123"]


def test_help_shows_the_arguments(notebook: Kernel) -> None:
    done = notebook.run("print(get_ipython().find_line_magic('elastic_scale').__doc__)")
    assert re.search(r"elastic_scale.*SIZE", done.stdout, re.DOTALL)
    assert "number of containers, launcher included" in done.stdout


def test_several_servers_are_listed(notebook: Kernel, standin: StandIn) -> None:
    """Not below a server: the error lists those that run, and one can be named once."""
    runtime = standin.card.parents[1]
    with sleeper() as one, sleeper() as two:
        others = [StandIn(runtime, pid=one, name="one"), StandIn(runtime, pid=two, name="two")]
        standin.card.unlink()
        try:
            said = notebook.run("%elastic_status").stderr
            assert f"/one/ (process {one}), " in said
            assert f"/two/ (process {two})" in said
            assert "--server" in said
            others[1].add(make_cluster("there"))
            assert notebook.run(f"%elastic_hosts --server {two}").status == "ok"
            assert "there" in notebook.run("%elastic_status").text
        finally:
            for other in others:
                other.close()


def test_unload(notebook: Kernel) -> None:
    notebook.run("%unload_ext jupyter_elastic")
    assert "not found" in notebook.run("%elastic_status").stderr
    notebook.run("%load_ext jupyter_elastic")


def test_loading_is_fast_and_light(environment: dict[str, str]) -> None:
    code = """
import sys, time
before = set(sys.modules)
begin = time.perf_counter()
get_ipython().run_line_magic("load_ext", "jupyter_elastic")
seconds = time.perf_counter() - begin
new = {name.split(".")[0] for name in set(sys.modules) - before}
heavy = new & {"tornado", "jupyter_server", "traitlets", "kubernetes", "psutil", "ipywidgets"}
print(heavy or "light", seconds < 0.3 or seconds)
"""
    with kernel(environment, load=False) as fresh:
        assert fresh.run(code).stdout == "light True\n"


def test_widget(notebook: Kernel, standin: StandIn) -> None:
    code = """
w = get_ipython().run_line_magic("elastic_widget", "")
w.slider.value = 4
print(w.plan.value)
w.apply.click()
print(w.status.value.count("<tr>"), w.apply.disabled, w.output.outputs)
w.slider.max = 99
w.slider.value = 99
print(w.output.outputs[0]["text"])
"""
    done = notebook.run(code)
    assert done.status == "ok", done
    lines = done.stdout.splitlines()
    assert lines[0].startswith("draft 4 · target 2, 2 of 2 ready · +2 <now>.")
    assert lines[1:3] == ["5 True ()", "size 99 is over 8. Ask your admin."]
    assert notebook.run("w").status == "ok"


def test_widget_without_ipywidgets(notebook: Kernel) -> None:
    done = notebook.run(
        "import sys\nkept = dict(sys.modules)\nsys.modules['ipywidgets'] = None\n%elastic_widget"
    )
    notebook.run("sys.modules.update(kept)\nsys.modules.pop('ipywidgets')")
    assert "ipywidgets is not installed in this kernel's environment." in done.stderr
