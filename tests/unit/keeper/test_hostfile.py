"""The renderer and the discovery script against the frameworks' own grammars."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_elastic.hostfile import grammar
from jupyter_elastic.keeper.hostfile import (
    META,
    SCRIPT,
    BadHosts,
    Host,
    Writer,
    check_host,
    parse_hosts,
    render,
    render_script,
)

LABEL = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?", fullmatch=True)
NAMES = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
HOSTS = st.lists(
    st.tuples(NAMES, st.integers(1, 1024)),
    min_size=1,
    max_size=40,
    unique_by=lambda pair: pair[0].lower(),
)
FEW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def listed(pairs: list[tuple[str, int]]) -> tuple[Host, ...]:
    return parse_hosts(
        [{"uid": "", "name": "", "host": name, "slots": slots} for name, slots in pairs]
    )


def run_script(folder: Path, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, str(folder / SCRIPT)], capture_output=True, text=True, check=False
    )


@given(HOSTS)
def test_every_framework_reads_the_same_list(pairs: list[tuple[str, int]]) -> None:
    text = render(listed(pairs))
    expected = tuple(pairs)
    assert grammar.horovod_static(text) == expected
    assert grammar.deepspeed(text) == expected
    assert grammar.open_mpi(text) == expected
    assert text.endswith("\n")
    assert "\n\n" not in text
    assert all(
        line.split(" ") == [name, f"slots={slots}"]
        for line, (name, slots) in zip(text.splitlines(), pairs, strict=True)
    )


@FEW
@given(HOSTS)
def test_script_prints_the_same_list(tmp_path: Path, pairs: list[tuple[str, int]]) -> None:
    Writer(str(tmp_path), "c").write(_next(), listed(pairs))
    done = run_script(tmp_path)
    assert done.returncode == 0, done.stderr
    assert grammar.horovod_discovery(done.stdout) == tuple(pairs)


_generation = 0


def _next() -> int:
    global _generation
    _generation += 1
    return _generation


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "a slots=1",
        "a slots=1\n\n",
        "\na slots=1\n",
        "# c\na slots=1\n",
        "a slots=1 # c\n",
        "a\n",
        "a:1\n",
        "a slots=0\n",
        "a slots=01\n",
        "a slots=-1\n",
        "a slots=x\n",
        "a slots=\n",
        " slots=1\n",
        "a  slots=1\n",
        "a\tslots=1\n",
        "a slots=1\r\n",
        "a slots=1 \n",
        "a slots=1\na slots=1\n",
        "a slots=1\nb slo",
        "a_b slots=1\n",
        "$(id) slots=1\n",
        "a slots=1\n* slots=1\n",
        "é slots=1\n",
        "a slots=1 slots=2\n",
    ],
)
def test_script_refuses_what_is_not_whole(tmp_path: Path, text: str, shell: str) -> None:
    if subprocess.run(["which", shell], capture_output=True, check=False).returncode:
        pytest.skip(f"no {shell} here")
    (tmp_path / "hostfile").write_bytes(text.encode())
    (tmp_path / SCRIPT).write_text(render_script(str(tmp_path / "hostfile")))
    done = run_script(tmp_path, shell)
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_script_without_a_host_file(tmp_path: Path) -> None:
    (tmp_path / SCRIPT).write_text(render_script(str(tmp_path / "hostfile")))
    done = run_script(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "missing" in done.stderr
    (tmp_path / "hostfile").mkdir()
    assert run_script(tmp_path).returncode == 1


def test_script_in_a_folder_with_a_strange_name(tmp_path: Path) -> None:
    folder = tmp_path / "it's a $(folder) `x`"
    Writer(str(folder), "c").write(1, listed([("a", 2)]))
    assert run_script(folder).stdout == "a:2\n"


@given(st.text(max_size=300))
def test_no_text_becomes_a_host_unless_it_is_one(text: str) -> None:
    try:
        check_host(text)
    except BadHosts:
        return
    assert grammar.horovod_static(f"{text} slots=1\n") == ((text, 1),)
    assert len(text) <= 253
    assert all(0 < len(label) <= 63 for label in text.split("."))


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "hosts"),
        ([], "hosts"),
        ({}, "hosts"),
        (["a"], "hosts[0]"),
        ([{"host": "a"}], "hosts[0].slots"),
        ([{"host": "a", "slots": 0}], "hosts[0].slots"),
        ([{"host": "a", "slots": True}], "hosts[0].slots"),
        ([{"host": "a", "slots": 1.0}], "hosts[0].slots"),
        ([{"host": "a", "slots": "1"}], "hosts[0].slots"),
        ([{"host": "a", "slots": 1025}], "hosts[0].slots"),
        ([{"host": "a b", "slots": 1}], "hosts[0].host"),
        ([{"host": "a\n", "slots": 1}], "hosts[0].host"),
        ([{"host": "-a", "slots": 1}], "hosts[0].host"),
        ([{"host": "a.", "slots": 1}], "hosts[0].host"),
        ([{"host": "::1", "slots": 1}], "hosts[0].host"),
        ([{"host": "u@a", "slots": 1}], "hosts[0].host"),
        ([{"host": "a" * 64, "slots": 1}], "hosts[0].host"),
        ([{"host": "a.b." * 64, "slots": 1}], "hosts[0].host"),
        ([{"host": "a", "slots": 1}, {"host": "A", "slots": 1}], "hosts[1].host"),
        ([{"host": "a", "slots": 1, "devices": "0"}], "hosts[0].devices"),
        ([{"host": "a", "slots": 1, "devices": [-1]}], "hosts[0].devices"),
        ([{"host": "a", "slots": 1, "uid": 3}], "hosts[0]"),
        ([{"host": f"h{n}", "slots": 1} for n in range(4097)], "hosts"),
    ],
)
def test_bad_list_names_its_field(value: Any, field: str) -> None:
    with pytest.raises(BadHosts) as caught:
        parse_hosts(value)
    assert caught.value.field == field


def test_hosts_survive_a_round_trip() -> None:
    hosts = (Host("u", "n", "127.0.0.1", 2, (0, 1)), Host("", "", "b", 1))
    assert parse_hosts([one.to_json() for one in hosts]) == hosts


def test_older_generation_and_unchanged_content(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path), "c")
    assert writer.write(5, listed([("a", 1)]))
    before = (tmp_path / "hostfile").stat()
    assert not writer.write(6, listed([("a", 1)]))
    assert not writer.write(4, listed([("b", 1)]))
    after = (tmp_path / "hostfile").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    again = Writer(str(tmp_path), "c")
    assert again.written.generation == 6
    assert not again.write(5, listed([("b", 1)]))
    assert (tmp_path / "hostfile").read_text() == "a slots=1\n"


def test_mark_of_another_cluster_or_content_counts_for_nothing(tmp_path: Path) -> None:
    Writer(str(tmp_path), "c").write(9, listed([("a", 1)]))
    assert Writer(str(tmp_path), "d").written.generation == 0
    (tmp_path / "hostfile").chmod(0o644)
    (tmp_path / "hostfile").write_text("b slots=1\n")
    assert Writer(str(tmp_path), "c").written.generation == 0
    (tmp_path / META).unlink()
    assert Writer(str(tmp_path), "c").written.generation == 0


def test_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("a slots=1\n")
    folder = tmp_path / "mpi"
    folder.mkdir()
    (folder / "hostfile").symlink_to(precious)
    Writer(str(folder), "c").write(1, listed([("b", 1)]))
    assert precious.read_text() == "a slots=1\n"
    assert not (folder / "hostfile").is_symlink()


def test_touched(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path), "c")
    writer.write(1, listed([("a", 1)]))
    assert not writer.touched()
    (tmp_path / SCRIPT).chmod(0o644)
    assert writer.touched()


def test_256_hosts_are_quick(tmp_path: Path) -> None:
    import time

    hosts = listed([(f"10.0.{n // 250}.{n % 250}", 8) for n in range(256)])
    writer = Writer(str(tmp_path), "c")
    writer.write(1, hosts[:1])
    times = []
    for generation in range(2, 12):
        began = time.perf_counter()
        writer.write(generation, hosts[: 256 - generation % 2])
        times.append(time.perf_counter() - began)
    assert sorted(times)[5] < 0.1
    began = time.perf_counter()
    assert len(run_script(tmp_path).stdout.splitlines()) in (255, 256)
    assert time.perf_counter() - began < 0.5
