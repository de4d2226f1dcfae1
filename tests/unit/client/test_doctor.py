"""Each check says what is right, and what to do when it is not."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic import doctor
from jupyter_elastic.checks import clusters, environments, installed, machine
from jupyter_elastic.engines.local import folders
from jupyter_elastic.keeper import identity

Patch = pytest.MonkeyPatch


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Jupyter's folders, ours alone, the first one the user's."""
    places = [tmp_path / "user", tmp_path / "system"]

    def folders(function: str) -> list[Path]:
        return [place / function for place in places]

    monkeypatch.setattr(installed, "_jupyter_folders", folders)
    return tmp_path


def enable(folder: Path, value: Any, name: str = "jupyter_elastic") -> None:
    path = folder / "jupyter_config_path" / "jupyter_server_config.d" / "x.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"ServerApp": {"jpserver_extensions": {name: value}}}))


def test_all_of_them_run(runtime: Path) -> None:
    found = doctor.run_checks()
    assert len(found) > 12
    assert all(item.text for item in found)
    assert [item.name for item in found if item.ok is False and not item.fix] == []


async def test_in_a_thread(runtime: Path) -> None:
    names = [item.name for item in await doctor.run_checks_async()]
    assert names == [item.name for item in doctor.run_checks()]


def test_a_check_that_breaks_is_a_finding(runtime: Path, monkeypatch: Patch) -> None:
    def broken() -> list[doctor.Check]:
        raise RuntimeError("boom")

    monkeypatch.setattr(installed, "checks", broken)
    found = doctor.run_checks()
    assert found[0].ok is False
    assert "boom" in found[0].text
    assert len(found) > 5


