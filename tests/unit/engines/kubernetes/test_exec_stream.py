"""Commands over a websocket as streams: speed of both ends, signs of life, TLS and proxies."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time

import pytest

from jupyter_elastic.engines.kubernetes import execstream
from jupyter_elastic.engines.kubernetes.exec import run, stream
from jupyter_elastic.engines.kubernetes.execstream import BUFFER_LIMIT, ExecStream
from jupyter_elastic.errors import (
    Conflict,
    Unreachable,
)

from .execserver import (
    SUCCESS,
    V4,
    ExecServer,
    Session,
    TokenAccess,
    failure,
    running,
)
from .recorder import Certificates, Proxy

WHERE = ("team", "pod-1", "main")
BYTES = bytes(range(256)) * 20_000  # 5 MB


async def rest(command: ExecStream) -> dict[int, bytes]:
    """Read to the end."""
    parts = {1: bytearray(), 2: bytearray()}
    while (item := await command.read())[0] != 3:
        parts[item[0]] += item[1]
    return {channel: bytes(part) for channel, part in parts.items()}


async def quiet(session: Session) -> None:
    """Do nothing and end well."""
    await session.end()


async def talk(session: Session) -> None:
    """Say something on both channels and fail."""
    await session.send(1, b"out")
    await session.send(2, b"err")
    await session.end(failure(7))


async def count(session: Session) -> None:
    """Read all input and say how much it was."""
    await session.send(1, str(len(await session.read_input())).encode())
    await session.end()


def tls(certificates: Certificates, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server, which asks for a certificate, and of a client."""
    folder = certificates.folder
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    server.load_verify_locations(folder / "ca.crt")
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    client.load_cert_chain(folder / "ann.crt", folder / "ann.key")
    return server, client


@pytest.mark.parametrize("through", [False, True])
async def test_tls_by_another_name_with_a_client_certificate(
    certificates: Certificates, proxy: Proxy, through: bool
) -> None:
    theirs, ours = tls(certificates, "elsewhere")
    server = ExecServer(talk)
    address = f"http://us%40er:pw@127.0.0.1:{proxy.port}" if through else None
    async with running(server, theirs):
        access = TokenAccess(server.address, tls=ours, server_name="api.internal", proxy=address)
        assert (await run(access, *WHERE, ["x"], timeout=10)).exit == 7
        wrong = TokenAccess(server.address, tls=ours, proxy=address)
        with pytest.raises(Unreachable, match="certificate is not trusted"):
            await run(wrong, *WHERE, ["x"], timeout=10)
    (certificate,) = server.certificates
    assert (("commonName", "ann"),) in certificate["subject"]
    # "us@er:pw"; the proxy's notes are in lower case
    expected = (server.address.removeprefix("https://"), "basic dxnazxi6chc=")
    assert proxy.asked == [expected] * (2 if through else 0)


async def test_proxy_that_refuses_or_is_not_there(proxy: Proxy) -> None:
    proxy.refuse = True
    access = TokenAccess("http://10.0.0.1", proxy=f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(Unreachable, match="'407 Who are you'"):
        await run(access, *WHERE, ["x"], timeout=10)
    access = TokenAccess("http://10.0.0.1", proxy="http://127.0.0.1:1")
    with pytest.raises(Unreachable, match="cannot be reached"):
        await run(access, *WHERE, ["x"], timeout=10)


async def test_proxy_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_elastic.engines.kubernetes.dial.CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(Unreachable, match="cannot be reached"):
            await run(TokenAccess("http://10.0.0.1", proxy=address), *WHERE, ["x"], timeout=10)


# -- streams -----------------------------------------------------------------------------------------


async def test_terminal_with_input_resize_and_end() -> None:
    seen: list[bytes] = []

    async def behave(session: Session) -> None:
        while (message := await session.incoming.get()) is not None:
            seen.append(message)
            if message[:2] == b"\xff\x00":
                break
            if message[0] == 0:
                await session.send(1, message[1:].upper())
        await session.end(failure(130))

    server = ExecServer(behave)
    async with running(server):
        command = await stream(TokenAccess(server.address), *WHERE, ["bash"], tty=True)
        await command.resize(40, 120)
        await command.write(b"ls\n")
        assert await command.read() == (1, b"LS\n")
        assert command.exit is None
        await command.close_stdin()
        assert await command.read() == (3, b"")
        assert await command.read() == (3, b"")
        assert command.exit == 130
        with pytest.raises(Unreachable):
            await command.write(b"more")
        await command.close()
        await command.close()
    assert seen == [b'\x04{"Width": 120, "Height": 40}', b"\x00ls\n", b"\xff\x00"]
    assert server.sessions[0].query["stderr"] == ["false"]
    assert server.sessions[0].query["tty"] == ["true"]


async def test_input_cannot_be_closed_by_version_4() -> None:
    async with running(ExecServer(count, (V4,))) as server:
        command = await stream(TokenAccess(server.address), *WHERE, ["x"])
        with pytest.raises(Conflict):
            await command.close_stdin()
        await command.close()


async def test_slow_reader_holds_the_command_back_and_loses_nothing() -> None:
    sent = pings = 0

    def note(_data: bytes) -> None:
        nonlocal pings
        pings += 1

    async def behave(session: Session) -> None:
        nonlocal sent
        session.handler.on_ping = note
        for start in range(0, 8 * len(BYTES), 32_768):
            at = start % len(BYTES)
            await session.send(1, BYTES[at : at + 32_768].ljust(32_768, b"."))
            sent += 32_768
        await session.end()

    async with running(ExecServer(behave)) as server:
        # No answer to a ping can be seen behind what is not read, so none is sent, and the silence
        # is not one of a dead connection.
        access = TokenAccess(server.address)
        command = await stream(access, *WHERE, ["x"], ping=0.1, silence=1.0)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.5)
        asked = pings
        await asyncio.sleep(1.5)
        assert (sent, pings) == (before, asked)  # it waits for us
        assert BUFFER_LIMIT < sent < 30_000_000
        got = await rest(command)
        await command.close()
    assert len(got[1]) == sent > 40_000_000 - 1
    assert command.exit == 0


