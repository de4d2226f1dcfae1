"""The keeper as a process: one per folder, back after a kill, small, on every Python it promises."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_elastic.keeper.client import KeeperError

from .harness import Kept, wait_for

OLDEST = Path("/root/.pyenv/versions/3.8.18/bin/python")
LIMIT_MIB = 25


def resident(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def test_second_one_ends_at_once(kept: Kept) -> None:
    pid = kept.pid
    done = kept.run("serve", str(kept.folder))
    assert done.returncode == 0
    assert "already" in done.stderr
    assert kept.pid == pid


def test_two_started_together(stopped: Kept) -> None:
    words = [sys.executable, "-I", str(stopped.folder / "keeper.pyz"), "serve", str(stopped.folder)]
    both = [subprocess.Popen(words, env=stopped.environment) for _ in range(4)]
    assert [one.wait(20) for one in both] == [0] * 4
    wait_for(lambda: (stopped.folder / "keeper.json").exists())
    serving = [
        pid for pid in stopped.processes() if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert serving == [stopped.pid]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_open_folder_is_refused(stopped: Kept, mode: int) -> None:
    stopped.folder.chmod(mode)
    done = stopped.run("serve", str(stopped.folder))
    assert done.returncode == 1
    assert "open to other users" in done.stderr


def test_link_is_refused(stopped: Kept) -> None:
    link = stopped.base / "link"
    link.symlink_to(stopped.folder)
    done = stopped.run("serve", str(link))
    assert done.returncode == 1
    assert "link" in done.stderr


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cluster": "x"}', '{"cluster": "x", "host_folder": "rel"}']
)
def test_broken_configuration_is_refused(stopped: Kept, text: str) -> None:
    (stopped.folder / "config.json").write_text(text)
    done = stopped.run("serve", str(stopped.folder))
    assert done.returncode == 1
    assert "config.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_comes_back_with_everything(kept: Kept) -> None:
    shell = kept.open()
    run = kept.start_run("count")
    kept.ask("rules", on_run_end="release", after_seconds=300)
    terminal = kept.terminal(shell)
    terminal.type("echo before-$((40+2))\r")
    terminal.expect("before-42")
    kept.kill()
    terminal.type("echo while-$((50+2))\r")
    terminal.expect("while-52")
    kept.start()
    status = kept.status()
    assert status["generation"] == 1
    assert shell["id"] in [one["id"] for one in status["shells"]]
    assert [one["attached"] for one in status["shells"] if one["id"] == shell["id"]] == [1]
    assert kept.state(run["id"])["state"] == "running"
    terminal.type("exit 3\r")
    assert terminal.wait_exit()["code"] == 3
    over = kept.wait_state(run["id"], "ended", seconds=30)
    assert over["exit"] == 0
    assert "step 200" in kept.ask("run.log", run=run["id"], max_bytes=100)["output"]
    assert kept.status()["offers"][0]["due"] is not None


def test_killed_over_and_over_during_a_run(kept: Kept) -> None:
    run = kept.start_run("count")
    for _ in range(5):
        kept.kill()
        kept.start()
        time.sleep(0.1)
    assert kept.wait_state(run["id"], "ended", seconds=30)["exit"] == 0


def test_server_attached_while_connected(kept: Kept) -> None:
    one = kept.client()
    card = {"pid": 1, "start": 2.0, "socket": "/x", "url": "http://x"}
    assert one.request("hello", server=card)["cluster"] == "c1"
    assert kept.ask("servers")["servers"] == [card]
    one.close()
    wait_for(lambda: kept.ask("servers")["servers"] == [])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense\n", "bad_input"),
        (b"[]\n", "bad_input"),
        (b'{"op": 3}\n', "bad_input"),
        (b'{"op": "nothing"}\n', "bad_input"),
        (b'{"op": "__class__"}\n', "bad_input"),
        (b"[" * 100_000 + b"\n", "bad_input"),
        (b"x" * (2 * 1024 * 1024), "too_large"),
    ],
)
def test_bad_lines_are_answered_and_harm_nobody(kept: Kept, line: bytes, code: str) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(kept.folder / "keeper.sock"))
        raw.settimeout(5)
        with contextlib.suppress(OSError):  # it was refused before all of it was sent
            raw.sendall(line)
        try:
            answer = raw.makefile("rb").readline()
        except ConnectionResetError:
            answer = b""
    if answer or code != "too_large":
        assert json.loads(answer)["error"]["code"] == code
    assert kept.status()["generation"] == 1


def test_small_and_quiet(kept: Kept) -> None:
    for _ in range(50):
        kept.status()
    pid = kept.pid
    assert resident(pid) < LIMIT_MIB

    def ticks() -> int:
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(words[11]) + int(words[12])

    before = ticks()
    time.sleep(8)
    used = (ticks() - before) / os.sysconf("SC_CLK_TCK") / 8
    assert used < 0.005 + 1 / os.sysconf("SC_CLK_TCK") / 8, f"{100 * used:.2f} % of a core"


def test_removed_socket_lets_it_end(kept: Kept) -> None:
    pid = kept.pid
    (kept.folder / "keeper.sock").unlink()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="its end: nobody can reach it")
    kept.start()
    assert kept.status()["generation"] == 1


def test_ends_on_term_and_leaves_shells_alone(kept: Kept) -> None:
    shell = kept.open()
    pid = kept.pid
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not (kept.folder / "keeper.json").exists())
    assert not (kept.folder / "keeper.sock").exists()
    terminal = kept.terminal(shell)
    terminal.type("echo still-$((1+1))\r")
    terminal.expect("still-2")


@pytest.mark.skipif(not OLDEST.exists(), reason="no Python 3.8 here")
def test_oldest_python() -> None:
    kept = Kept(python=str(OLDEST))
    try:
        kept.start()
        kept.hosts(1, 1, 2)
        run = kept.start_run("rank")
        wait_for(lambda: "127.0.0.2" in kept.status()["busy_hosts"], what="the rank")
        kept.ask("run.stop", run=run["id"], grace_seconds=2)
        kept.wait_state(run["id"], "stopped")
        kept.ask("end", grace_seconds=2)
        wait_for(lambda: not kept.processes(), what="the end of everything")
    finally:
        kept.close()


def test_end_leaves_nothing(kept: Kept) -> None:
    kept.open()
    run = kept.start_run("rank")
    wait_for(lambda: "127.0.0.2" in kept.status()["busy_hosts"], what="the rank")
    assert kept.state(run["id"])["state"] == "running"
    kept.ask("end", grace_seconds=3)
    assert not kept.hostfile.exists()
    wait_for(lambda: not kept.processes(), what="the end of every process")
    assert list(kept.folder.glob("*.sock")) + list(kept.folder.glob("shells/*.sock")) == []
    shutil.rmtree(kept.folder)


def test_ending_is_taken_up_after_a_kill(kept: Kept) -> None:
    kept.stubborn()
    one = kept.client()
    one._socket.sendall(b'{"id": 1, "op": "end", "grace_seconds": 4}\n')
    wait_for(lambda: (kept.folder / "ending.json").exists())
    kept.kill()
    kept.start()
    with pytest.raises(KeeperError, match="released"):
        kept.open()
    wait_for(lambda: not kept.processes(), 20, "the end of every process")
    assert not kept.hostfile.exists()
