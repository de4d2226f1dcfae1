"""Lines over a command: what the keeper's channel needs."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from jupyter_elastic.engines.kubernetes.exec import stream
from jupyter_elastic.engines.kubernetes.streampair import StreamPair
from jupyter_elastic.errors import NotFound, Unreachable

from .execserver import V4, V5, Behaviour, ExecServer, Session, TokenAccess, failure, running


async def echo(session: Session) -> None:
    """Answer each line, in pieces, until the input ends."""
    buffer = b""
    while (message := await session.incoming.get()) is not None:
        if message[:2] == b"\xff\x00":
            break
        buffer += message[1:]
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            await session.send(2, b"noise ")
            await session.send(1, line[:3])
            await session.send(1, line[3:] + b"\n")
    await session.send(1, b"rest")
    await session.end()


@contextlib.asynccontextmanager
async def pair(
    behave: Behaviour, protocols: tuple[str, ...] = (V5, V4), **options: int
) -> AsyncIterator[StreamPair]:
    """A pair over one command."""
    async with running(ExecServer(behave, protocols)) as server:
        made = StreamPair(
            await stream(TokenAccess(server.address), "team", "p", "main", ["x"]), **options
        )
        try:
            yield made
        finally:
            await made.wait_closed()


async def test_lines_both_ways_and_the_end() -> None:
    async with pair(echo) as lines:
        for number in range(50):
            message = json.dumps({"id": number, "text": "é" * number}).encode() + b"\n"
            lines.write(message)
            await lines.drain()
            assert await lines.readline() == message
        lines.write(b"one\ntwo\n")
        lines.close()
        assert lines.is_closing()
        with pytest.raises(Unreachable):
            lines.write(b"late")
        assert [await lines.readline() for _ in range(4)] == [b"one\n", b"two\n", b"rest", b""]
        assert lines.at_eof()
        assert lines.exit == 0
        assert lines.errors.startswith("noise")


async def test_read() -> None:
    async with pair(echo) as lines:
        lines.write(b"abcdef\n")
        assert await lines.read(2) == b"ab"
        assert await lines.read(0) == b""
        assert await lines.read(5) == b"c"
        lines.close()
        assert await lines.read() == b"def\nrest"
        assert await lines.read() == await lines.read(1) == b""


async def test_large_lines_and_the_longest_one() -> None:
    async def behave(session: Session) -> None:
        for size in (99_999, 100_001):
            data = b"x" * size + b"\n"
            for start in range(0, len(data), 7_000):
                await session.send(1, data[start : start + 7_000])
        await session.end()

    async with pair(behave, limit=100_000) as lines:
        assert len(await lines.readline()) == 100_000
        with pytest.raises(ValueError, match="100000 bytes"):
            await lines.readline()


async def test_closing_a_connection_whose_input_cannot_be_closed_ends_it() -> None:
    gone = asyncio.Event()

    async def behave(session: Session) -> None:
        await session.read_input()
        gone.set()

    async with pair(behave, (V4,)) as lines:
        lines.close()
        await asyncio.wait_for(gone.wait(), 5)


async def test_broken_connection_reaches_reader_and_writer() -> None:
    async def behave(session: Session) -> None:
        await session.send(1, b"half a li")
        session.handler.close()

    async with pair(behave) as lines:
        with pytest.raises(Unreachable):
            await lines.readline()
        with pytest.raises(Unreachable):
            await _write_for_ever(lines, b"x\n")


async def _write_for_ever(lines: StreamPair, data: bytes, *, drain: bool = True) -> None:
    while True:
        lines.write(data)
        if drain:
            await lines.drain()


async def test_program_that_is_missing_or_fails() -> None:
    async def missing(session: Session) -> None:
        words = 'exec: "python3": executable file not found in $PATH'
        await session.end({"status": "Failure", "message": words})

    async with pair(missing) as lines:
        with pytest.raises(NotFound):
            await lines.readline()

    async def fails(session: Session) -> None:
        await session.send(2, b"no such socket\n")
        await session.end(failure(2))

    async with pair(fails) as lines:
        assert await lines.readline() == b""
        assert (lines.exit, lines.errors) == (2, "no such socket")


async def test_what_nobody_reads_is_bounded() -> None:
    async def behave(session: Session) -> None:
        session.handler.on_message = lambda _message: asyncio.sleep(60)
        await asyncio.sleep(60)

    async with pair(behave) as lines:
        with pytest.raises(Unreachable, match="does not read"):
            await _write_for_ever(lines, b"x" * 10_000, drain=False)
