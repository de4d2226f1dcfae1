"""The magics and the command line below a real Jupyter server on the local engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ..harness.lab import LabServer
from ..harness.terminal import Terminal
from .kernels import REPOSITORY, Kernel, server_kernel

CLI = f"PYTHONPATH={REPOSITORY} {sys.executable} -m jupyter_elastic.cli"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running() -> Iterator[LabServer]:
    server = LabServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def server(running: LabServer) -> Iterator[LabServer]:
    """The module's server, without clusters."""
    yield running
    for cluster in running.get("clusters")["clusters"]:
        running.delete(f"clusters/{cluster['id']}?stop_runs=true")
    running.wait(lambda: not running.get("clusters")["clusters"], seconds=30, what="release")


@pytest.fixture(scope="module")
def shared_notebook(running: LabServer) -> Iterator[Kernel]:
    with server_kernel(running) as found:
        yield found


@pytest.fixture
def notebook(server: LabServer, shared_notebook: Kernel) -> Kernel:
    """A kernel of the server that remembers nothing of the test before."""
    shared_notebook.run("%reload_ext jupyter_elastic")
    return shared_notebook


def only(server: LabServer) -> Any:
    (found,) = server.get("clusters")["clusters"]
    return found


def test_story(notebook: Kernel, server: LabServer) -> None:
    (server.work / "train.py").write_text("print('hello')\n")
    notebook.run(f"%cd {server.work}")
    made = notebook.run("%elastic_create tthvd --size 2 --script train.py --wait 30")
    assert "tthvd: ready, 2 of 2 ready" in made.text, made
    assert only(server)["settings"]["script"] == str(server.work / "train.py")
    command = notebook.run("%elastic_command")
    hostfile = only(server)["hostfile"]["hostfile"]
    assert f"horovodrun -np 2 --hostfile {hostfile} python train.py" in command.text
    assert "plan for 4" in notebook.run("%elastic_scale 4 --plan").text
    grown = notebook.run("%elastic_scale 4 --wait 30")
    assert "4 of 4 ready" in grown.text, grown
    hosts = notebook.run("%elastic_hosts").text
    assert hosts.splitlines()[1:] == Path(hostfile).read_text().splitlines()
    assert hosts.count("slots=1") == 4
    assert notebook.run("%elastic_scale 2 --wait 30").status == "ok"
    assert Path(hostfile).read_text().count("slots=1") == 2
    assert "released" in notebook.run("%elastic_release --wait 30").text
    assert server.get("clusters")["clusters"] == []


