"""What command lines say: the launchers' and ssh's; and the release rules' arithmetic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.keeper import launchers, ssh
from jupyter_elastic.keeper.hostfile import Host
from jupyter_elastic.keeper.launchers import Reading
from jupyter_elastic.keeper.places import environment_of, is_loopback
from jupyter_elastic.keeper.release import Release


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        (
            "-np 2 --hostfile /etc/mpi/hostfile python x.py",
            Reading(np=2, hosts="/etc/mpi/hostfile"),
        ),
        ("--num-proc=3 -hostfile /h python x.py -np 9", Reading(np=3, hosts="/h")),
        (
            "-np 2 --min-np 1 --max-np 8 --host-discovery-script /d python x",
            Reading(2, 1, 8, True, "/d"),
        ),
        (
            "--min-num-proc=1 --max-num-proc=4 -np 2 --host-discovery-script=/d x",
            Reading(2, 1, 4, True, "/d"),
        ),
        ("-H a:1,b:1 -np 2 python x --hostfile /no", Reading(np=2)),
        ("--network-interfaces lo -np 1 python x", Reading(np=1)),
        ("--verbose --disable-cache -np 4 python x", Reading(np=4)),
        ("-np x python y", Reading()),
        ("-np", Reading()),
        ("-np 0 python x", Reading()),
        ("--check-build", Reading(runs=False)),
        ("-np 2 python x --help", Reading(np=2)),
        ("", Reading()),
        ("--hostfile", Reading(hosts="")),
    ],
)
def test_horovodrun(text: str, reading: Reading) -> None:
    assert launchers.read("horovodrun", text.split()) == reading


def test_unknown_program_says_nothing() -> None:
    assert launchers.read("other", ["-np", "2", "--hostfile", "/h"]) == Reading()


@pytest.mark.parametrize(
    ("text", "host", "command"),
    [
        ("h true", "h", "true"),
        ("h -o ConnectTimeout=10 true", "h", "true"),
        ("-o A=1 -oB=2 -p 22 -p22 h a -b c", "h", "a -b c"),
        ("-vvnTx h -- a --b", "h", "a --b"),
        ("-4Nfl me h", "h", ""),
        ("-- h a", "h", "a"),
        ("me@h a", "h", "a"),
        ("ssh://me@h:22 a", "h", "a"),
        ("ssh://h/ a", "h", "a"),
        ("-V", None, ""),
        ("", None, ""),
        ("-o", None, ""),
    ],
)
def test_ssh(text: str, host: str | None, command: str) -> None:
    call = ssh.parse(text.split())
    assert (call.host, call.command) == (host, command)


def test_ssh_keeps_one_word_one_word() -> None:
    assert ssh.parse(["h", "cd /a && env X='1 2' python"]).command == "cd /a && env X='1 2' python"


@pytest.mark.parametrize(
    ("host", "yes"),
    [
        ("127.0.0.1", True),
        ("127.3.4.5", True),
        ("localhost", False),
        ("10.0.0.1", False),
        ("127.0.0.1.x", False),
    ],
)
def test_loopback(host: str, yes: bool) -> None:
    assert is_loopback(host) is yes


def test_what_a_rank_may_see() -> None:
    assert environment_of(None) == {}
    assert environment_of(Host("", "", "127.0.0.2", 2, (1, 3)))["CUDA_VISIBLE_DEVICES"] == "1,3"
    assert environment_of(Host("", "", "127.0.0.2", 1))["CUDA_VISIBLE_DEVICES"] == ""
    assert "CUDA_VISIBLE_DEVICES" not in environment_of(Host("", "", "10.0.0.2", 1))


class TestRelease:
    def ended(self, ago: float) -> dict[str, Any]:
        return {"id": "r", "program": "horovodrun", "ended": time.time() - ago}

    def test_countdown_gives_time_after_a_return_and_after_new_rules(self, tmp_path: Path) -> None:
        release = Release(str(tmp_path))
        release.set({"on_run_end": "release", "after_seconds": 100})
        offer = release.offer(self.ended(10_000), live=False)
        assert offer is not None
        assert offer["due"] > time.time() + 90
        again = Release(str(tmp_path))
        release.rules["after_seconds"] = 0
        late = again.offer(self.ended(10_000), live=False)
        assert late is not None
        assert late["due"] >= time.time() + 5

    def test_offer_is_the_same_each_time(self, tmp_path: Path) -> None:
        release = Release(str(tmp_path))
        release.set({"on_run_end": "release", "after_seconds": 100})
        run = self.ended(1)
        assert release.offer(run, live=False) == release.offer(run, live=False)

    def test_idle_counts_from_the_last_use(self, tmp_path: Path) -> None:
        release = Release(str(tmp_path))
        release.set({"idle_seconds": 0.2})
        assert release.due(None, in_use=True) is None
        assert release.due(None, in_use=False) is None
        time.sleep(0.25)
        assert release.due(None, in_use=True) is None
        time.sleep(0.25)
        assert release.due(None, in_use=False) == "idle"

    def test_deadline(self, tmp_path: Path) -> None:
        release = Release(str(tmp_path))
        release.set({"deadline": time.time() - 1})
        assert release.due(None, in_use=True) == "deadline"

    def test_broken_file_means_the_defaults(self, tmp_path: Path) -> None:
        (tmp_path / "rules.json").write_text(
            '{"rules": {"on_run_end": 3}, "kept": 4, "since": "x"}'
        )
        assert Release(str(tmp_path)).rules["on_run_end"] == "ask"
