"""Runs: what the starter records, whatever happens to whom; stopping; runs that were started elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.keeper import identity
from jupyter_elastic.keeper.client import KeeperError

from .harness import Kept, host, wait_for


def record(kept: Kept, run: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((kept.folder / "runs" / f"{run}.json").read_text())
    return value


def starter(
    kept: Kept, *words: str, path: str = "", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Call the starter outside of any shell of ours."""
    env = {**kept.environment, "PATH": path or f"{kept.python_folder}:/usr/bin:/bin"}
    return subprocess.run(
        [str(kept.folder / "bin" / "horovodrun"), *words],
        capture_output=True,
        text=True,
        env=env,
        timeout=30,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("last", "state", "code"),
    [("x", "ended", 0), ("code3", "failed", 3), ("signal", "failed", 139)],
)
def test_exit_is_recorded(kept: Kept, last: str, state: str, code: int) -> None:
    run = kept.start_run(last)
    over = kept.wait_state(run["id"], "ended", "failed")
    assert (over["state"], over["exit"]) == (state, code)
    assert over["ended"] >= over["started"]
    assert over["text"] == f"horovodrun -np 2 --hostfile {kept.hostfile} {last}"
    assert (over["np"], over["elastic"], over["found"]) == (2, False, False)


def test_output_is_the_runs_slice_of_the_shells(kept: Kept) -> None:
    terminal = kept.terminal(kept.open())
    terminal.type("echo before-it\r")
    terminal.type(f"horovodrun -np 3 --hostfile {kept.hostfile} code0; echo after-it-$?\r")
    terminal.expect("after-it-0")
    run = kept.status()["runs"][0]
    text = kept.ask("run.log", run=run["id"], max_bytes=10_000)["output"]
    assert text.startswith("real ")
    assert text.count("\n") == 1
    terminal.type("exit\r")
    terminal.wait_exit()
    wait_for(lambda: kept.status()["shells"] == [])
    kept.kill()
    kept.start()  # tidies up at once
    time.sleep(0.3)
    assert kept.ask("run.log", run=run["id"], max_bytes=10_000)["output"] == text


def test_elastic_command_line(kept: Kept) -> None:
    script = str(kept.host_folder / "discover_hosts.sh")
    words = [
        "-np",
        "2",
        "--min-np",
        "1",
        "--max-np=8",
        "--host-discovery-script",
        script,
        "python",
        "x",
        "-np",
        "9",
    ]
    assert starter(kept, *words).returncode == 0
    run = kept.status()["runs"][0]
    assert (run["np"], run["min_np"], run["max_np"], run["elastic"]) == (2, 1, 8, True)


def test_outside_of_a_shell_output_is_copied_and_kept(kept: Kept) -> None:
    done = starter(kept, "-np", "1", "--hostfile", str(kept.hostfile), "code7")
    assert done.returncode == 7
    assert done.stdout.startswith("real ")
    run = kept.status()["runs"][0]
    assert run["exit"] == 7
    assert run["shell"] is None
    assert kept.ask("run.log", run=run["id"], max_bytes=1000)["output"] == done.stdout


@pytest.mark.parametrize("option", ["--hostfile", "--host-discovery-script", "-hostfile"])
def test_missing_host_file_is_refused(kept: Kept, option: str) -> None:
    done = starter(kept, "-np", "1", option, "/nowhere/hostfile", "x")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert done.stdout == ""
    assert kept.status()["runs"] == []


def test_questions_are_no_runs(kept: Kept) -> None:
    assert starter(kept, "--check-build").returncode == 0
    assert kept.status()["runs"] == []


def test_program_that_is_not_there(kept: Kept) -> None:
    done = starter(kept, "-np", "1", "x", path=f"{kept.folder}/bin:/usr/bin:/bin")
    assert done.returncode == 127
    assert "not found" in done.stderr


