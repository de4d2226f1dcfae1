"""Our ssh: places run here, everything else is the real one; nothing is orphaned."""

from __future__ import annotations

import json
import os
import signal
import socket
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


def real_ssh(kept: Kept, text: str) -> None:
    real = kept.base / "real"
    real.mkdir()
    kept.script("ssh", text, real)


ECHO = '#!/bin/sh\nfor one; do echo "[$one]"; done\n'
POD, OTHER = "10.255.0.9", "10.255.0.10"


def pod(address: str) -> dict[str, Any]:
    return {"uid": f"u-{address}", "name": "w", "host": address, "slots": 1, "devices": []}


def test_other_hosts_go_to_the_real_one(kept: Kept) -> None:
    real_ssh(kept, ECHO)
    assert (
        ssh(kept, "-p", "22", "example.org", "a b", "c").stdout
        == "[-p]\n[22]\n[example.org]\n[a b]\n[c]\n"
    )
    (kept.folder / "ssh_config").write_text("Host *\n  Port 2222\n")
    assert ssh(kept, "example.org").stdout == "[example.org]\n", "our configuration is for ours"
    assert ssh(kept, "-V").stdout == "[-V]\n"


def test_pod_gets_our_configuration_and_its_identity_is_checked(kept: Kept) -> None:
    real_ssh(kept, ECHO)
    kept.ask("hosts", generation=2, hosts=[host(1), pod(POD)])
    config = kept.folder / "ssh_config"
    assert ssh(kept, POD, "true").stdout == f"[{POD}]\n[true]\n"
    config.write_text(
        "Host *\n  Port 2222\n  HostKeyAlias c1\n  StrictHostKeyChecking yes\n"
        "  UserKnownHostsFile /k/one /k/two\n"
    )
    words = ("-o", "StrictHostKeyChecking=no", f"me@{POD}", "a b")
    expected = [
        "-o", "HostKeyAlias=c1", "-o", "StrictHostKeyChecking=yes",
        "-o", "UserKnownHostsFile=/k/one /k/two", "-F", str(config), *words,
    ]  # fmt: skip
    assert ssh(kept, *words).stdout == "".join(f"[{word}]\n" for word in expected)
    assert ssh(kept, POD).stdout.endswith(f"[-F]\n[{config}]\n[{POD}]\n"), "by hand as well"


def test_pod_is_busy_while_a_command_runs_there(kept: Kept) -> None:
    real_ssh(kept, "#!/bin/sh\n[ $# = 1 ] && exec sleep 60; exec sleep 61\n")
    kept.ask("hosts", generation=2, hosts=[host(1), pod(POD), pod(OTHER)])
    by_hand = background(kept, OTHER)
    process = background(kept, "-o", "ConnectTimeout=10", POD, "train")
    wait_for(lambda: kept.status()["busy_hosts"] == [POD])
    one = rank(kept)
    assert (one["pid"], one["uid"]) == (process.pid, f"u-{POD}")
    kept.hosts(3, 1)
    time.sleep(1.2)
    assert kept.status()["busy_hosts"] == [POD], "it left the list, its rank has not ended"
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM
    wait_for(lambda: kept.status()["busy_hosts"] == [])
    by_hand.kill()
    by_hand.wait()


def test_pod_that_left_is_refused(kept: Kept) -> None:
    real_ssh(kept, ECHO)
    kept.ask("hosts", generation=2, hosts=[host(1), pod(POD), pod(OTHER)])
    kept.ask("hosts", generation=3, hosts=[host(1), pod(POD)])
    kept.ask("hosts", generation=4, hosts=[host(1)])
    kept.kill()
    kept.start()
    for address in (POD, OTHER):
        done = ssh(kept, address, "true")
        assert (done.returncode, done.stdout) == (255, "")
        assert "any more" in done.stderr
    kept.ask("hosts", generation=5, hosts=[host(1), pod(OTHER)])
    assert ssh(kept, OTHER, "true").returncode == 0, "it came back"
    assert ssh(kept, POD, "true").returncode == 255


def test_ssh_of_a_run_that_is_over_ends(kept: Kept) -> None:
    real_ssh(kept, "#!/bin/sh\nexec sleep 60\n")
    kept.ask("hosts", generation=2, hosts=[host(1), pod(POD)])
    process = background(kept, POD, "train", JUPYTER_ELASTIC_RUN="over")
    wait_for(lambda: kept.status()["busy_hosts"] == [POD])
    assert process.wait(20) == -signal.SIGTERM


def own_address() -> str:
    """Return an address of this machine that is no loopback one; empty when it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def test_launcher_that_goes_to_itself(kept: Kept) -> None:
    own = own_address()
    if not own or own.startswith("127."):
        pytest.skip("this machine has no address beside the loopback ones")
    real_ssh(kept, ECHO)
    kept.ask("hosts", generation=2, hosts=[{**pod(own), "devices": [3]}, pod(POD)])
    (kept.folder / "ssh_config").write_text("Port 2222\n")
    done = ssh(kept, own, "echo $JUPYTER_ELASTIC_PLACE ${CUDA_VISIBLE_DEVICES-all}; exit 3")
    assert (done.stdout, done.returncode) == (f"{own} all\n", 3)
    process = background(kept, own, "sleep 67")
    wait_for(lambda: kept.status()["busy_hosts"] == [own])
    process.terminate()
    assert process.wait(10) == 128 + signal.SIGTERM
    assert ssh(kept, own).returncode == 255
    # An old list names an address that is somebody else's by now: that is another machine.
    kept.ask("hosts", generation=3, hosts=[pod("192.0.2.77"), pod(own)])
    assert ssh(kept, "192.0.2.77", "true").stdout.endswith("[192.0.2.77]\n[true]\n")
    assert ssh(kept, own, "true").stdout.endswith(f"[{own}]\n[true]\n"), "it is not the launcher"


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
