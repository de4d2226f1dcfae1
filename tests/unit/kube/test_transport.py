"""Connections: kept, lost, through a proxy, and over a bad network."""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from jupyter_elastic.keeper.kube.access import Access
from jupyter_elastic.keeper.kube.calls import PODS, Api
from jupyter_elastic.keeper.kube.connection import Connection
from jupyter_elastic.keeper.kube.errors import Unavailable
from jupyter_elastic.keeper.kube.reflector import Reflector

from ...fakes.kube import FakeKube
from ...fakes.proxy import Chaos, ChaosProxy
from .conftest import FakeClock, Watched, eventually, names, pod, same_as_list

Watch = Callable[..., Watched]


@pytest.fixture
def proxy(kube: FakeKube) -> Iterator[ChaosProxy]:
    with ChaosProxy(kube.port) as found:
        yield found


@pytest.fixture
def through(kube: FakeKube, proxy: ChaosProxy, clock: FakeClock) -> Iterator[Api]:
    access = kube.access(port=proxy.port)
    with Api(access, timeout=1.0, clock=clock, sleep=clock.sleep) as found:
        yield found


def test_connections_are_kept(kube: FakeKube, proxy: ChaosProxy, through: Api) -> None:
    kube.put(PODS, pod("x"))
    for _ in range(20):
        through.get(PODS, "x")
    assert proxy.accepted == 1
    barrier = threading.Barrier(6)

    def many() -> None:
        barrier.wait()
        for _ in range(20):
            through.get(PODS, "x")

    threads = [threading.Thread(target=many) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert proxy.accepted <= 6
    assert len(kube.requests) == 140


def test_old_connections_are_not_tried(
    kube: FakeKube, proxy: ChaosProxy, through: Api, clock: FakeClock
) -> None:
    kube.put(PODS, pod("x"))
    through.get(PODS, "x")
    clock.advance(31)
    through.get(PODS, "x")
    assert proxy.accepted == 2


def test_closing_closes_what_is_kept(kube: FakeKube, proxy: ChaosProxy, through: Api) -> None:
    kube.put(PODS, pod("x"))
    through.get(PODS, "x")
    through.close()
    eventually(lambda: proxy.open == 0)
    through.get(PODS, "x")
    eventually(lambda: proxy.open == 0)


def test_the_kernel_watches_the_peer(kube: FakeKube) -> None:
    connection = Connection(kube.access(), 5.0)
    connection.connect()
    tcp = socket.IPPROTO_TCP
    sock = connection.sock
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert sock.getsockopt(tcp, socket.TCP_KEEPIDLE) == 15
    assert sock.getsockopt(tcp, socket.TCP_KEEPINTVL) == 5
    assert sock.getsockopt(tcp, socket.TCP_KEEPCNT) == 3
    assert sock.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 30_000
    connection.close()


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("http://127.0.0.1:1", "refuses connections"),
        ("http://no-such-host.invalid:80", "cannot be resolved"),
    ],
)
def test_words_of_a_connection_that_cannot_be_made(
    server: str, words: str, clock: FakeClock
) -> None:
    with Api(Access(server, "team"), clock=clock, sleep=clock.sleep) as api:
        with pytest.raises(Unavailable, match=words) as caught:
            api.create(PODS, pod("x"))
    assert caught.value.maybe_done is False


