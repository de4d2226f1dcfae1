"""The keeper's small parts: files, ring, frames, identity, folders, environment, program."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.keeper import (
    build,
    claims,
    environment,
    files,
    frames,
    identity,
    paths,
    places,
    processes,
    ring,
)
from jupyter_elastic.keeper.stream import MEMORY, Stream


class TestFiles:
    def test_failed_write_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.json"
        files.write_json(path, {"a": 1})

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            files.write_json(path, {"a": 2})
        monkeypatch.undo()
        assert files.read_json(path) == {"a": 1}
        assert os.listdir(tmp_path) == ["a.json"]

    @pytest.mark.parametrize("mode", [0o600, 0o444, 0o555])
    def test_mode_whatever_the_umask(self, tmp_path: Path, mode: int) -> None:
        before = os.umask(0o077)
        try:
            files.write_atomic(tmp_path / "a", b"x", mode)
        finally:
            os.umask(before)
        assert (tmp_path / "a").stat().st_mode & 0o777 == mode

    @pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"null", b"\xff", b'{"a": 1'])
    def test_half_a_file_is_no_truth(self, tmp_path: Path, text: bytes) -> None:
        (tmp_path / "a").write_bytes(text)
        assert files.read_json(tmp_path / "a") is None
        assert files.read_json(tmp_path / "none") is None

    def test_many_writers_never_tear(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        files.write_json(path, {"text": "x"})

        def write(letter: str) -> None:
            for _ in range(50):
                files.write_json(path, {"text": letter * 5000}, sync=False)

        threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
        for one in threads:
            one.start()
        while any(one.is_alive() for one in threads):
            value = files.read_json(path)
            assert value is not None
            assert len(set(value["text"])) == 1
        assert os.listdir(tmp_path) == ["a.json"]

    def test_lock(self, tmp_path: Path) -> None:
        path = tmp_path / "lock"
        with files.locked(path):
            assert files.try_lock(path) is None
            with pytest.raises(TimeoutError), files.locked(path, timeout=0.05):
                pass
        with files.locked(path, timeout=0):
            pass

    def test_remove_tree_follows_no_link(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "precious").touch()
        tree = tmp_path / "tree"
        (tree / "a").mkdir(parents=True)
        (tree / "a" / "link").symlink_to(outside)
        files.remove_tree(str(tree))
        assert not tree.exists()
        assert (outside / "precious").exists()


class TestRing:
    @given(st.lists(st.binary(max_size=50), max_size=30), st.integers(1, 64), st.data())
    def test_keeps_the_newest(self, parts: list[bytes], limit: int, data: Any) -> None:
        path = (
            f"/dev/shm/ring-{os.getpid()}"
            if os.path.isdir("/dev/shm")
            else f"/tmp/ring-{os.getpid()}"
        )
        whole = b"".join(parts)
        try:
            one = ring.Ring(path, limit)
            for part in parts:
                one.append(part)
            one.close()
            assert ring.read(path) == whole[-limit:] if whole else ring.read(path) == b""
            start = data.draw(st.integers(0, len(whole)))
            end = data.draw(st.integers(start, len(whole)))
            assert ring.read(path, start, end) == whole[max(start, len(whole) - limit) : end]
            assert (
                ring.read(path, start, end, 5)
                == whole[max(start, len(whole) - limit, end - 5) : end]
            )
            assert os.path.getsize(path) <= limit + 24
        finally:
            os.unlink(path)

    def test_no_file_or_another_one(self, tmp_path: Path) -> None:
        assert ring.read(str(tmp_path / "none")) == b""
        (tmp_path / "other").write_bytes(b"something else entirely, long enough")
        assert ring.read(str(tmp_path / "other")) == b""

    def test_disk_that_takes_nothing(self, tmp_path: Path) -> None:
        one = ring.Ring(str(tmp_path / "missing" / "a"))
        one.append(b"x" * 100)
        assert (one.total, one.failed) == (100, True)


class TestStream:
    def test_reader_that_fell_behind_skips(self, tmp_path: Path) -> None:
        stream = Stream(str(tmp_path / "a"))
        for number in range(200):
            stream.append(bytes([number]) * 10_000)
        data, position = stream.read(0, 100)
        assert len(data) == 100
        assert position == stream.start + 100
        assert stream.total - stream.start <= 2 * MEMORY + 10_000
        assert stream.read(stream.total, 100) == (b"", stream.total)
        stream.close()

    def test_replay_begins_with_a_line(self, tmp_path: Path) -> None:
        stream = Stream(str(tmp_path / "a"))
        for number in range(100_000):
            stream.append(b"line %d\r\n" % number)
        assert stream.replay().startswith(b"line ")
        assert stream.replay().endswith(b"line 99999\r\n")
        stream.close()

    @pytest.mark.parametrize(
        "text",
        [b"\x1b[6n", b"\x1b[c", b"\x1b[>0c", b"\x1b[?6n", b"\x1b]11;?\x07", b"\x1bP$qm\x1b\\"],
    )
    def test_questions_are_left_out(self, tmp_path: Path, text: bytes) -> None:
        stream = Stream(str(tmp_path / "a"))
        stream.append(b"\x1b[1ma" + text + b"b\x1b[0m\x1b[2J")
        assert stream.replay() == b"\x1b[1mab\x1b[0m\x1b[2J"
        stream.close()


class TestFrames:
    @given(
        st.lists(st.tuples(st.sampled_from([b"d", b"r", b"x"]), st.binary(max_size=200))),
        st.integers(1, 50),
    )
    def test_any_split(self, sent: list[tuple[bytes, bytes]], step: int) -> None:
        raw = b"".join(frames.encode(kind, payload) for kind, payload in sent)
        decoder = frames.Decoder()
        got = []
        for at in range(0, len(raw), step):
            got += list(decoder.feed(raw[at : at + step]))
        assert got == sent

    def test_too_long(self) -> None:
        with pytest.raises(ValueError, match="limit"):
            list(frames.Decoder().feed(b"d\xff\xff\xff\xff"))

    @pytest.mark.parametrize(
        ("payload", "found"),
        [
            (b"30 100", (30, 100)),
            (b"", (24, 80)),
            (b"x y", (24, 80)),
            (b"0 -5", (1, 1)),
            (b"99999 99999", (2000, 4000)),
            (b"1 2 3", (24, 80)),
        ],
    )
    def test_size(self, payload: bytes, found: tuple[int, int]) -> None:
        assert frames.size(payload) == found


class TestIdentity:
    def test_self_and_others(self) -> None:
        own = identity.me()
        assert identity.alive(own["pid"], own["start"])
        assert not identity.alive(own["pid"], own["start"] + 1)
        for pair in ((None, 1), ("1", 1), (True, 1), (1, None), (-1, 1), (2**22 + 5, 1)):
            assert not identity.alive(*pair)

    def test_ended_and_not_collected_is_gone(self) -> None:
        process = subprocess.Popen(["true"])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert identity.start_time(process.pid) is None
        process.wait()

    def test_name_with_brackets(self, tmp_path: Path) -> None:
        name = tmp_path / "a) S 1 (b"
        name.symlink_to("/bin/sleep")
        with subprocess.Popen([str(name), "20"]) as process:
            found = identity.stat(process.pid)
            assert found is not None
            assert found.parent == os.getpid()
            process.kill()

    def test_boot(self) -> None:
        assert identity.boot_id() == identity.boot_id()
        assert str(identity.start_time(1)) in identity.boot_id()


def test_descendants_and_session() -> None:
    words = ["sh", "-c", "sleep 30 & sleep 31 & wait"]
    with subprocess.Popen(words, start_new_session=True) as process:
        try:
            for _ in range(100):
                among = processes.table()
                if len(processes.session(process.pid, among)) == 3:
                    break
            assert processes.descendants([process.pid], among) == processes.session(
                process.pid, among
            )
            assert len(processes.session(process.pid, among)) == 3
        finally:
            processes.send(processes.known(processes.session(process.pid, among), among), 9)


class TestFolders:
    def test_made_private(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            folder = paths.ensure_private(str(tmp_path / "a" / "b"))
        finally:
            os.umask(before)
        assert os.stat(folder).st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("mode", [0o755, 0o701, 0o710, 0o777])
    def test_open_one_is_refused(self, tmp_path: Path, mode: int) -> None:
        folder = tmp_path / "a"
        folder.mkdir()
        folder.chmod(mode)
        with pytest.raises(paths.UnsafeFolder, match="open to other users"):
            paths.ensure_private(str(folder))

    def test_link_or_file_is_refused(self, tmp_path: Path) -> None:
        real = tmp_path / "real"
        real.mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(real)
        (tmp_path / "file").touch()
        for name in ("link", "file"):
            with pytest.raises(paths.UnsafeFolder):
                paths.ensure_private(str(tmp_path / name))

    @pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away needs root")
    def test_somebody_elses_is_refused(self, tmp_path: Path) -> None:
        folder = tmp_path / "a"
        folder.mkdir(mode=0o700)
        os.chown(folder, 12345, 12345)
        with pytest.raises(paths.UnsafeFolder, match="belongs to user 12345"):
            paths.ensure_private(str(folder))

    def test_where_they_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JUPYTER_ELASTIC_RUNTIME_DIR", "/r")
        monkeypatch.setenv("JUPYTER_ELASTIC_STATE_DIR", "/s")
        assert (paths.runtime_dir(), paths.state_dir()) == ("/r", "/s")
        monkeypatch.delenv("JUPYTER_ELASTIC_RUNTIME_DIR")
        monkeypatch.delenv("JUPYTER_ELASTIC_STATE_DIR")
        assert paths.runtime_dir() == f"/tmp/jupyter-elastic-{os.getuid()}"
        assert paths.state_dir().endswith(f".local/share/jupyter-elastic/{paths.machine()}")


class TestEnvironment:
    def test_allow_list(self) -> None:
        source = {
            "HOME": "/h",
            "LC_ALL": "C",
            "JUPYTERHUB_API_TOKEN": "x",
            "JUPYTER_TOKEN": "x",
            "JPY_API_TOKEN": "x",
            "JUPYTER_ELASTIC_RUNTIME_DIR": "/r",
            "AWS_SECRET_ACCESS_KEY": "x",
            "BASH_ENV": "/x",
            "ENV": "/x",
        }
        found = environment.allowed(["HOME", "LC_*"], source)
        assert found == {"HOME": "/h", "LC_ALL": "C", "JUPYTER_ELASTIC_RUNTIME_DIR": "/r"}
        everything = environment.allowed(["*"], source)
        assert set(everything) == {
            "HOME",
            "LC_ALL",
            "JUPYTER_ELASTIC_RUNTIME_DIR",
            "AWS_SECRET_ACCESS_KEY",
        }

    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            {"a b": "x"},
            {"A": 1},
            {"A": "a\0b"},
            {"A": "x" * 200_000},
            {"JUPYTERHUB_X": "x"},
            {"ZDOTDIR": "x"},
            {1: "x"},
        ],
    )
    def test_bad_values(self, value: Any) -> None:
        with pytest.raises(environment.BadEnvironment):
            environment.check_passed(value)


class TestProgram:
    def test_same_sources_same_bytes_and_nothing_foreign(self, tmp_path: Path) -> None:
        assert build.packed() == build.packed()
        names = zipfile.ZipFile(io.BytesIO(build.packed())).namelist()
        assert "keeper/kube/__init__.py" in names, "packages in it as well"
        assert "__main__.py" in names
        assert all(name == "__main__.py" or name.startswith("keeper/") for name in names)
        target = tmp_path / "keeper.pyz"
        build.build(str(target))
        before = target.stat()
        build.build(str(target))
        assert target.stat().st_ino == before.st_ino

    def test_standard_library_only_and_light(self, tmp_path: Path) -> None:
        target = tmp_path / "keeper.pyz"
        build.build(str(target))
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
            "import keeper.serve, keeper.shellhost, keeper.starter, keeper.ssh, keeper.attach\n"
            "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, str(target)],
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = set(done.stdout.split())
        assert loaded - {"keeper"} <= set(sys.stdlib_module_names) | {"_typeshed"}
        assert not loaded & {
            "asyncio",
            "dataclasses",
            "inspect",
            "subprocess",
            "logging",
            "argparse",
            "multiprocessing",
        }

    @pytest.mark.parametrize("words", [[], ["nothing"], ["serve"], ["start", "x"], ["shell", "x"]])
    def test_usage(self, tmp_path: Path, words: list[str]) -> None:
        target = tmp_path / "keeper.pyz"
        build.build(str(target))
        done = subprocess.run(
            [sys.executable, "-I", str(target), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith("usage:")


class TestOwnAddress:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_of_this_machine(self, host: str) -> None:
        assert places.is_own_address(host)

    @pytest.mark.parametrize("host", ["192.0.2.1", "no-such-name.invalid", "a" * 70])
    def test_of_another(self, host: str) -> None:
        assert not places.is_own_address(host)


class TestClaims:
    def test_folder_that_is_gone(self, tmp_path: Path) -> None:
        assert claims.give_back(str(tmp_path / "none"), "c", lambda: pytest.fail("nothing to do"))

    @pytest.mark.parametrize("text", ["", "[]", '{"cluster": "c"'])
    def test_claim_that_cannot_be_read_is_no_reason_to_remove_the_folder(
        self, tmp_path: Path, text: str
    ) -> None:
        (tmp_path / claims.CLAIM).write_text(text)
        assert claims.give_back(str(tmp_path), tmp_path.name, lambda: None)
        assert (tmp_path / claims.CLAIM).read_text() == text