async def test_slow_command_holds_the_writer_back() -> None:
    release = asyncio.Event()

    async def behave(session: Session) -> None:
        session.handler.ws_connection.stream.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, 65536
        )
        await release.wait()
        await session.read_input()
        await session.end()

    async with running(ExecServer(behave)) as server:
        command = await stream(TokenAccess(server.address), *WHERE, ["x"])
        session = server.sessions[0]
        blocked = asyncio.Event()

        async def hold(message: bytes) -> None:
            blocked.set()
            await release.wait()
            session.incoming.put_nowait(message)

        session.handler.on_message = hold
        writing = asyncio.ensure_future(command.write(b"x" * 40_000_000))
        await asyncio.wait_for(blocked.wait(), 5)
        await asyncio.sleep(0.3)
        assert not writing.done()
        release.set()
        await asyncio.wait_for(writing, 20)
        await command.close_stdin()
        await rest(command)
        await command.close()


async def test_idle_connection_is_pinged_and_lives() -> None:
    pings = 0

    async def behave(session: Session) -> None:
        def note(_data: bytes) -> None:
            nonlocal pings
            pings += 1

        session.handler.on_ping = note
        await asyncio.sleep(2)
        await session.send(1, b"alive")
        await session.end(SUCCESS)

    async with running(ExecServer(behave)) as server:
        command = await stream(TokenAccess(server.address), *WHERE, ["x"], ping=0.1, silence=1.0)
        assert (await rest(command))[1] == b"alive"
        await command.close()
    assert pings >= 5


async def test_half_open_connection_is_found() -> None:
    async with running(ExecServer(count)) as server:
        access = TokenAccess(server.address)
        command = await stream(access, *WHERE, ["x"], ping=0.1, silence=0.4)
        # From here on the server reads nothing, and so answers no ping.
        held = asyncio.Event()
        session = server.sessions[0]
        session.handler.on_message = lambda _message: held.wait()
        await command.write(b"x")
        started = time.monotonic()
        with pytest.raises(Unreachable, match=r"nothing was heard from it for 0\.4 s"):
            await asyncio.wait_for(command.read(), 10)
        assert time.monotonic() - started < 5
        await command.close()
        held.set()


async def test_giving_up_while_connecting_leaves_nothing_open() -> None:
    server = ExecServer(quiet)
    before = len(os.listdir("/proc/self/fd"))
    async with running(server):
        for delay in (0, 0.001, 0.003, 0.01):
            task = asyncio.ensure_future(stream(TokenAccess(server.address), *WHERE, ["x"]))
            await asyncio.sleep(delay)
            task.cancel()
            (result,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(result, ExecStream):
                await result.close()
        await asyncio.sleep(0.3)
    await asyncio.sleep(0.1)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert len(asyncio.all_tasks()) == 1


def test_pings_are_more_frequent_than_proxies_are_patient() -> None:
    assert execstream.PING_SECONDS < 30
    assert execstream.SILENCE_SECONDS > 2 * execstream.PING_SECONDS
