"""The store under random creations, scales, drains, removals, releases and crashes between two writes."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jupyter_elastic.engines.local import changes, creating
from jupyter_elastic.engines.local.allocation import Machine, address, reserved
from jupyter_elastic.engines.local.facts import facts_of
from jupyter_elastic.engines.local.records import Record, dumps, loads
from jupyter_elastic.engines.local.store import Records, Store
from jupyter_elastic.errors import ElasticError
from jupyter_elastic.hostfile.membership import next_members
from jupyter_elastic.keeper import files
from jupyter_elastic.models import ClusterSpec, Gpu, HostList

P4 = "NVIDIA P4"
HERE = Machine("boot-1", 6, gpus=tuple(Gpu(index, P4) for index in range(6)), cores=2)


class Crash(Exception):
    """The process ended here."""


def spec(name: str, size: int, gpus: int = 0) -> ClusterSpec:
    return ClusterSpec(name, "horovod", size, "local", gpus_per_container=gpus, owner="ann")


def new_store(folder: Path) -> Store:
    store = Store(folder / "clusters", folder / "lock")
    store.prepare()
    return store


def make(store: Store, made: ClusterSpec, here: Machine = HERE, operation: str = "") -> str:
    def change(records: Records) -> str:
        return creating.create(
            records,
            made,
            operation=operation,
            machine=here,
            shared=None,
            base=store.folder.parent / "hosts",
            state_file=store.path,
            now=1.0,
        )[1]

    return store.transact(change)


class Machines(RuleBasedStateMachine):
    """Two servers' worth of calls on one folder."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="je-"))
        self.store = new_store(self.folder)
        self.now = 1.0
        self.hosts: dict[tuple[str, str], str] = {}
        self.generations: dict[str, int] = {}
        self.writes_left: int | None = None
        self.real = files.write_atomic
        files.write_atomic = self.write

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            files.write_atomic = self.real
            shutil.rmtree(self.folder)

    def write(self, *args: Any, **fields: Any) -> None:
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise Crash
            self.writes_left -= 1
        self.real(*args, **fields)

    def attempt(self, change: Any, crash_after: int | None) -> None:
        def step(records: Records) -> None:
            change(records)
            creating.settle(records, HERE, self.now)

        self.now += 1.0
        self.writes_left = crash_after
        try:
            self.store.transact(step)
        except (ElasticError, Crash):
            pass
        finally:
            self.writes_left = None

    def any(self, data: st.DataObject) -> Record:
        records = self.store.load().records
        return records[data.draw(st.sampled_from(sorted(records)))]

    crash = st.one_of(st.none(), st.none(), st.integers(0, 2))

    @rule(name=st.sampled_from("abc"), size=st.integers(1, 7), gpus=st.integers(0, 2), crash=crash)
    def create(self, name: str, size: int, gpus: int, crash: int | None) -> None:
        def change(records: Records) -> None:
            creating.create(
                records,
                spec(name, size, gpus),
                operation="",
                machine=HERE,
                shared=None,
                base=self.folder / "hosts",
                state_file=self.store.path,
                now=self.now,
            )

        self.attempt(change, crash)

    @precondition(lambda self: self.store.load().records)
    @rule(data=st.data(), size=st.integers(0, 8), stale=st.booleans(), crash=crash)
    def scale(self, data: st.DataObject, size: int, stale: bool, crash: int | None) -> None:
        record = self.any(data)
        uids = [place.uid for place in record.places]
        victims = data.draw(st.lists(st.sampled_from(uids), max_size=2, unique=True))

        def change(records: Records) -> None:
            records[record.id] = changes.scaled(
                records[record.id],
                size,
                expected=record.target + stale,
                victims=tuple(victims),
                grace=5.0,
                by="ann",
                machine=HERE,
                now=self.now,
            )

        self.attempt(change, crash)

    @precondition(lambda self: self.store.load().records)
    @rule(data=st.data(), crash=crash)
    def agree(self, data: st.DataObject, crash: int | None) -> None:
        record = self.any(data)
        facts = facts_of(record, reserved(self.store.load().records.values(), HERE), HERE)
        members = next_members(facts, record.hosts, self.now)

        def change(records: Records) -> None:
            hosts = HostList(record.hosts.generation + 1, members)
            records[record.id] = changes.committed(records[record.id], hosts, HERE)

        self.attempt(change, crash)

    @precondition(lambda self: self.store.load().records)
    @rule(data=st.data(), keep=st.booleans(), crash=crash)
    def drain(self, data: st.DataObject, keep: bool, crash: int | None) -> None:
        record = self.any(data)
        leaving = [place.uid for place in record.places if place.draining]
        if not leaving:
            return
        uid = data.draw(st.sampled_from(leaving))

        def change(records: Records) -> None:
            present = records[record.id]
            if keep:
                records[record.id] = changes.extended(present, uid, None, HERE, self.now)
            else:
                records[record.id] = changes.removed(present, uid, "")

        self.attempt(change, crash)

    @precondition(lambda self: self.store.load().records)
    @rule(data=st.data(), gone=st.booleans(), crash=crash)
    def release(self, data: st.DataObject, gone: bool, crash: int | None) -> None:
        record = self.any(data)

        def change(records: Records) -> None:
            records[record.id] = changes.releasing(records[record.id])
            if gone:
                del records[record.id]

        self.attempt(change, crash)

    @invariant()
    def whole(self) -> None:
        if not hasattr(self, "store"):
            return
        loaded = self.store.load()
        assert loaded.broken == {}
        owners: dict[int, str] = {}
        for record in loaded.records.values():
            self.check(record)
            for place in record.places:
                for device in place.devices:
                    assert owners.setdefault(device, place.uid) == place.uid, "a GPU given twice"

    def check(self, record: Record) -> None:
        assert loads(dumps(record)) == record
        assert record.places[0].role == "launcher"
        assert not record.places[0].draining
        assert [place.number for place in record.places] == sorted(
            place.number for place in record.places
        )
        assert record.next_number > record.places[-1].number
        for place in record.places:
            assert place.role == ("launcher" if place.number == 1 else "worker")
            assert len(place.devices) == record.spec.gpus_per_container
            key = (record.id, address(place.number))
            assert self.hosts.setdefault(key, place.uid) == place.uid, "a host string used twice"
        assert len(record.members) <= record.target
        assert record.hosts.hosts[0].uid == record.places[0].uid
        before = self.generations.get(record.id, 1)
        assert record.hosts.generation >= before
        self.generations[record.id] = record.hosts.generation


