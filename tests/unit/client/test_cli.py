"""``jupyter elastic`` as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_elastic import cli

from .standin import StandIn, make_cluster

Capture = pytest.CaptureFixture[str]
REPOSITORY = Path(__file__).parents[3]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(standin: StandIn) -> Iterator[Start]:
    """Start the command line below this process; whoever forgets to wait is killed."""
    begun: list[subprocess.Popen[str]] = []
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])

    def run(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_elastic.cli", *words],
            env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def test_story(standin: StandIn, capsys: Capture) -> None:
    assert cli.main(["status"]) == 0
    assert "No cluster yet" in capsys.readouterr().out
    assert cli.main(["create", "tthvd", "--wait", "5"]) == 0
    assert "tthvd: ready, 2 of 2 ready" in capsys.readouterr().out
    assert cli.main(["scale", "4", "--plan"]) == 0
    assert cli.main(["scale", "4", "--wait", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out[out.index("{") :])["ready"] == 4
    assert cli.main(["hosts"]) == 0
    assert "127.0.0.4 slots=1" in capsys.readouterr().out
    assert cli.main(["command"]) == 0
    assert capsys.readouterr().out == "horovodrun -np 4 python train.py\n"
    assert cli.main(["release", "--wait", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert standin.clusters == {}


def test_errors_have_words_and_codes(standin: StandIn, capsys: Capture) -> None:
    assert cli.main(["scale", "4"]) == 1
    assert "There is no cluster." in capsys.readouterr().err
    standin.add(make_cluster())
    assert cli.main(["scale", "9", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "limit"
    assert cli.main(["scale", "0"]) == 1
    assert "from 1 to 8" in capsys.readouterr().err
    assert cli.main(["scale", "3", "--wait", "-1"]) == 2
    assert standin.clusters["tthvd-abc123"].target == 2


@pytest.mark.parametrize("words", [[], ["nonsense"], ["scale"], ["scale", "2", "--nonsense"]])
def test_wrong_usage(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    assert "usage: jupyter elastic" in capsys.readouterr().err


@pytest.mark.usefixtures("runtime")
def test_without_a_server(capsys: Capture) -> None:
    assert cli.main(["status"]) == 2
    err = capsys.readouterr().err
    assert "None is running for this user on this machine." in err
    assert cli.main(["status", "--server", "/nowhere.sock"]) == 2
    assert cli.main(["doctor", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert {item["name"] for item in found["checks"]} >= {"runtime folder", "GPUs", "leftovers"}


def test_interrupt(start: Start, standin: StandIn) -> None:
    standin.add(make_cluster())
    standin.delay = None
    process = start("scale", "4", "--wait", "60")
    assert process.stderr is not None
    assert "2 of 4 ready" in process.stderr.readline()
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130
    assert time.monotonic() - begin < 1
    assert "Traceback" not in process.stderr.read()
    assert standin.clusters["tthvd-abc123"].target == 4


def test_reader_that_goes_away(start: Start, standin: StandIn) -> None:
    for n in range(400):
        standin.add(make_cluster(f"cluster-with-a-long-name-{n}"))
    process = start("status", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdout = None
    assert process.wait(10) == 1
    assert process.stderr.read() == ""


def test_only_the_standard_library(start: Start) -> None:
    code = (
        "import sys; before = set(sys.modules); import jupyter_elastic.cli; "
        "new = {n.split('.')[0] for n in set(sys.modules) - before}; "
        "print(new - set(sys.stdlib_module_names) - {'jupyter_elastic'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"