@pytest.mark.parametrize(
    ("version", "ok"), [("4.6.2", True), ("4.10.0a1", True), ("5", True), ("4.6.1", False)]
)
def test_versions(version: str, ok: bool, monkeypatch: Patch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    lab = installed.checks()[0]
    assert lab.ok is ok
    assert ok or "'jupyterlab>=4.6.2'" in lab.fix


def test_version_of_nothing(monkeypatch: Patch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert installed.checks()[0].ok is None


def test_server_extension(jupyter: Path) -> None:
    assert installed.server_extension().ok is False
    enable(jupyter / "system", True)
    assert installed.server_extension().ok is True
    enable(jupyter / "user", False)
    found = installed.server_extension()
    assert found.ok is False
    assert "disabled in" in found.text
    assert found.fix == "jupyter server extension enable jupyter_elastic"
    enable(jupyter / "user", False, "somebody_else")
    assert installed.server_extension().ok is True


def test_lab_extension(jupyter: Path) -> None:
    assert installed.lab_extension().ok is False
    package = jupyter / "system" / "jupyter_path" / "labextensions" / "jupyter-elastic"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.2.3"}')
    assert installed.lab_extension().text.startswith("1.2.3")
    page = jupyter / "user" / "jupyter_config_path" / "labconfig" / "page_config.json"
    page.parent.mkdir(parents=True)
    page.write_text('{"disabledExtensions": {"jupyter-elastic": true}}')
    found = installed.lab_extension()
    assert (found.ok, found.fix) == (False, "jupyter labextension enable jupyter-elastic")


def test_terminals(monkeypatch: Patch) -> None:
    there = {"jupyter_server"}
    monkeypatch.setattr(util, "find_spec", lambda name: name in there or None)
    found = installed.terminals()
    assert found.ok is False
    assert found.fix.endswith("jupyter_server_terminals terminado prometheus_client")
    there.clear()
    assert installed.terminals().ok is None


def test_whose_the_host_folder_is(tmp_path: Path) -> None:
    shared, base = tmp_path / "mpi", tmp_path / "base"
    record = str(tmp_path / "clusters" / "tthvd-abc234.json")
    assert folders.claim_shared(shared, folders.Claim("tthvd-abc234", 0, "b", record, 1.0))
    found = machine.host_folder(str(base), str(shared))
    assert found.ok is None
    assert "belongs to the cluster tthvd-abc234" in found.text
    assert record in found.text
    assert "Release tthvd-abc234" in found.fix


def test_host_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    base, shared = str(tmp_path / "b"), str(tmp_path / "s")
    assert shared in machine.host_folder(base, shared).text
    closed = {shared}
    monkeypatch.setattr(machine, "_writable", lambda folder: folder not in closed)
    found = machine.host_folder(base, shared)
    assert found.ok is True
    assert f"{base}/<cluster>" in found.text
    closed.add(base)
    found = machine.host_folder(base, shared)
    assert found.ok is False
    assert f"sudo install -d -o {os.getuid()} {shared}" in found.fix


def test_writable_looks_at_the_first_parent_that_exists(tmp_path: Path, monkeypatch: Patch) -> None:
    assert machine._writable(str(tmp_path / "a" / "b"))
    (tmp_path / "file").touch()
    assert not machine._writable(str(tmp_path / "file" / "x"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not machine._writable(str(tmp_path))


def test_loopback(monkeypatch: Patch) -> None:
    assert machine.loopback().ok is True

    class Mac(socket.socket):
        def bind(self, _: Any) -> None:
            raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")

    monkeypatch.setattr(socket, "socket", Mac)
    found = machine.loopback()
    assert found.ok is None
    assert "ifconfig lo0 alias 127.0.0.2" in found.fix


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "ok"), [("echo 3.8", True), ("echo 3.7", False), ("exit 1", False)]
)
def test_python_of_the_keeper(text: str, ok: bool, tmp_path: Path, monkeypatch: Patch) -> None:
    program(tmp_path, "python3", text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert machine.keeper_python().ok is ok


@pytest.mark.parametrize(
    ("text", "ok", "words"),
    [
        ("echo 'Tesla P4, 7680 MiB'; echo 'Tesla P4, 7680 MiB'", True, "2: Tesla P4"),
        ("true", None, "sees no GPU"),
        ("echo Failed to initialize NVML; exit 18", False, "fails or does not answer"),
        ("exec sleep 30", False, "fails or does not answer"),
    ],
)
def test_gpus(text: str, ok: bool | None, words: str, tmp_path: Path, monkeypatch: Patch) -> None:
    program(tmp_path, "nvidia-smi", text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(machine, "_PATIENCE", 1.0)
    found = machine.gpus()
    assert found.ok is ok
    assert words in found.text


def test_no_driver_is_no_failure(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpus().ok is None
    assert machine.keeper_python().ok is False


def test_shared_memory(tmp_path: Path, monkeypatch: Patch) -> None:
    assert machine.shared_memory(str(tmp_path / "none")).ok is None
    monkeypatch.setattr(machine, "_SHM_FLOOR", 2**62)
    found = machine.shared_memory(str(tmp_path))
    assert found.ok is False
    assert "--shm-size=8g" in found.fix


def environment(folder: Path, *, horovodrun: bool = True, package: bool = True) -> str:
    python = program(folder / "bin", "python", "exit 99")
    if horovodrun:
        program(folder / "bin", "horovodrun", "exit 99")
    site = folder / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    if package:
        (site / "horovod-0.28.1.dist-info").mkdir()
    return str(python)


def test_horovod_by_files_alone(tmp_path: Path) -> None:
    found = environments.horovod("A", environment(tmp_path / "a"))
    assert (found.ok, "Horovod 0.28.1" in found.text) == (True, True)
    python = environment(tmp_path / "b", horovodrun=False)
    found = environments.horovod("B", python)
    assert (found.ok, found.fix) == (None, f"{python} -m pip install horovod")
    assert environments.horovod("C", environment(tmp_path / "c", package=False)).ok is None
    assert environments.horovod("D", str(tmp_path / "nowhere" / "python")).ok is None
    assert environments.horovod("E", "/usr/bin/conda").ok is None


def test_no_environment_can_train(tmp_path: Path, monkeypatch: Patch) -> None:
    python = environment(tmp_path / "a", horovodrun=False)
    monkeypatch.setattr(environments, "kernelspecs", lambda: [("A", python)])
    last = environments.checks()[-1]
    assert last.ok is False
    assert last.fix == f"HOROVOD_WITH_GLOO=1 {python} -m pip install horovod"


def test_kernelspecs_are_read_with_care(tmp_path: Path, monkeypatch: Patch) -> None:
    specs = {
        "good": '{"argv": ["/env/bin/python"], "display_name": "Good", "language": "python"}',
        "ours": '{"argv": ["python3"], "language": "python"}',
        "julia": '{"argv": ["julia"], "language": "julia"}',
        "empty": '{"argv": [], "language": "python"}',
        "list": "[]",
        "broken": "{",
    }
    for name, text in specs.items():
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(text)
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda _: [str(tmp_path / "kernels")])
    found = dict(environments.kernelspecs())
    assert found == {"Good": "/env/bin/python", "ours": sys.executable}


def test_runtime_folder(runtime: Path) -> None:
    assert clusters.runtime_folder(runtime).ok is True
    runtime.chmod(0o750)
    found = clusters.runtime_folder(runtime)
    assert (found.ok, found.fix) == (False, f"chmod 700 {runtime}")
    assert len(clusters.checks()) == 1, "nothing in it may be believed"
    link = runtime.parent / "link"
    link.symlink_to(runtime)
    assert "export JUPYTER_ELASTIC_RUNTIME_DIR" in clusters.runtime_folder(link).fix
    assert clusters.runtime_folder(runtime / "none").ok is True


def test_keepers_and_leftovers(runtime: Path) -> None:
    state = runtime.parent / "s" / "clusters"
    state.mkdir(parents=True)
    gone = subprocess.Popen(["true"])
    card = {"pid": gone.pid, "start": identity.start_time(gone.pid) or 1}
    gone.wait()
    for name, mark in (("alive", identity.me()), ("dead", card), ("old", card)):
        (runtime / name).mkdir()
        (runtime / name / "config.json").write_text("{}")
        (runtime / name / "keeper.json").write_text(json.dumps(mark))
    for name in ("alive", "dead"):
        (state / f"{name}.json").write_text("{}")
    found = {item.name: item for item in clusters.checks()}
    assert found["keeper of alive"].ok is True
    assert found["keeper of dead"].ok is False
    assert found["leftovers"].fix == f"rm -r {runtime}/old"
    assert found["servers"].ok is None
