"""The keeper gives the cluster back by its own rules, also with no server alive."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from jupyter_elastic.keeper.client import KeeperError

from .harness import Kept, wait_for


def prepared(kept: Kept) -> Kept:
    (kept.base / "state.json").write_text("{}")
    return kept


def gone(kept: Kept) -> bool:
    return (
        not (kept.base / "state.json").exists()
        and not kept.folder.exists()
        and not kept.hostfile.exists()
    )


def test_offer_after_a_run(kept: Kept) -> None:
    assert kept.status()["offers"] == []
    run = kept.start_run("x")
    kept.wait_state(run["id"], "ended")
    offer = kept.status()["offers"][0]
    assert (offer["kind"], offer["run"], offer["due"]) == ("release", run["id"], None)
    kept.ask("offer.answer", run=run["id"], choice="keep")
    assert kept.status()["offers"] == []
    kept.kill()
    kept.start()
    assert kept.status()["offers"] == [], "the answer is remembered"
    other = kept.start_run("x")
    kept.wait_state(other["id"], "ended")
    assert kept.status()["offers"][0]["run"] == other["id"]


def test_no_offer_while_another_run_lives(kept: Kept) -> None:
    run = kept.start_run("x")
    kept.wait_state(run["id"], "ended")
    kept.start_run("sleep")
    assert kept.status()["offers"] == []


def test_policy_keep(kept: Kept) -> None:
    kept.ask("rules", on_run_end="keep")
    run = kept.start_run("x")
    kept.wait_state(run["id"], "ended")
    assert kept.status()["offers"] == []


def test_answer_release(kept: Kept) -> None:
    prepared(kept)
    run = kept.start_run("x")
    kept.wait_state(run["id"], "ended")
    kept.ask("offer.answer", run=run["id"], choice="release")
    wait_for(lambda: gone(kept))
    wait_for(lambda: not kept.processes())


def test_countdown(kept: Kept) -> None:
    prepared(kept)
    time.sleep(0.1)
    kept.ask("rules", on_run_end="release", after_seconds=1)
    run = kept.start_run("x")
    over = kept.wait_state(run["id"], "ended")
    due = kept.status()["offers"][0]["due"]
    assert due >= over["ended"] + 1
    wait_for(lambda: gone(kept), 20)
    assert time.time() >= due
    wait_for(lambda: not kept.processes())


def test_idle(kept: Kept) -> None:
    prepared(kept)
    terminal = kept.terminal(kept.open())
    kept.ask("rules", on_run_end="keep", idle_seconds=1.5)
    time.sleep(4)
    assert not gone(kept), "a terminal is attached"
    terminal.close()
    wait_for(lambda: gone(kept), 15)
    wait_for(lambda: not kept.processes())


def test_deadline_ends_a_live_run(kept: Kept) -> None:
    prepared(kept)
    kept.start_run("rank")
    kept.ask("rules", on_run_end="ask", deadline=time.time() + 1)
    kept.kill()
    kept.start()  # the rule is kept on disk
    wait_for(lambda: gone(kept), 20)
    wait_for(lambda: not kept.processes())


def test_state_is_removed_under_the_lock(kept: Kept) -> None:
    prepared(kept)
    held = os.open(kept.base / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    kept.ask("rules", on_run_end="ask", deadline=time.time())
    wait_for(lambda: not kept.hostfile.exists(), 15)
    time.sleep(1)
    assert (kept.base / "state.json").exists()
    os.close(held)
    wait_for(lambda: gone(kept), 15)


def test_asked_end_leaves_the_state_to_the_asker(kept: Kept) -> None:
    prepared(kept)
    kept.ask("end", grace_seconds=1)
    assert (kept.base / "state.json").exists()
    assert kept.folder.exists()
    assert not kept.hostfile.exists()


def test_host_files_of_another_cluster_are_left_alone(kept: Kept) -> None:
    meta = kept.host_folder / "hostfile.meta"
    kept.kill()
    meta.chmod(0o644)
    meta.write_text('{"cluster": "another", "generation": 4, "sha256": ""}')
    (kept.folder / "hosts.json").unlink()
    kept.start()
    kept.ask("end", grace_seconds=1)
    assert kept.hostfile.exists()


def claim(kept: Kept, cluster: str, made: bool) -> Path:
    """Write what the local engine writes into a folder that clusters share."""
    path = kept.host_folder / ".jupyter-elastic.json"
    fields = {"cluster": cluster, "uid": os.geteuid(), "boot": "b", "state_file": "/s", "at": 1.0}
    path.write_text(json.dumps({**fields, "made_folder": made}))
    return path


def release(kept: Kept) -> None:
    prepared(kept)
    kept.ask("rules", on_run_end="keep", deadline=1.0)
    wait_for(lambda: not kept.folder.exists(), 15, "the release")


@pytest.mark.parametrize("made", [True, False])
def test_claim_goes_with_the_cluster(kept: Kept, made: bool) -> None:
    path = claim(kept, "c1", made)
    release(kept)
    assert not path.exists()
    assert kept.host_folder.exists() is not made
    assert made or list(kept.host_folder.iterdir()) == []


def test_shared_folder_that_somebody_else_uses_stays(kept: Kept) -> None:
    path = claim(kept, "c1", True)
    (kept.host_folder / "notes").touch()
    release(kept)
    assert not path.exists()
    assert [one.name for one in kept.host_folder.iterdir()] == ["notes"]


def test_claim_of_another_cluster_is_left_alone(kept: Kept) -> None:
    path = claim(kept, "c2", True)
    release(kept)
    assert json.loads(path.read_text())["cluster"] == "c2"
    assert kept.hostfile.exists(), "who has the folder has what is in it"


def test_claim_is_removed_under_the_lock_of_its_folder(kept: Kept) -> None:
    path = claim(kept, "c1", False)
    prepared(kept)
    held = os.open(kept.host_folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    kept.ask("rules", on_run_end="keep", deadline=1.0)
    wait_for(lambda: (kept.folder / "ending.json").exists())
    time.sleep(1)
    assert path.exists()
    assert (kept.base / "state.json").exists()
    os.close(held)
    wait_for(lambda: gone(kept), 15)
    assert not path.exists()


def test_own_folder_goes_with_the_cluster() -> None:
    kept = Kept()
    try:
        own = kept.base / "hosts" / "c1"
        kept.configure(host_folder=str(own), state_file="", lock_file="")
        kept.start().hosts(1, 1)
        assert (own / "hostfile").exists()
        kept.ask("rules", on_run_end="keep", deadline=1.0)
        wait_for(lambda: not kept.folder.exists(), 15, "the release")
        assert not own.exists()
        assert own.parent.exists()
    finally:
        kept.close()


def test_killed_in_the_middle_it_writes_no_host_file_again(kept: Kept) -> None:
    """The folder may be another cluster's by then."""
    held = os.open(kept.base / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    path = claim(kept, "c1", False)
    prepared(kept)
    kept.ask("rules", on_run_end="keep", deadline=1.0)
    wait_for(lambda: not path.exists(), 15)
    kept.kill()
    claim(kept, "c2", False)
    kept.hostfile.write_text("10.0.0.1 slots=1\n")
    kept.start()
    os.close(held)
    wait_for(lambda: not kept.folder.exists(), 15, "the release")
    assert kept.hostfile.read_text() == "10.0.0.1 slots=1\n"
    assert path.exists()


@pytest.mark.parametrize(
    "rules",
    [
        {"on_run_end": "maybe"},
        {"after_seconds": -1},
        {"after_seconds": None},
        {"idle_seconds": "3"},
        {"deadline": True},
    ],
)
def test_bad_rules(kept: Kept, rules: dict[str, object]) -> None:
    with pytest.raises(KeeperError) as caught:
        kept.ask("rules", **rules)
    assert caught.value.code == "bad_input"
