"""The Python API against a stand-in server."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jupyter_elastic import transport
from jupyter_elastic.client import Client
from jupyter_elastic.discovery import NoServer
from jupyter_elastic.errors import Conflict, ElasticError, LimitReached, NotFound, Unreachable
from jupyter_elastic.models import Reason, Revision, State, to_json
from jupyter_elastic.waiting import WaitTimeout
from jupyter_elastic.wire import from_json

from .standin import StandIn, containers, make_cluster


def test_state_survives_the_wire(standin: StandIn) -> None:
    standin.add(make_cluster())
    assert Client().state() == standin.state()


def test_wire_takes_unknown_and_missing_keys() -> None:
    state = to_json(State(Revision("e", 3), "1", (), (make_cluster(),)))
    state["clusters"][0]["from_the_future"] = 1
    del state["clusters"][0]["history"]
    assert from_json(State, state).clusters == (make_cluster(),)
    with pytest.raises(ElasticError, match="expected an object"):
        from_json(State, [])


def test_unchanged_state_is_asked_for_by_etag(standin: StandIn) -> None:
    standin.add(make_cluster())
    client = Client()
    first = client.state()
    assert client.state() is first
    assert standin.full_states == 1


def test_scale_and_wait(standin: StandIn) -> None:
    standin.add(make_cluster())
    standin.delay = 0.5
    client = Client()
    begin = time.monotonic()
    plan = client.scale(4, wait=5)
    assert plan.add == 2
    assert 0.4 < time.monotonic() - begin < 3
    assert client.cluster().ready == 4
    assert ("PUT", "clusters/tthvd-abc123/target", {"size": 4}) in standin.requests


def test_wait_timeout_says_who_and_why(standin: StandIn) -> None:
    standin.add(make_cluster())
    standin.delay = None
    with pytest.raises(WaitTimeout) as caught:
        Client().scale(4, wait=0.4)
    assert "tthvd-3 is pending: pulling image" in caught.value.message
    assert "2 of 4 ready" in caught.value.message


def test_wait_counts_what_was_not_created(standin: StandIn) -> None:
    cluster = make_cluster()
    quota = Reason("quota", "quota pods: 2 of 2 used")
    standin.add(replace(cluster, target=4, reason=quota))
    with pytest.raises(WaitTimeout, match="2 not created yet: quota pods"):
        Client().wait_ready(cluster.id, 4, 0.2)


def test_wait_needs_the_host_file(standin: StandIn) -> None:
    cluster = make_cluster()
    frozen = replace(cluster.hostfile, in_sync=False, reason=Reason("full", "disk is full"))
    standin.add(replace(cluster, hostfile=frozen))
    with pytest.raises(WaitTimeout, match="disk is full"):
        Client().wait_ready(cluster.id, 2, 0.2)


def test_wait_ends_when_somebody_else_changes_the_target(standin: StandIn) -> None:
    standin.add(make_cluster())
    standin.delay = None
    timer = threading.Timer(0.5, standin.scale, ("tthvd-abc123", 3))
    timer.start()
    with pytest.raises(Conflict, match="changed to 3"):
        Client().scale(4, wait=10)
    timer.join()


def test_wait_ends_when_the_cluster_goes(standin: StandIn) -> None:
    cluster = standin.add(make_cluster())
    standin.delay = None
    timer = threading.Timer(0.5, standin.remove, (cluster.id,))
    timer.start()
    with pytest.raises(NotFound):
        Client().wait_ready(cluster.id, 4, 10)
    timer.join()


def test_limit_is_an_error_with_words(standin: StandIn) -> None:
    standin.add(make_cluster())
    with pytest.raises(LimitReached) as caught:
        Client().scale(9)
    assert (caught.value.code, caught.value.hint) == ("limit", "Ask your admin.")
    assert caught.value.detail == {"field": "size"}


def test_which_cluster(standin: StandIn) -> None:
    client = Client()
    with pytest.raises(NotFound, match="no cluster"):
        client.cluster()
    standin.add(make_cluster("one"))
    assert client.cluster().name == "one"
    standin.add(make_cluster("two"))
    with pytest.raises(Conflict, match=r"one \(one-abc123\), two \(two-abc123\)"):
        client.cluster()
    assert client.cluster("two").id == client.cluster().id == "two-abc123"
    assert client.cluster("one-abc123").name == "one"
    with pytest.raises(NotFound) as caught:
        client.cluster("three")
    assert "one (one-abc123)" in caught.value.hint
    made = client.create("three")
    assert client.cluster().id == made.id
    client.release()
    with pytest.raises(Conflict):
        client.cluster()


def test_one_that_leaves_is_not_the_only_one(standin: StandIn) -> None:
    standin.add(replace(make_cluster("old"), state="releasing"))
    standin.add(make_cluster("new"))
    assert Client().cluster().name == "new"


def test_release_with_a_live_run_needs_stop_runs(standin: StandIn) -> None:
    cluster = standin.add(make_cluster())
    standin.start_run(cluster.id)
    client = Client()
    with pytest.raises(Conflict) as caught:
        client.release()
    assert caught.value.code == "live_run"
    client.release(stop_runs=True, wait=5)
    assert client.clusters() == ()


def test_hosts_come_from_the_real_file(standin: StandIn, tmp_path: Path) -> None:
    cluster = standin.add(make_cluster(folder=str(tmp_path)))
    standin.add(replace(cluster, containers=(*containers("tthvd", 2), *containers("x", 4, 3)[3:])))
    client = Client()
    assert client.hosts().lines == ("127.0.0.1 slots=1", "127.0.0.2 slots=1")
    (tmp_path / "hostfile").write_text("10.0.0.1 slots=2\n")
    assert client.hosts().lines == ("10.0.0.1 slots=2",)


def test_server_that_went_away(standin: StandIn) -> None:
    client = Client()
    standin.card.unlink()
    standin.socket.unlink()
    with pytest.raises(NoServer):
        client.state()


def test_server_that_was_started_again(standin: StandIn, runtime: Path) -> None:
    standin.add(make_cluster())
    client = Client()
    assert client.cluster().name == "tthvd"
    standin.card.unlink()
    standin.socket.unlink()
    second = StandIn(runtime, pid=os.getppid(), name="second")
    try:
        second.add(make_cluster("again"))
        assert client.cluster().name == "again"
    finally:
        second.close()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"", "went away"),
        (b"nonsense\r\n", "went away"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", "went away"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{", "cannot be read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "cannot be read"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\n<b>", "answered 500"),
    ],
)
def test_a_broken_answer_is_a_clear_error(runtime: Path, said: bytes, message: str) -> None:
    path = str(runtime / "x.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ElasticError, match=message):
            Client(path).clusters()
        thread.join()


def test_a_server_that_does_not_answer(runtime: Path) -> None:
    path = str(runtime / "x.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with pytest.raises(Unreachable) as caught:
            transport.request(path, "GET", "clusters", timeout=0.2)
    assert caught.value.code == "timeout"