Machines.TestCase.settings = hypothesis_settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestMachines = Machines.TestCase


def add_line(cluster: str, line: str, records: Records) -> None:
    records[cluster] = records[cluster].noted(line)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path)


def test_a_shortage_is_met_when_a_gpu_comes_free(store: Store) -> None:
    first = make(store, spec("a", 4, 1))
    second = make(store, spec("b", 4, 1))
    records = store.load().records
    assert len(records[second].members) == 2
    held = reserved(records.values(), HERE)
    rows = facts_of(records[second], held, HERE).containers
    assert [row.state for row in rows] == ["ready", "ready", "not created", "not created"]
    reason = rows[2].reason
    assert reason is not None
    assert reason.text == "Needs 1 free GPU; 0 of 6 are free, reserved: 4 by a, 2 by b."

    def release(records: Records) -> None:
        del records[first]
        creating.settle(records, HERE, 2.0)

    store.transact(release)
    filled = store.load().records[second]
    assert len(filled.members) == 4
    # The row becomes a container under the name and uid it was shown with.
    assert [place.uid for place in filled.places] == [row.uid for row in rows]
    assert [place.name for place in filled.places] == [row.name for row in rows]


def test_a_row_that_was_never_created_is_what_leaves_first(store: Store) -> None:
    make(store, spec("a", 4, 1))
    second = make(store, spec("b", 4, 1))
    record = store.load().records[second]
    shrunk = changes.scaled(
        record, 3, expected=4, victims=(f"{second}.4",), grace=1, by="x", machine=HERE, now=2.0
    )
    assert shrunk.places == record.places


def test_not_even_the_launcher(store: Store) -> None:
    make(store, spec("a", 6, 1))
    with pytest.raises(ElasticError) as caught:
        make(store, spec("b", 1, 1))
    assert (caught.value.status, caught.value.code) == (422, "no_free_gpu")
    assert len(store.load().records) == 1