def test_never_calls_a_starter_again(kept: Kept) -> None:
    other = Kept()
    try:
        other.start()
        copy = kept.base / "copy"
        copy.mkdir()
        (copy / "horovodrun").symlink_to(other.folder / "bin" / "horovodrun")
        path = f"{kept.folder}/bin:{other.folder}/bin:{copy}:{kept.python_folder}:/usr/bin:/bin"
        done = starter(kept, "-np", "1", "code5", path=path)
        assert done.returncode == 5
        assert other.status()["runs"] == []
    finally:
        other.close()


def test_strange_words_stay_words(kept: Kept) -> None:
    words = [
        "a b",
        "c'd",
        '"',
        "$(touch /tmp/no)",
        "`x`",
        "; false",
        "line\nbreak",
        "ü",
        "*",
        "code0",
    ]
    argv = ["horovodrun", "-np", "1", "--hostfile", str(kept.hostfile), *words]
    run = kept.ask("run.start", argv=argv, **kept.where(program="/bin/bash"))["run"]
    over = kept.wait_state(run["id"], "ended", "failed")
    assert over["exit"] == 0
    assert over["argv"] == argv
    assert not Path("/tmp/no").exists()


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["rm", "-rf"],
        ["/bin/horovodrun"],
        "horovodrun",
        ["horovodrun", 3],
        ["horovodrun", "a\0b"],
    ],
)
def test_bad_command(kept: Kept, argv: object) -> None:
    with pytest.raises(KeeperError) as caught:
        kept.ask("run.start", argv=argv, **kept.where())
    assert caught.value.code == "bad_input"


def test_stop_is_term_first(kept: Kept) -> None:
    run = kept.start_run("sleep")
    kept.ask("run.stop", run=run["id"], grace_seconds=20)
    over = kept.wait_state(run["id"], "stopped", seconds=5)
    assert over["exit"] == 143


def test_a_run_that_was_asked_to_stop_and_ended_well_is_stopped(kept: Kept) -> None:
    run = kept.polite()
    kept.ask("run.stop", run=run["id"], grace_seconds=20)
    assert kept.wait_state(run["id"], "stopped", seconds=5)["exit"] == 0


def test_stop_kills_what_does_not_listen(kept: Kept) -> None:
    run = kept.stubborn()
    pid = kept.state(run["id"])["pid"]
    began = time.monotonic()
    kept.ask("run.stop", run=run["id"], grace_seconds=1)
    assert kept.state(run["id"])["state"] == "stopping"
    over = kept.wait_state(run["id"], "stopped", seconds=10)
    assert time.monotonic() - began > 0.9
    assert over["exit"] == 137
    assert identity.start_time(pid) is None


def test_stop_goes_on_after_the_keeper_was_killed(kept: Kept) -> None:
    run = kept.stubborn()
    kept.ask("run.stop", run=run["id"], grace_seconds=2)
    kept.kill()
    kept.start()
    assert kept.wait_state(run["id"], "stopped", seconds=10)["exit"] == 137


def test_stop_takes_the_ranks_along(kept: Kept) -> None:
    run = kept.start_run("rank")
    wait_for(lambda: "127.0.0.2" in kept.status()["busy_hosts"])
    kept.ask("run.stop", run=run["id"], grace_seconds=1)
    kept.wait_state(run["id"], "stopped")
    wait_for(lambda: kept.status()["busy_hosts"] == [])


def test_killed_starter(kept: Kept) -> None:
    terminal = kept.terminal(kept.open())
    terminal.type(f"horovodrun -np 2 --hostfile {kept.hostfile} sleep\r")
    run = wait_for(lambda: kept.status()["runs"])[0]
    pid = wait_for(lambda: kept.state(run["id"])["pid"])
    os.kill(record(kept, run["id"])["starter"]["pid"], signal.SIGKILL)
    time.sleep(1.5)
    assert kept.state(run["id"])["state"] == "running", "its processes live, so it does"
    os.kill(pid, signal.SIGKILL)
    over = kept.wait_state(run["id"], "lost")
    assert over["exit"] is None
    assert over["reason"]["code"] == "exit_unknown"