def test_what_is_not_http(clock: FakeClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            for _ in range(2):
                client, _ = listener.accept()
                with client:
                    client.recv(1000)
                    client.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with Api(Access(f"http://127.0.0.1:{port}", "team"), sleep=clock.sleep) as api:
            for call in (lambda: api.create(PODS, pod("x")), lambda: api.watch(PODS, "1")):
                with pytest.raises(Unavailable, match="not HTTP"):
                    call()
        thread.join()


# A bad network


@pytest.mark.parametrize(
    "chaos", [Chaos(piece=1), Chaos(piece=7, latency=0.0005), Chaos(bandwidth=300_000)]
)
def test_slices_and_slowness_change_nothing(
    kube: FakeKube, proxy: ChaosProxy, through: Api, watch: Watch, chaos: Chaos
) -> None:
    """[10, 13]."""
    proxy.chaos = chaos
    kube.put(PODS, pod("a"))
    watched = watch(api=through)
    watched.live()
    kube.put(PODS, {**pod("b"), "note": "ü€𝄞" * 20})
    kube.remove(PODS, "a")
    eventually(lambda: names(watched.reflector) == ["b"])
    proxy.chaos = Chaos()
    assert same_as_list(watched.reflector, through)
    assert watched.states == ["starting", "live"]


def test_cut_inside_a_character(
    kube: FakeKube, proxy: ChaosProxy, through: Api, watch: Watch
) -> None:
    """[13]."""
    kube.put(PODS, pod("a"))
    watched = watch(api=through)
    watched.live()
    proxy.chaos = Chaos(cut_in_character=True)
    body = pod("b")
    body["metadata"]["annotations"] = {"note": "€"}
    kube.put(PODS, body)
    eventually(lambda: proxy.accepted >= 3)
    proxy.chaos = Chaos()
    eventually(lambda: names(watched.reflector) == ["a", "b"])
    watched.live()
    note = [found["metadata"].get("annotations") for found in watched.reflector.objects().values()]
    assert {"note": "€"} in note
    assert watched.reflector.health.restarts == 0


def annotate(annotations: dict[str, str], found: dict[str, Any]) -> None:
    found["metadata"]["annotations"] = annotations


def ending(name: str, count: int) -> dict[str, Any]:
    return {name: count}


def more_than(proxy: ChaosProxy, connections: int) -> bool:
    return proxy.accepted > connections


@pytest.mark.parametrize("end", ["rst_after", "fin_after"])
def test_cut_after_any_number_of_bytes(
    kube: FakeKube, proxy: ChaosProxy, through: Api, watch: Watch, end: str
) -> None:
    for name in "abc":
        kube.put(PODS, pod(name))
    watched = watch(api=through)
    watched.live()
    for count in range(1, 1200, 97):
        accepted = proxy.accepted
        proxy.chaos = Chaos(**ending(end, count))
        proxy.cut()
        annotations = {"n": str(count)}
        kube.edit(PODS, "a", partial(annotate, annotations))
        eventually(partial(more_than, proxy, accepted + 1))
        assert names(watched.reflector) == ["a", "b", "c"]
    proxy.chaos = Chaos()
    watched.live()
    eventually(lambda: same_as_list(watched.reflector, through))
    assert watched.reflector.health.restarts == 0
    assert 0 not in watched.sizes


def test_half_open_connection(
    kube: FakeKube, proxy: ChaosProxy, through: Api, watch: Watch
) -> None:
    """[8]."""
    kube.bookmark_seconds = 0.05
    kube.put(PODS, pod("a"))
    kube.put(PODS, pod("b"))
    watched = watch(api=through, silence=0.3)
    watched.live()
    proxy.blackhole()
    went = time.monotonic()
    kube.remove(PODS, "a")
    eventually(lambda: "stale" in watched.states)
    assert 0.2 < time.monotonic() - went < 1
    eventually(lambda: names(watched.reflector) == ["b"])
    watched.live()
    assert len(kube.asked("list")) == 2


def test_half_open_connection_in_a_call(kube: FakeKube, proxy: ChaosProxy, through: Api) -> None:
    kube.put(PODS, pod("x"))
    through.get(PODS, "x")
    proxy.blackhole()
    start = time.monotonic()
    assert through.get(PODS, "x")
    assert time.monotonic() - start < 2


def test_an_answer_without_end_is_bounded(
    kube: FakeKube, proxy: ChaosProxy, clock: FakeClock
) -> None:
    kube.put(PODS, {**pod("x"), "data": "x" * 20_000})
    proxy.chaos = Chaos(piece=100, latency=0.02)
    with Api(kube.access(port=proxy.port), timeout=0.1, sleep=clock.sleep) as api:
        start = time.monotonic()
        with pytest.raises(Unavailable, match="in time"):
            api.get(PODS, "x")
        assert time.monotonic() - start < 3


def test_flaky_network_leaks_nothing(kube: FakeKube, proxy: ChaosProxy, through: Api) -> None:
    """[40]."""
    kube.put(PODS, pod("x"))
    through.get(PODS, "x")
    files = len(os.listdir("/proc/self/fd"))
    for number in range(150):
        end = ("rst_after", "fin_after")[number % 2]
        proxy.chaos = Chaos(**ending(end, number * 3))
        try:
            through.get(PODS, "x")
            through.watch(PODS, "1000").close()
        except Unavailable:
            pass
    proxy.chaos = Chaos()
    proxy.cut()
    eventually(lambda: proxy.open == 0)
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= files + 2)


