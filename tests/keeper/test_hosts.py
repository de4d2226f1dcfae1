"""The host file as other processes see it, whatever happens to the keeper and the disk."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_elastic.keeper.client import KeeperError

from .harness import Kept, host, tmpfs, wait_for

READER = r"""
import re, subprocess, sys
path, script, stop = sys.argv[1:]
import os
line = re.compile(r"[\w.-]+ slots=[0-9]+")
reads = 0
seen = set()
while not os.path.exists(stop):
    with open(path, newline="") as handle:
        text = handle.read()
    reads += 1
    assert text.endswith("\n") and not text.endswith("\n\n"), repr(text)
    lines = text[:-1].split("\n")
    assert all(line.fullmatch(one) for one in lines), repr(text)
    assert lines[0].split()[0] == "127.0.0.1", repr(text)
    assert len(set(lines)) == len(lines), repr(text)
    seen.add(text)
    if reads % 200 == 0:
        done = subprocess.run([script], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("127.0.0.1:"), done
print(reads, len(seen))
"""
needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def discovered(kept: Kept) -> subprocess.CompletedProcess[str]:
    script = kept.host_folder / "discover_hosts.sh"
    return subprocess.run([str(script)], capture_output=True, text=True, check=False)


def test_list_becomes_both_files(kept: Kept) -> None:
    kept.ask("hosts", generation=2, hosts=[host(1, 2), host(2, 2), host(10, 2)])
    text = "127.0.0.1 slots=2\n127.0.0.2 slots=2\n127.0.0.10 slots=2\n"
    assert kept.hostfile.read_text() == text
    assert discovered(kept).stdout == "127.0.0.1:2\n127.0.0.2:2\n127.0.0.10:2\n"
    assert kept.hostfile.stat().st_mode & 0o777 == 0o444
    assert (kept.host_folder / "discover_hosts.sh").stat().st_mode & 0o777 == 0o555
    status = kept.status()
    assert status["generation"] == 2
    assert status["hosts"] == ["127.0.0.1", "127.0.0.2", "127.0.0.10"]


def test_older_generation_is_ignored(kept: Kept) -> None:
    assert kept.hosts(7, 1, 2, 3) == 7
    assert kept.hosts(6, 1) == 7
    assert "127.0.0.3" in kept.hostfile.read_text()
    kept.kill()
    (kept.folder / "hosts.json").unlink()  # the file's own mark is enough to know
    kept.start()
    assert kept.hosts(6, 1) == 7
    assert "127.0.0.3" in kept.hostfile.read_text()


def test_same_list_is_not_written_again(kept: Kept) -> None:
    before = kept.hostfile.stat()
    kept.hosts(1, 1, 2)
    kept.hosts(2, 1, 2)
    kept.kill()
    kept.start()
    time.sleep(0.2)
    after = kept.hostfile.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert kept.status()["generation"] == 2


def test_bad_list_changes_nothing(kept: Kept) -> None:
    before = kept.hostfile.read_text()
    for hosts in (
        [],
        [host(1), host(1)],
        [{**host(1), "host": "a b"}],
        [{**host(1), "slots": 0}],
        None,
    ):
        with pytest.raises(KeeperError) as caught:
            kept.ask("hosts", generation=9, hosts=hosts)
        assert caught.value.code == "bad_input"
    assert kept.hostfile.read_text() == before
    assert kept.status()["generation"] == 1


def test_what_somebody_else_changed_is_put_right(kept: Kept) -> None:
    text = kept.hostfile.read_text()
    kept.hostfile.unlink()
    wait_for(kept.hostfile.exists, what="the file's return")
    kept.hostfile.chmod(0o644)
    kept.hostfile.write_text("evil slots=9\n")
    wait_for(lambda: kept.hostfile.read_text() == text, what="the right content")


def test_half_written_list_is_not_read(kept: Kept) -> None:
    kept.kill()
    path = kept.folder / "hosts.json"
    path.write_bytes(path.read_bytes()[:-20])
    text = kept.hostfile.read_text()
    kept.start()
    assert kept.hostfile.read_text() == text
    assert kept.status()["generation"] == 1


@needs_mount
def test_read_only_folder(stopped: Kept) -> None:
    kept = stopped
    with tmpfs(kept.host_folder, "1m"):
        kept.start()
        kept.hosts(1, 1, 2)
        text = kept.hostfile.read_text()
        subprocess.run(["mount", "-o", "remount,ro", str(kept.host_folder)], check=True)
        assert kept.hosts(2, 1, 2, 3) == 1
        error = kept.status()["error"]
        assert error["code"] == "hostfile_not_written"
        assert "Read-only" in error["text"]
        assert kept.hostfile.read_text() == text
        subprocess.run(["mount", "-o", "remount,rw", str(kept.host_folder)], check=True)
        wait_for(lambda: kept.status()["generation"] == 2, what="the list, once it can be written")
        assert kept.status()["error"] is None
        assert "127.0.0.3" in kept.hostfile.read_text()


@needs_mount
def test_full_disk(stopped: Kept) -> None:
    kept = stopped
    with tmpfs(kept.host_folder, "64k"):
        kept.start()
        kept.hosts(1, 1, 2)
        text = kept.hostfile.read_text()
        filler = kept.host_folder / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(b"x" * 2**20)
        assert kept.hosts(2, *range(1, 200)) == 1
        assert "No space" in kept.status()["error"]["text"]
        assert kept.hostfile.read_text() == text
        assert discovered(kept).stdout == "127.0.0.1:1\n127.0.0.2:1\n"
        assert sorted(path.name for path in kept.host_folder.glob(".*")) == []
        filler.unlink()
        wait_for(lambda: kept.status()["generation"] == 2, what="the list, once there is room")


def test_reader_in_a_loop_sees_no_wrong_file(kept: Kept, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    words = [str(kept.hostfile), str(kept.host_folder / "discover_hosts.sh"), str(stop)]
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, *words], stdout=subprocess.PIPE, text=True
    )
    try:
        draw = random.Random(7)
        channel = kept.client()
        for generation in range(2, 502):
            count = draw.randint(1, 60)
            hosts = [host(number) for number in range(1, count + 1)]
            channel.request("hosts", generation=generation, hosts=hosts)
    finally:
        stop.touch()
        out, _ = reader.communicate(timeout=30)
    assert reader.returncode == 0
    reads, contents = (int(word) for word in out.split())
    assert reads > 2000
    assert contents > 20, "the file hardly changed: the test saw nothing"


def test_killed_between_the_files(kept: Kept) -> None:
    """A keeper that died after its own record and before the host file writes it when it comes back."""
    kept.kill()
    value = {"generation": 5, "hosts": [host(1), host(2), host(3)]}
    (kept.folder / "hosts.json").write_text(json.dumps(value))
    (kept.host_folder / ".hostfile.99-0.new").write_text("torn")
    kept.start()
    assert kept.status()["generation"] == 5
    assert "127.0.0.3" in kept.hostfile.read_text()
    assert list(kept.host_folder.glob(".*")) == []


def test_launcher_has_the_address_that_its_pod_has_now(stopped: Kept) -> None:
    def pod(uid: str, address: str) -> dict[str, object]:
        return {"uid": uid, "name": uid, "host": address, "slots": 2, "devices": []}

    old = [pod("l", "10.0.0.1"), pod("a", "10.0.0.2"), pod("b", "10.0.0.3")]
    stopped.environment["POD_UID"] = "l"
    stopped.environment["POD_IP"] = "10.0.0.1"
    stopped.start().ask("hosts", generation=5, hosts=old)
    stopped.kill()
    stopped.environment["POD_IP"] = "10.0.0.3"  # given on from a worker that is gone
    stopped.start()
    expected = "10.0.0.3 slots=2\n10.0.0.2 slots=2\n"
    assert stopped.hostfile.read_text() == expected
    assert stopped.status()["generation"] == 5
    stopped.ask("hosts", generation=5, hosts=old)
    assert stopped.hostfile.read_text() == expected, "handed over again by who has not seen it"
    stopped.ask("hosts", generation=6, hosts=[pod("other", "10.0.0.1"), *old[1:2]])
    assert stopped.hostfile.read_text().startswith("10.0.0.1 "), "another launcher is not us"
