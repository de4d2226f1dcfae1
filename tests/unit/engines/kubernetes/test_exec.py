"""Commands over a websocket: every byte, the exit code, and what can be wrong with either."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import time
from typing import Any

import pytest

from jupyter_elastic.engines.kubernetes.exec import (
    ExecResult,
    run,
    with_input,
)
from jupyter_elastic.errors import (
    BadInput,
    Conflict,
    ElasticError,
    Forbidden,
    NotFound,
    TooLarge,
    Unreachable,
)
from jupyter_elastic.keeper.kube.access import Access
from jupyter_elastic.keeper.kube.errors import Unauthenticated

from .execserver import (
    V4,
    V5,
    ExecServer,
    Session,
    TokenAccess,
    failure,
    refusal,
    running,
)

WHERE = ("team", "pod-1", "main")
BYTES = bytes(range(256)) * 20_000  # 5 MB


async def do(
    server: ExecServer, *argv: str, access: Access | None = None, **options: Any
) -> ExecResult:
    """Run a command in a server that is not yet running."""
    options.setdefault("timeout", 20)
    async with running(server):
        return await run(access or TokenAccess(server.address), *WHERE, argv or ("x",), **options)


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


async def flood(session: Session) -> None:
    """Print 5 MB in uneven messages."""
    for start in range(0, len(BYTES), 30_001):
        await session.send(1, BYTES[start : start + 30_001])
    await session.end()


@pytest.mark.parametrize("protocols", [(V5, V4), (V4,)])
async def test_output_and_exit_code(protocols: tuple[str, ...]) -> None:
    server = ExecServer(talk, protocols)
    assert await do(server, "a b", "ä&=?", "") == ExecResult(7, b"out", b"err")
    (session,) = server.sessions
    assert session.protocol == protocols[0]
    assert session.argv == ["a b", "ä&=?", ""]
    flags = {
        name: session.query[name] for name in ("stdin", "stdout", "stderr", "tty", "container")
    }
    assert flags == {
        "stdin": ["false"],
        "stdout": ["true"],
        "stderr": ["true"],
        "tty": ["false"],
        "container": ["main"],
    }


async def test_success_without_a_byte() -> None:
    assert await do(ExecServer(quiet)) == ExecResult(0, b"", b"")


async def test_every_byte_of_much_output() -> None:
    assert (await do(ExecServer(flood))).stdout == BYTES


async def test_output_is_bytes_also_where_a_character_is_cut() -> None:
    async def behave(session: Session) -> None:
        for byte in "é€😀".encode() + b"\xff\x00":
            await session.send(1, bytes([byte]))
        await session.end()

    assert (await do(ExecServer(behave))).stdout == "é€😀".encode() + b"\xff\x00"


async def test_status_in_several_messages() -> None:
    async def behave(session: Session) -> None:
        await session.send(3, b'{"status":')
        await session.send(1, b"late")
        await session.send(3, b'"Success"}')
        session.handler.close()

    assert await do(ExecServer(behave)) == ExecResult(0, b"late", b"")


async def test_input_is_sent_and_closed() -> None:
    server = ExecServer(count)
    assert (await do(server, stdin=BYTES)).stdout == str(len(BYTES)).encode()
    assert server.sessions[0].query["stdin"] == ["true"]
    assert (await do(ExecServer(count), stdin=b"")).stdout == b"0"


async def test_input_where_it_cannot_be_closed_is_counted() -> None:
    async def behave(session: Session) -> None:
        assert session.argv[:2] == ["sh", "-c"]
        assert session.argv[2].startswith('head -c "$0" | ')
        got = await session.read_input(int(session.argv[3]))
        await session.send(1, got + b"|" + " ".join(session.argv[4:]).encode())
        await session.end(failure(3))

    server = ExecServer(behave, (V4,))
    assert await do(server, "cat", "-", stdin=b"abc") == ExecResult(3, b"abc|cat -", b"")
    assert len(server.sessions) == 1  # nothing was started twice


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize(
    ("argv", "result"),
    [
        (["wc", "-c"], (0, b"200000\n")),
        (["sh", "-c", "head -c 3; exit 5"], (5, b"xxx")),
        (["sh", "-c", "kill -9 $$"], (137, b"")),
        (["printf", "%s|", "a b", "$HOME", ";'"], (0, b"a b|$HOME|;'|")),
        (["no-such-program"], (127, b"")),
    ],
)
def test_large_input_is_read_to_its_end(
    closes: bool, argv: list[str], result: tuple[int, bytes]
) -> None:
    command = with_input(argv, 200_000, closes=closes)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"x" * 200_000)  # a broken pipe is an error here
        process.stdin.flush()
        if closes:
            process.stdin.close()
        out = process.stdout.read()
        assert (process.wait(10), out) == result


def test_small_input_needs_no_shell() -> None:
    assert with_input(["cat"], 30_000, closes=True) == ["cat"]


async def test_command_that_ends_without_reading_its_input() -> None:
    assert (await do(ExecServer(talk), stdin=BYTES)).exit == 7


async def test_close_without_status_is_never_success() -> None:
    async def behave(session: Session) -> None:
        await session.send(1, b"half")
        session.handler.close()

    with pytest.raises(Unreachable, match="broke before the command's exit") as caught:
        await do(ExecServer(behave))
    assert "may still run" in caught.value.hint


@pytest.mark.parametrize("status", [b"what", b"[]", b'{"status": "Failure", "details": 5}'])
async def test_status_that_is_none(status: bytes) -> None:
    async def behave(session: Session) -> None:
        await session.send(3, status)
        session.handler.close()

    with pytest.raises(Unreachable, match="form that is none"):
        await do(ExecServer(behave))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ('exec: "foo": executable file not found in $PATH: unknown', NotFound),
        ("exec /nope: no such file or directory", NotFound),
        ("cannot exec in a stopped state", Conflict),
    ],
)
async def test_command_that_cannot_start(message: str, kind: type[ElasticError]) -> None:
    async def behave(session: Session) -> None:
        await session.end({"status": "Failure", "reason": "InternalError", "message": message})

    with pytest.raises(kind):
        await do(ExecServer(behave))


async def test_time_limit() -> None:
    async def behave(session: Session) -> None:
        await session.send(1, b"x")
        await session.read_input()

    started = time.monotonic()
    with pytest.raises(
        Unreachable, match=r"sleep in container main of pod pod-1 .* 0\.5 s"
    ) as caught:
        await do(ExecServer(behave), "sleep", timeout=0.5)
    assert caught.value.code == "timeout"
    assert time.monotonic() - started < 5


async def test_too_much_output_and_too_long_commands() -> None:
    with pytest.raises(TooLarge):
        await do(ExecServer(flood), limit=1_000_000)
    with pytest.raises(TooLarge):
        await do(ExecServer(quiet), "x" * 200_000)
    for argv in ((), ("a\0b",)):
        with pytest.raises(BadInput):
            await run(TokenAccess("http://127.0.0.1:1"), *WHERE, argv, timeout=5)


# -- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            refusal(403, 'pods "pod-1" is forbidden'),
            Forbidden,
            "create and get on pods/exec in .* team",
        ),
        (refusal(404, 'pods "pod-1" not found'), NotFound, "no pod pod-1 in team"),
        (refusal(400, "container main is not valid for pod pod-1"), Conflict, "does not run now"),
        (refusal(500, 'unable to upgrade: container not found ("main")'), Conflict, "does not run"),
        (refusal(400, "you must specify at least 1 command"), BadInput, "refused the command"),
        (refusal(503, "etcd is tired"), Unreachable, "etcd is tired"),
        ((502, b"<html>bad gateway</html>"), Unreachable, "bad gateway"),
    ],
)
async def test_refusals(answer: tuple[int, bytes], kind: type[ElasticError], words: str) -> None:
    server = ExecServer(quiet, refusals=[answer])
    with pytest.raises(kind, match=words) as caught:
        await do(server)
    assert len(server.requests) == 1
    if kind is Forbidden:
        assert caught.value.detail["resource"] == "pods/exec"


async def test_refused_credentials_are_renewed_once() -> None:
    server = ExecServer(quiet)
    async with running(server):
        access = TokenAccess(server.address, "old", "good")
        assert (await run(access, *WHERE, ["x"], timeout=10)).exit == 0
        assert access.reloads == 1
        bad = TokenAccess(server.address, "old", "older", "oldest")
        with pytest.raises(Unreachable) as caught:
            await run(bad, *WHERE, ["x"], timeout=10)
    assert caught.value.code == "unauthenticated"
    assert bad.reloads == 1
    assert len(server.requests) == 4


async def test_no_credentials_is_no_request() -> None:
    class Nobody(TokenAccess):
        def headers(self) -> dict[str, str]:
            raise Unauthenticated("The login plugin 'x' ended with 3.")

    class Nothing(TokenAccess):
        def context(self) -> ssl.SSLContext | None:
            raise FileNotFoundError(2, "No such file or directory", "ca.crt")

    server = ExecServer(quiet)
    async with running(server):
        with pytest.raises(Unreachable, match="ended with 3") as caught:
            await run(Nobody(server.address), *WHERE, ["x"], timeout=10)
        with pytest.raises(Unreachable, match="No such file"):
            await run(Nothing(server.address), *WHERE, ["x"], timeout=10)
    assert caught.value.code == "unauthenticated"
    assert server.requests == []


async def test_all_values_of_a_header_arrive() -> None:
    server = ExecServer(quiet)
    await do_in(server)
    assert server.requests[0].headers.get_list("Impersonate-Group") == ["a", "b"]
    assert "Origin" not in server.requests[0].headers


async def do_in(server: ExecServer) -> None:
    async with running(server):
        await run(TokenAccess(server.address), *WHERE, ["x"], timeout=10)


async def test_server_that_speaks_neither_protocol() -> None:
    for stdin in (None, b"x"):
        with pytest.raises(Unreachable, match="over a websocket"):
            await do(ExecServer(quiet, ("v9.channel.k8s.io",)), stdin=stdin)


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match="cannot be reached"):
        await run(TokenAccess(f"http://127.0.0.1:{port}"), *WHERE, ["x"], timeout=10)
    with pytest.raises(Unreachable, match="name cannot be resolved"):
        await run(TokenAccess("http://no-such-host.invalid"), *WHERE, ["x"], timeout=10)


async def test_tls_that_hangs_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_elastic.engines.kubernetes.dial.CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        access = TokenAccess(address, tls=ssl.create_default_context())
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(Unreachable, match="cannot be reached"):
                await run(access, *WHERE, ["x"], timeout=10)
        await asyncio.sleep(0.1)
        assert len(os.listdir("/proc/self/fd")) <= before


async def test_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(Unreachable) as caught:
            await run(TokenAccess(address), *WHERE, ["x"], timeout=0.5)
        assert caught.value.code == "timeout"
        monkeypatch.setattr("jupyter_elastic.engines.kubernetes.upgrade.ANSWER_SECONDS", 0.3)
        with pytest.raises(Unreachable, match="cannot be reached"):
            await run(TokenAccess(address), *WHERE, ["x"], timeout=10)


async def test_getting_credentials_does_not_hold_up_the_loop() -> None:
    class Slow(TokenAccess):
        def headers(self) -> dict[str, str]:
            time.sleep(0.4)
            return super().headers()

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.02)
            ticks += 1

    server = ExecServer(quiet)
    async with running(server):
        ticking = asyncio.ensure_future(tick())
        await run(Slow(server.address), *WHERE, ["x"], timeout=10)
        ticking.cancel()
    assert ticks > 10