def test_stop_in_a_half_open_watch_is_quick(
    kube: FakeKube, proxy: ChaosProxy, through: Api
) -> None:
    reflector = Reflector(through, PODS)
    reflector.start()
    eventually(lambda: reflector.health.state == "live")
    proxy.blackhole()
    start = time.monotonic()
    reflector.stop()
    assert time.monotonic() - start < 1
    assert not reflector._thread.is_alive()


# An HTTP proxy


class ConnectProxy:
    """Understands CONNECT, and notes the heads of what it is asked."""

    def __init__(self, answer: bytes = b"200 OK") -> None:
        self.heads: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve)]
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> ConnectProxy:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for sock in [*self._sockets, self._listener]:
            sock.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.heads.append(head)
            client.sendall(b"HTTP/1.1 " + self._answer + b"\r\n\r\n")
            if not self._answer.startswith(b"200"):
                client.close()
                continue
            host, _, port = head.split()[1].decode().rpartition(":")
            server = socket.create_connection((host.strip("[]"), int(port)))
            self._sockets.append(server)
            for one, other in ((client, server), (server, client)):
                self._threads.append(threading.Thread(target=self._carry, args=(one, other)))
                self._threads[-1].start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)


def test_through_an_http_proxy(kube: FakeKube) -> None:
    kube.put(PODS, pod("x"))
    with ConnectProxy() as proxy:
        access = kube.access()
        access.proxy = f"http://us%40er:pass%3Aword@127.0.0.1:{proxy.port}"
        with Api(access) as api:
            api.get(PODS, "x")
            api.watch(PODS, "1000").close()
    target = f"127.0.0.1:{kube.port}"
    assert len(proxy.heads) == 2
    words = base64.b64encode(b"us@er:pass:word")
    for head in proxy.heads:
        assert head.startswith(f"CONNECT {target} ".encode())
        assert b"Proxy-Authorization: Basic " + words in head
    for one in kube.requests:
        assert one.headers["host"] == target
        assert "proxy-authorization" not in one.headers


def test_proxy_that_refuses(kube: FakeKube, clock: FakeClock) -> None:
    with ConnectProxy(b"407 Proxy Authentication Required") as proxy:
        access = kube.access()
        access.proxy = f"http://127.0.0.1:{proxy.port}"
        with Api(access, sleep=clock.sleep) as api:
            with pytest.raises(Unavailable, match="407") as caught:
                api.create(PODS, pod("x"))
    assert caught.value.maybe_done is False
    assert kube.requests == []
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        del caught
        gc.collect()
    assert unclosed == []


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
@pytest.mark.parametrize("proxied", [False, True])
def test_ipv6_address(proxied: bool) -> None:
    heard: dict[str, Any] = {}
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    port = listener.getsockname()[1]

    def answer() -> None:
        client, _ = listener.accept()
        with client:
            heard["head"] = client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    thread = threading.Thread(target=answer)
    thread.start()
    with listener, ConnectProxy() as proxy:
        via = f"http://127.0.0.1:{proxy.port}" if proxied else None
        with Api(Access(f"http://[::1]:{port}", "team", via)) as api:
            assert api.get(PODS, "x") == {}
        thread.join()
        assert f"Host: [::1]:{port}\r\n".encode() in heard["head"]
        if proxied:
            assert proxy.heads[0].startswith(f"CONNECT [::1]:{port} ".encode())