@pytest.mark.parametrize(
    ("made", "code"),
    [(spec("a", 7), "limit"), (spec("a", 4, 2), "limit"), (spec("a", 1, 7), "limit")],
)
def test_over_the_limit(store: Store, made: ClusterSpec, code: str) -> None:
    with pytest.raises(ElasticError) as caught:
        make(store, made)
    assert caught.value.code == code
    assert store.load().records == {}


def test_gpus_that_cannot_be_read(store: Store) -> None:
    blind = Machine("boot-1", 4, gpu_problem="driver mismatch")
    with pytest.raises(ElasticError) as caught:
        make(store, spec("a", 1, 1), blind)
    assert caught.value.code == "gpu_unavailable"


def test_after_a_restart_of_the_machine(store: Store) -> None:
    made = make(store, spec("a", 2, 1))
    later = dataclasses.replace(HERE, boot="boot-2")
    records = store.load().records
    assert reserved(records.values(), later) == {}
    facts = facts_of(records[made], {}, later)
    assert facts.ended is not None
    assert {item.state for item in facts.containers} == {"failed"}
    with pytest.raises(ElasticError) as caught:
        changes.check_alive(records[made], later)
    assert caught.value.code == "ended"


def test_one_line_addressing(store: Store) -> None:
    mac = dataclasses.replace(HERE, addressing="slots")
    made = make(store, spec("a", 3), mac)
    record = store.load().records[made]
    assert [(e.host, e.slots) for e in record.hosts.hosts] == [("localhost", 3)]

    def scale(victims: tuple[str, ...]) -> Record:
        return changes.scaled(
            record, 2, expected=3, victims=victims, grace=1, by="x", machine=mac, now=2.0
        )

    with pytest.raises(ElasticError) as caught:
        scale((record.places[1].uid,))
    assert caught.value.code == "newest_only"
    shrunk = scale((record.places[2].uid,))
    with pytest.raises(ElasticError) as early:
        changes.removed(shrunk, record.places[2].uid, "")
    assert early.value.code == "still_listed"
    facts = facts_of(shrunk, {}, mac)
    members = next_members(facts, shrunk.hosts, 3.0)
    assert [(e.host, e.slots) for e in members] == [("localhost", 2)]
    agreed = changes.committed(shrunk, HostList(2, members), mac)
    assert len(changes.removed(agreed, record.places[2].uid, "").places) == 2


def test_a_broken_file_hides_no_other(store: Store) -> None:
    made = make(store, spec("a", 2))
    (store.folder / "b.json").write_text("{")
    (store.folder / "c.json").write_text(json.dumps({"id": "c"}))
    (store.folder / "d.json").write_bytes(store.path(made).read_bytes())
    loaded = store.load()
    assert list(loaded.records) == [made]
    assert sorted(loaded.broken) == ["b.json", "c.json", "d.json"]


def test_a_later_version_is_not_guessed(store: Store) -> None:
    made = make(store, spec("a", 2))
    value = json.loads(store.path(made).read_bytes())
    store.path(made).write_text(json.dumps({**value, "version": 99}))
    assert "later version" in store.load().broken[f"{made}.json"]


def test_signature_differs_after_each_write(store: Store) -> None:
    made = make(store, spec("a", 2))
    seen = {store.signature()}
    for number in range(20):
        store.transact(lambda records: records.update({made: records[made].noted("x")}))
        seen.add(store.signature())
        assert len(seen) == number + 2


def test_writers_do_not_lose_each_others_changes(store: Store) -> None:
    made = make(store, spec("a", 2))

    def write(who: str) -> None:
        other = Store(store.folder, store.lock_file)
        for number in range(20):
            line = f"{who}{number}"
            other.transact(functools.partial(add_line, made, line))

    threads = [threading.Thread(target=write, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = store.load().records[made].history
    assert len([line for line in history if line[0] in "ab"]) == 40


def test_a_held_lock_is_an_error_and_not_a_hang(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_elastic.engines.local.store.LOCK_SECONDS", 0.1)
    with files.locked(store.lock_file), pytest.raises(ElasticError) as caught:
        store.transact(lambda records: None)
    assert caught.value.status == 503


def test_a_disk_that_cannot_be_written_changes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(store, spec("a", 2))

    def full(*args: object, **fields: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_atomic", full)
    with pytest.raises(ElasticError) as caught:
        store.transact(lambda records: records.update({made: records[made].noted("x")}))
    assert caught.value.status == 503
    assert "No space" in caught.value.message
    assert store.load().records[made].history == ("created with 2",)
