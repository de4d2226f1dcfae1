"""Our ssh: places run here, everything else is the real one; nothing is orphaned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.keeper import identity

from .harness import Kept, host, wait_for


def words_of(kept: Kept, *words: str) -> list[str]:
    return [str(kept.folder / "bin" / "ssh"), *words]


def env_of(kept: Kept, **more: str) -> dict[str, str]:
    return {**kept.environment, "PATH": f"{kept.base}/real:/usr/bin:/bin", **more}


def ssh(kept: Kept, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words_of(kept, *words),
        capture_output=True,
        text=True,
        env=env_of(kept, **more),
        timeout=20,
        check=False,
        input="typed\n",
    )


def background(kept: Kept, *words: str, **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words_of(kept, *words), env=env_of(kept, **more), start_new_session=True
    )


def rank(kept: Kept) -> dict[str, Any]:
    """Wait for the one rank's record."""
    path = wait_for(lambda: list(kept.folder.glob("ranks/*/*.json")), what="a rank's record")[0]
    value: dict[str, Any] = json.loads(path.read_text())
    return value


@pytest.mark.parametrize(
    "words",
    [
        ("127.0.0.2", "echo", "$JUPYTER_ELASTIC_PLACE"),
        ("127.0.0.2", "-o", "ConnectTimeout=10", "echo $JUPYTER_ELASTIC_PLACE"),
        (
            "-o",
            "StrictHostKeyChecking=no",
            "-p",
            "2222",
            "127.0.0.2",
            "-oBatchMode=yes",
            "echo $JUPYTER_ELASTIC_PLACE",
        ),
        ("-tt", "-p2222", "-l", "me", "me@127.0.0.2", "--", "echo $JUPYTER_ELASTIC_PLACE"),
        ("-nTv", "-i", "key", "--", "127.0.0.2", "echo $JUPYTER_ELASTIC_PLACE"),
        ("ssh://me@127.0.0.2:2222", "echo $JUPYTER_ELASTIC_PLACE"),
    ],
)
def test_place_runs_here(kept: Kept, words: tuple[str, ...]) -> None:
    done = ssh(kept, *words)
    assert (done.stdout, done.stderr, done.returncode) == ("127.0.0.2\n", "", 0)
    assert kept.status()["busy_hosts"] == []


def test_exit_input_environment_and_session(kept: Kept) -> None:
    kept.ask("hosts", generation=2, hosts=[host(1, 2, (0, 1)), host(2, 2, (2, 3))])
    assert ssh(kept, "127.0.0.2", "exit 7").returncode == 7
    assert ssh(kept, "127.0.0.2", "kill -9 $$").returncode == 137
    assert ssh(kept, "127.0.0.2", "cat").stdout == "typed\n"
    assert ssh(kept, "-n", "127.0.0.2", "cat").stdout == ""
    assert (
        ssh(kept, "127.0.0.2", "echo $KEPT $CUDA_VISIBLE_DEVICES", KEPT="yes").stdout == "yes 2,3\n"
    )
    assert ssh(kept, "127.0.0.1", "echo $CUDA_VISIBLE_DEVICES").stdout == "0,1\n"
    own = {"JUPYTER_ELASTIC_PROGRAM": "deepspeed", "CUDA_VISIBLE_DEVICES": ""}
    assert ssh(kept, "127.0.0.1", "echo ${CUDA_VISIBLE_DEVICES}.", **own).stdout == ".\n"
    assert ssh(kept, "127.0.0.2", "echo $CUDA_VISIBLE_DEVICES", **own).stdout == "2,3\n"
    assert "1" in ssh(kept, "127.0.0.2", "ps -o sid= -p $$ | grep -c $$").stdout


@pytest.mark.parametrize("name", ["127.0.0.3", "127.9.9.9", "me@127.0.0.3"])
def test_place_that_is_not_in_the_list(kept: Kept, name: str) -> None:
    done = ssh(kept, name, "echo no")
    assert (done.returncode, done.stdout) == (255, "")
    assert "not in the host list" in done.stderr


def test_place_that_left(kept: Kept) -> None:
    process = background(kept, "127.0.0.2", "sleep 60")
    wait_for(lambda: kept.status()["busy_hosts"] == ["127.0.0.2"])
    kept.hosts(2, 1)
    assert ssh(kept, "127.0.0.2", "true").returncode == 255
    time.sleep(1.5)
    assert kept.status()["busy_hosts"] == ["127.0.0.2"], "its rank ends by itself"
    assert process.poll() is None
    process.terminate()
    assert process.wait(10) == 143
    wait_for(lambda: kept.status()["busy_hosts"] == [])


