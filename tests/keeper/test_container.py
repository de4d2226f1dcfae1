"""The keeper as process 1 of a container: orphans, TERM, exit codes, a restart, its folder."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_elastic.keeper import identity
from jupyter_elastic.keeper.client import KeeperError

from .container import Contained, missing
from .harness import wait_for

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "can be run")

SYSTEM_PYTHON = Path("/usr/bin/python3")
NOBODY = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups")


@pytest.fixture
def box() -> Iterator[Contained]:
    """A container with two places."""
    made = Contained()
    made.configure(state_file=None, lock_file="")
    try:
        made.boot().hosts(1, 1, 2)
        yield made
    finally:
        made.close()


def children(pid: int, states: str) -> list[int]:
    """Return the children of a process that are in one of these states."""
    found = []
    for name in os.listdir("/proc"):
        one = identity.stat(int(name)) if name.isdigit() else None
        if one is not None and one.parent == pid and one.state in states:
            found.append(int(name))
    return found


def test_it_is_process_one_in_a_folder_of_its_own(box: Contained) -> None:
    assert box.pid == 1
    assert box.folder.stat().st_mode & 0o777 == 0o700
    assert (box.folder / "keeper.pyz").read_bytes() == (box.given / "keeper.pyz").read_bytes()
    assert box.hostfile.read_text().startswith("127.0.0.1 slots=1\n")


def test_orphans_are_collected_and_no_exit_code_is_lost(box: Contained) -> None:
    terminal = box.terminal(box.open())
    terminal.type("for i in 1 2 3 4; do (setsid sleep 1.27 &); done\r")
    seen = wait_for(lambda: [pid for pid in children(box.init, "S") if sleeps(pid)])
    assert len(seen) >= 1
    runs = [box.start_run(f"code{number}") for number in (3, 4, 5)]
    wait_for(lambda: not any(sleeps(pid) for pid in children(box.init, "SR")), what="their end")
    for number, run in zip((3, 4, 5), runs, strict=True):
        assert box.wait_state(run["id"], "failed")["exit"] == number
    wait_for(lambda: children(box.init, "Z") == [], 3, "that nobody waits to be collected")


def sleeps(pid: int) -> bool:
    try:
        return b"1.27" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_term_ends_the_runs_first(box: Contained) -> None:
    run, deaf = box.start_run("sleep"), box.stubborn()
    shell = box.open()
    terminal = box.terminal(shell)
    terminal.type("echo re''ady\r")
    terminal.expect("ready\r\n")
    began = time.monotonic()
    box.signal(signal.SIGTERM)
    wait_for(lambda: record(box, run["id"])["state"] != "running")
    with pytest.raises(KeeperError, match="being stopped"):
        box.open()
    assert "stopped" in terminal.wait_exit()["text"]
    assert box.wait() == 128 + signal.SIGTERM
    assert 2.0 <= time.monotonic() - began < 10.0
    assert record(box, run["id"])["exit"] == 128 + signal.SIGTERM
    assert record(box, deaf["id"])["exit"] == 128 + signal.SIGKILL
    assert not (box.folder / "ending.json").exists()
    assert box.hostfile.exists()
    box.boot()
    assert box.status()["hosts"] == ["127.0.0.1", "127.0.0.2"]
    assert {one["state"] for one in box.status()["runs"]} == {"stopped"}


def record(box: Contained, run: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((box.folder / "runs" / f"{run}.json").read_text())
    return found


def test_told_twice_it_ends_at_once(box: Contained) -> None:
    box.configure(grace_seconds=600, termination_seconds=3600)
    box.crash()
    box.boot()
    box.stubborn()
    box.signal(signal.SIGTERM)
    time.sleep(1)
    assert box.container is not None
    assert box.container.poll() is None
    box.signal(signal.SIGINT)
    assert box.wait() == 128 + signal.SIGINT


def test_grace_fits_into_what_the_pod_has(box: Contained) -> None:
    box.configure(grace_seconds=600, termination_seconds=14)
    box.crash()
    box.boot()
    box.stubborn()
    began = time.monotonic()
    box.signal(signal.SIGTERM)
    assert box.wait() == 128 + signal.SIGTERM
    assert time.monotonic() - began < 14


@pytest.mark.parametrize(
    "rules",
    [
        {"on_run_end": "release", "after_seconds": 0},
        {"on_run_end": "keep", "idle_seconds": 1},
        {"on_run_end": "keep", "deadline": 1.0},
    ],
    ids=["run ended", "idle", "deadline"],
)
def test_giving_the_cluster_back_is_success(box: Contained, rules: dict[str, object]) -> None:
    if rules["on_run_end"] == "release":
        box.wait_state(box.start_run("x")["id"], "ended")
    box.ask("rules", **rules)
    assert box.wait() == 0
    assert not box.folder.exists()
    assert not box.hostfile.exists()


def test_end_that_a_server_asks_for_is_success(box: Contained) -> None:
    box.start_run("sleep")
    box.ask("end", grace_seconds=1)
    assert box.wait() == 0


def test_restart_of_the_container(box: Contained) -> None:
    shell, run = box.open(), box.start_run("rank")
    wait_for(lambda: "127.0.0.2" in box.status()["busy_hosts"], what="the rank")
    box.crash()
    box.hostfile.unlink()
    box.boot()
    status = box.status()
    assert (status["generation"], status["shells"], status["busy_hosts"]) == (1, [], [])
    assert box.hostfile.read_text() == "127.0.0.1 slots=1\n127.0.0.2 slots=1\n"
    over = box.state(run["id"])
    assert (over["state"], over["exit"], over["reason"]["code"]) == ("lost", None, "exit_unknown")
    assert "restarted" in over["reason"]["text"]
    done = box.run("bridge", str(box.folder / "shells" / f"{shell['id']}.sock"), input="")
    assert "restarted" in done.stdout
    assert box.wait_state(box.start_run("x")["id"], "ended")["exit"] == 0


def test_removed_socket_is_made_again(box: Contained) -> None:
    box.start_run("sleep")
    (box.folder / "keeper.sock").unlink()
    wait_for(lambda: (box.folder / "keeper.sock").exists())
    assert [one["state"] for one in box.status()["runs"]] == ["running"]


def test_new_program_and_configuration_are_taken(box: Contained) -> None:
    box.configure(programs=["torchrun"], ssh_config="Port 2222\n")
    box.crash()
    box.boot()
    assert (box.folder / "bin" / "torchrun").exists()
    assert (box.folder / "ssh_config").read_text() == "Port 2222\n"


def test_without_configuration_it_fails(box: Contained) -> None:
    box.crash()
    (box.given / "config.json").write_text("{")
    with pytest.raises(AssertionError, match=r"config\.json"):
        box.boot()
    assert box.wait() == 1


def test_another_user_in_a_volume_of_root() -> None:
    if not SYSTEM_PYTHON.exists():
        pytest.skip("no Python here that every user can run")
    box = Contained(*NOBODY)
    try:
        box._python = str(SYSTEM_PYTHON)
        for folder in (box.base, box.home, box.volume):
            folder.chmod(0o2777)
        box.host_folder.mkdir(mode=0o777)
        box.host_folder.chmod(0o2777)
        box.boot().hosts(1, 1, 2)
        found = box.folder.stat()
        assert (found.st_uid, found.st_mode & 0o777) == (12345, 0o700)
        assert box.wait_state(box.start_run("x")["id"], "ended")["exit"] == 0
        box.signal(signal.SIGTERM)
        assert box.wait() == 128 + signal.SIGTERM
        box.folder.chmod(0o2770)  # what a volume's group does to what is in it
        box.boot()
        assert box.folder.stat().st_mode & 0o777 == 0o700
    finally:
        box.close()