def test_run_of_an_earlier_boot_is_lost(kept: Kept) -> None:
    run = kept.start_run("sleep")
    kept.wait_state(run["id"], "running")
    kept.kill()
    value = {**record(kept, run["id"]), "boot": "another"}
    (kept.folder / "runs" / f"{run['id']}.json").write_text(json.dumps(value))
    kept.start()
    assert kept.state(run["id"])["state"] == "lost"


def test_half_written_record_is_not_read(kept: Kept) -> None:
    run = kept.start_run("x")
    kept.wait_state(run["id"], "ended")
    path = kept.folder / "runs" / f"{run['id']}.json"
    whole = path.read_bytes()
    for text in (b"", whole[:-30], b"[]", b'{"id": "other"}'):
        (kept.folder / "runs" / "broken.json").write_bytes(text)
    kept.kill()
    kept.start()
    assert [one["id"] for one in kept.status()["runs"]] == [run["id"]]


def test_busy_hosts_while_it_lives(kept: Kept) -> None:
    assert kept.status()["busy_hosts"] == []
    run = kept.start_run("sleep")
    assert kept.status()["busy_hosts"] == ["127.0.0.1"]
    kept.ask("run.stop", run=run["id"], grace_seconds=1)
    kept.wait_state(run["id"], "stopped")
    assert kept.status()["busy_hosts"] == []


def test_devices_of_the_first_place(kept: Kept) -> None:
    command = ["-np", "1", "--hostfile", str(kept.hostfile), "x"]
    assert "devices= " in starter(kept, *command).stdout, "a place without GPUs sees none"
    kept.ask("hosts", generation=2, hosts=[host(1, 2, (2, 3)), host(2, 2, (0, 1))])
    assert "devices=2,3 " in starter(kept, *command).stdout
    pod = {"uid": "p", "name": "p", "host": "10.1.2.3", "slots": 2, "devices": []}
    kept.ask("hosts", generation=3, hosts=[pod])
    assert "devices=unset " in starter(kept, *command).stdout, "a pod shows what it has"


def elsewhere(kept: Kept, *before: str) -> subprocess.Popen[bytes]:
    """Start the real program in the way another terminal would."""
    real = kept.python_folder / "horovodrun"
    real.write_text(f"#!{sys.executable}\nimport os, time\nos.fork()\ntime.sleep(30)\n")
    words = [*before, str(real), "-np", "4", "--hostfile", str(kept.hostfile), "python", "x.py"]
    return subprocess.Popen(words, env={"PATH": "/usr/bin:/bin"}, start_new_session=True)


def test_started_elsewhere_is_found(kept: Kept) -> None:
    process = elsewhere(kept)
    try:
        run = wait_for(lambda: kept.status()["runs"], 15)[0]
        assert len(kept.status()["runs"]) == 1, "its fork is not another one"
        assert run["found"]
        assert (run["state"], run["np"], run["exit"]) == ("running", 4, None)
        assert run["pid"] == process.pid
        assert run["text"].startswith("horovodrun -np 4 ")
        kept.kill()
        kept.start()
        assert kept.state(run["id"])["state"] == "running"
        kept.ask("run.stop", run=run["id"], grace_seconds=2)
        process.wait(10)
        over = kept.wait_state(run["id"], "stopped")
        assert over["exit"] is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_our_own_runs_are_not_found_again(kept: Kept) -> None:
    kept.start_run("count")
    time.sleep(7)
    assert [one["found"] for one in kept.status()["runs"]] == [False]


def test_nohup_is_honoured(kept: Kept) -> None:
    env = {**kept.environment, "PATH": f"{kept.python_folder}:/usr/bin:/bin"}
    words = [
        "nohup",
        str(kept.folder / "bin" / "horovodrun"),
        "-np",
        "1",
        "--hostfile",
        str(kept.hostfile),
        "sleep",
    ]
    with subprocess.Popen(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        run = wait_for(lambda: kept.status()["runs"])[0]
        pid = wait_for(lambda: kept.state(run["id"])["pid"])
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.5)
        assert identity.start_time(pid) is not None
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(5) == 143
    assert kept.wait_state(run["id"], "stopped")["exit"] == 143