def test_no_command(kept: Kept) -> None:
    assert ssh(kept, "127.0.0.2").returncode == 255


def test_other_hosts_go_to_the_real_one(kept: Kept) -> None:
    real = kept.base / "real"
    real.mkdir()
    kept.script("ssh", '#!/bin/sh\nfor one; do echo "[$one]"; done\n', real)
    assert (
        ssh(kept, "-p", "22", "example.org", "a b", "c").stdout
        == "[-p]\n[22]\n[example.org]\n[a b]\n[c]\n"
    )
    (kept.folder / "ssh_config").write_text("Host *\n")
    assert ssh(kept, "example.org").stdout == f"[-F]\n[{kept.folder}/ssh_config]\n[example.org]\n"
    assert ssh(kept, "-V").stdout.endswith("[-V]\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_whole_session(kept: Kept, number: signal.Signals) -> None:
    process = background(kept, "127.0.0.2", "sleep 61 & sleep 62 & wait")
    one = rank(kept)
    wait_for(lambda: len(session(one["pid"])) >= 3)
    process.send_signal(number)
    process.wait(10)
    assert session(one["pid"]) == []
    wait_for(lambda: kept.status()["busy_hosts"] == [])


def test_rank_that_does_not_listen_is_killed(kept: Kept) -> None:
    process = background(kept, "127.0.0.2", "trap '' TERM; while :; do sleep 0.2; done")
    one = rank(kept)
    time.sleep(0.3)
    process.terminate()
    process.wait(15)
    assert session(one["pid"]) == []


def test_what_a_rank_leaves_behind_ends(kept: Kept) -> None:
    done = ssh(kept, "127.0.0.2", "sleep 63 >/dev/null 2>&1 & echo $$; exit 4")
    assert done.returncode == 4
    assert session(int(done.stdout)) == []


def test_killed_ssh_leaves_no_orphan(kept: Kept) -> None:
    process = background(kept, "127.0.0.2", "sleep 64 & sleep 65")
    one = rank(kept)
    process.kill()
    process.wait()
    wait_for(lambda: session(one["pid"]) == [], 15, "the end of its session")
    wait_for(lambda: kept.status()["busy_hosts"] == [])
    assert list(kept.folder.glob("ranks/*/*.json")) == []


def test_killed_ssh_and_leader_leave_no_orphan(kept: Kept) -> None:
    process = background(
        kept, "127.0.0.2", "(trap '' TERM HUP; while :; do sleep 0.2; done) & sleep 66"
    )
    one = rank(kept)
    kept.kill()
    process.kill()
    process.wait()
    os.kill(one["pid"], signal.SIGKILL)
    wait_for(lambda: identity.start_time(one["pid"]) is None)
    assert session(one["pid"])
    kept.start()
    wait_for(lambda: session(one["pid"]) == [], 20, "the end of its session")


def test_ranks_of_a_killed_run_end(kept: Kept) -> None:
    run = kept.start_run("rank")
    wait_for(lambda: "127.0.0.2" in kept.status()["busy_hosts"])
    pid = kept.state(run["id"])["pid"]
    os.kill(
        json.loads((kept.folder / "runs" / f"{run['id']}.json").read_text())["starter"]["pid"],
        signal.SIGKILL,
    )
    os.kill(pid, signal.SIGKILL)
    kept.wait_state(run["id"], "lost")
    wait_for(lambda: kept.status()["busy_hosts"] == [], 30, "the end of its ranks")


def test_stale_record_of_a_reused_pid_harms_nobody(kept: Kept) -> None:
    stranger = subprocess.Popen(["sleep", "50"], start_new_session=True)
    try:
        folder = kept.folder / "ranks" / "127.0.0.2"
        folder.mkdir(parents=True, exist_ok=True)
        value = {
            "pid": stranger.pid,
            "start": 1,
            "boot": identity.boot_id(),
            "stub": {"pid": 1, "start": 1},
        }
        (folder / f"{stranger.pid}.json").write_text(json.dumps(value))
        wait_for(lambda: not list(folder.glob("*.json")), what="the record's removal")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def session(leader: int) -> list[int]:
    """Return the living members of a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            one = identity.stat(int(name))
            if one is not None and one.session == leader and one.state not in "ZX":
                found.append(int(name))
    return found


def test_nothing_runs_that_no_record_names(kept: Kept) -> None:
    """Where the record cannot be written the command does not run."""
    folder = kept.folder / "ranks" / "127.0.0.2"
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("in the way")
    mark = Path(kept.base / "ran")
    done = ssh(kept, "127.0.0.2", f"touch {mark}")
    assert done.returncode == 255
    assert not mark.exists()