@pytest.mark.parametrize("size", ["0", "-1", "''", "1000000000", "2.5", "'\"3\"'", "True"])
def test_sizes_that_are_refused(notebook: Kernel, server: LabServer, size: str) -> None:
    server.create()
    done = notebook.run(f"%elastic_scale {size}")
    assert done.status == "error"
    assert done.traceback == []
    limit = only(server)["limit"]["size"]
    assert re.search(rf"\b{limit}\b", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert only(server)["target"] == 2


def test_wrong_words_of_create(notebook: Kernel, server: LabServer) -> None:
    for words in ("x --framework nonsense", "x --engine nonsense", f"{'x' * 300}", "x --size 0"):
        done = notebook.run(f"%elastic_create {words}")
        assert done.status == "error", words
        assert done.traceback == [], words
        assert done.stderr.startswith("UsageError: "), words
    assert server.get("clusters")["clusters"] == []


def test_second_notebook_while_the_first_is_busy(notebook: Kernel, server: LabServer) -> None:
    notebook.run("%elastic_create tthvd --wait 30")
    busy = notebook.start("import time\nfor _ in range(600): time.sleep(0.1)")
    with server_kernel(server) as second:
        done = second.run("%elastic_scale 4 --wait 20")
    assert "4 of 4 ready" in done.text, done
    assert only(server)["ready"] == 4
    notebook.interrupt()
    assert notebook.finish(busy, 10).error == "KeyboardInterrupt"


def test_interrupt_while_waiting(notebook: Kernel, server: LabServer) -> None:
    """Nobody releases the cluster, so the waiting for its end goes on until the interrupt."""
    made = server.create(size=3)
    cell = notebook.start(
        "from jupyter_elastic.client import Client\n"
        "from jupyter_elastic.waiting import wait_until_gone\n"
        "client = Client()\n"
        "print('waiting', flush=True)\n"
        "wait_until_gone(client.clusters, client.cluster(), 60)"
    )
    notebook.wait_for_output(cell, "waiting")
    time.sleep(0.5)
    begin = time.monotonic()
    notebook.interrupt()
    done = notebook.finish(cell, 10)
    assert time.monotonic() - begin < 1.0
    assert (done.error, done.errors) == ("KeyboardInterrupt", 1)
    assert server.cluster(made["id"])["ready"] == 3
    assert notebook.run("%elastic_release --wait 30").status == "ok"


def test_notebook_without_a_browser(notebook: Kernel, server: LabServer) -> None:
    """What papermill does: nbclient runs a whole notebook, here below a kernel of the server."""
    book = nbformat.v4.new_notebook()
    book.cells = [
        nbformat.v4.new_code_cell(source)
        for source in (
            "%load_ext jupyter_elastic",
            "%elastic_create nb --wait 30",
            "%elastic_scale 3 --wait 30",
            "%elastic_release --wait 30",
        )
    ]
    path = server.work / "book.ipynb"
    nbformat.write(book, path)
    code = f"""
import subprocess, sys
code = "from nbclient.cli import main; main()"
words = [sys.executable, "-c", code, "--inplace", {str(path)!r}]
done = subprocess.run(words, capture_output=True, text=True)
print(done.returncode, done.stderr[-2000:])
"""
    done = notebook.run(code, timeout=120)
    assert done.stdout.startswith("0 "), done
    outputs = [
        output["data"]["text/plain"]
        for cell in nbformat.read(path, 4).cells
        for output in cell.outputs
        if output["output_type"] == "execute_result"
    ]
    assert "2 of 2 ready" in outputs[0]
    assert "3 of 3 ready" in outputs[1]
    assert "released" in outputs[2]


def test_notebook_stops_at_the_first_error(notebook: Kernel, server: LabServer) -> None:
    done = notebook.run("%elastic_scale 4")
    assert done.status == "error"
    assert "There is no cluster." in done.stderr


def test_kernel_of_another_environment(server: LabServer, tmp_path: Path) -> None:
    """Only ipykernel and our package without its dependencies."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "ipykernel"], check=True, timeout=150)
    (site,) = venv.glob("lib/python3*/site-packages")
    # What a wheel holds, without the build of the front end.
    skipped = shutil.ignore_patterns("labextension", "__pycache__")
    shutil.copytree(REPOSITORY / "jupyter_elastic", site / "jupyter_elastic", ignore=skipped)
    spec = {
        "argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Other",
        "language": "python",
        "env": {"PYTHONPATH": ""},
    }
    folder = server.home / "data" / "kernels" / "other"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec))
    with server_kernel(server, "other") as found:
        where = found.run("import jupyter_elastic; print(jupyter_elastic.__file__)").stdout
        assert where.startswith(str(site)), where
        missing = found.run("import jupyter_server")
        assert missing.error == "ModuleNotFoundError"
        made = found.run("%elastic_create other --wait 30")
        assert "2 of 2 ready" in made.text, made
        assert only(server)["settings"]["kernelspec"] == "other"
        assert "3 of 3 ready" in found.run("%elastic_scale 3 --wait 30").text
        assert "ipywidgets is not installed" in found.run("%elastic_widget").stderr
        assert "released" in found.run("%elastic_release --wait 30").text


def test_several_servers(notebook: Kernel, running: LabServer, tmp_path: Path) -> None:
    """Two servers of one user: the one above is meant; from outside both are listed."""
    other = LabServer(environment={"JUPYTER_ELASTIC_RUNTIME_DIR": str(running.runtime)})
    outside = {**other.environment, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "jupyter_elastic.cli", "status"]
    try:
        other.start()
        assert running.process is not None
        assert other.process is not None
        pids = {str(running.process.pid), str(other.process.pid)}
        assert notebook.run("%elastic_status").status == "ok"
        done = subprocess.run(command, env=outside, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert set(re.findall(r"\(process (\d+)\)", done.stderr)) == pids
        for pid in pids:
            named = [*command, "--server", pid]
            done = subprocess.run(named, env=outside, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    finally:
        other.kill()
        shutil.rmtree(other.folder, ignore_errors=True)


async def test_launch_shell_finds_the_server_through_the_keeper() -> None:
    """Also after the server was killed and started again: the shell's parent is not the server."""
    server = LabServer()
    try:
        server.start()
        cluster = server.create()
        opened = server.post(f"clusters/{cluster['id']}/terminals")
        async with Terminal(server, opened["name"]) as terminal:
            await terminal.expect(r"[$#] $")
            await terminal.type(f"{CLI} status --json > one.json; echo done-$?\r")
            await terminal.expect(r"done-0")
        server.kill()
        server.start()
        again = server.post(f"clusters/{cluster['id']}/terminals", {"shell": opened["shell"]})
        async with Terminal(server, again["name"]) as terminal:
            await terminal.expect(r"[$#] $")
            await terminal.type(f"{CLI} scale 3 --wait 20 > two.txt 2>&1; echo again-$?\r")
            await terminal.expect(r"again-0")
        assert server.cluster(cluster["id"])["ready"] == 3
    finally:
        server.close()
