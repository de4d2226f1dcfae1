"""The shared host folder: one cluster has it, and nobody else's files are touched."""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path

import pytest

from jupyter_elastic.engines.local.folders import (
    CLAIM,
    Claim,
    claim_shared,
    give_back_shared,
    make_own,
    read_claim,
    remove_own,
)
from jupyter_elastic.errors import BadInput


def claim(tmp_path: Path, cluster: str, **fields: object) -> Claim:
    state = tmp_path / "clusters" / f"{cluster}.json"
    state.parent.mkdir(exist_ok=True)
    made = Claim(cluster, os.geteuid(), "boot-1", str(state), at=1000.0)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def living(made: Claim) -> Claim:
    Path(made.state_file).write_text("{}")
    return made


def test_first_takes_it_second_does_not(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    assert claim_shared(shared, living(claim(tmp_path, "a")))
    assert not claim_shared(shared, living(claim(tmp_path, "b")))
    assert claim_shared(shared, claim(tmp_path, "a")), "the same cluster again"
    found = read_claim(shared)
    assert found is not None
    assert (found.cluster, found.made_folder) == ("a", True)


def test_giving_back_leaves_nothing_behind(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    claim_shared(shared, living(claim(tmp_path, "a")))
    (shared / "hostfile").write_text("127.0.0.1 slots=1\n")
    give_back_shared(shared, "b")
    assert (shared / "hostfile").exists()
    give_back_shared(shared, "a")
    assert not shared.exists()
    give_back_shared(shared, "a")


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    shared.mkdir()
    (shared / "mine.txt").touch()
    claim_shared(shared, living(claim(tmp_path, "a")))
    give_back_shared(shared, "a")
    assert [item.name for item in shared.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["hostfile", "discover_hosts.sh"])
def test_foreign_host_file_is_never_touched(tmp_path: Path, name: str) -> None:
    shared = tmp_path / "mpi"
    shared.mkdir()
    (shared / name).write_text("other slots=8\n")
    assert not claim_shared(shared, claim(tmp_path, "a"))
    assert (shared / name).read_text() == "other slots=8\n"
    assert not (shared / CLAIM).exists()


def test_claim_of_a_gone_cluster_is_taken_over(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    first = living(claim(tmp_path, "a"))
    claim_shared(shared, first)
    (shared / "hostfile").write_text("127.0.0.9 slots=1\n")
    os.unlink(first.state_file)
    assert claim_shared(shared, claim(tmp_path, "b"))
    assert not (shared / "hostfile").exists()
    found = read_claim(shared)
    assert found is not None
    assert (found.cluster, found.made_folder) == ("b", True)


def test_claim_of_an_earlier_boot_is_taken_over(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    claim_shared(shared, living(claim(tmp_path, "a", uid=os.geteuid() + 1)))
    assert not claim_shared(shared, claim(tmp_path, "b"))
    assert claim_shared(shared, claim(tmp_path, "b", boot="boot-2"))


def test_another_users_claim_is_not_judged_by_files_we_cannot_see(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    claim_shared(shared, claim(tmp_path, "a", uid=os.geteuid() + 1))
    assert not claim_shared(shared, claim(tmp_path, "b"))


def test_claim_of_another_store_gets_time_to_settle(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    other = claim(tmp_path, "a", state_file=str(tmp_path / "elsewhere" / "a.json"))
    claim_shared(shared, other)
    assert not claim_shared(shared, claim(tmp_path, "b", at=1010.0))
    assert claim_shared(shared, claim(tmp_path, "b", at=1031.0))


def test_broken_claim_is_not_ours(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    shared.mkdir()
    (shared / CLAIM).write_text("{")
    assert not claim_shared(shared, claim(tmp_path, "a"))


def test_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mpi").touch()
    assert not claim_shared(tmp_path / "mpi", claim(tmp_path, "a"))
    assert not claim_shared(tmp_path / "no" / "parent", claim(tmp_path, "a"))


def test_many_at_once_one_wins(tmp_path: Path) -> None:
    shared = tmp_path / "mpi"
    claims = [living(claim(tmp_path, f"c{number}")) for number in range(8)]
    won: list[str] = []

    def run(mine: Claim) -> None:
        if claim_shared(shared, mine):
            won.append(mine.cluster)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    found = read_claim(shared)
    assert found is not None
    assert found.cluster == won[0]


def test_own_folder(tmp_path: Path) -> None:
    folder = make_own(tmp_path / "base", "a")
    (folder / "hostfile").touch()
    assert [item.name for item in folder.iterdir()] == ["hostfile"]
    remove_own(folder)
    assert not folder.exists()


def test_base_that_cannot_be_written_names_folder_and_setting(tmp_path: Path) -> None:
    (tmp_path / "base").touch()
    with pytest.raises(BadInput) as caught:
        make_own(tmp_path / "base", "a")
    assert str(tmp_path / "base") in caught.value.message
    assert "base_folder" in caught.value.hint
