"""Commands in containers: every byte of their output, and their exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...errors import TooLarge, Unreachable
from ...keeper.kube.access import Access
from ..tasks import end_task, within
from .dial import Connection
from .execstream import CHUNK, PING_SECONDS, SILENCE_SECONDS, STATUS, STDERR, STDOUT, ExecStream
from .upgrade import V4, V5, NoProtocol, Place, upgrade

OUTPUT_LIMIT = 64 * 1024 * 1024  # bytes that `run` collects


@dataclass(frozen=True)
class ExecResult:
    """What a command did."""

    exit: int
    stdout: bytes
    stderr: bytes


async def stream(
    access: Access,
    namespace: str,
    pod: str,
    container: str,
    argv: Sequence[str],
    *,
    tty: bool = False,
    ping: float = PING_SECONDS,
    silence: float = SILENCE_SECONDS,
) -> ExecStream:
    """Start a command with input; its reader and writer are held back at each other's speed.

    Parameters
    ----------
    argv
        Program and arguments; no shell reads them.
    tty
        Whether it gets a terminal; then errors come on channel 1.
    ping, silence
        Seconds between signs of life, and without one until the connection counts as dead.

    Raises
    ------
    Forbidden, NotFound, Conflict, Unreachable
        Not allowed, no such pod, container not running, no answer.
    """
    place = Place(namespace, pod, container)
    try:
        connection = await upgrade(
            access, place, list(argv), stdin=True, tty=tty, protocols=[V5, V4]
        )
    except NoProtocol:
        raise _too_old() from None
    return ExecStream(connection, place, ping=ping, silence=silence)


async def run(
    access: Access,
    namespace: str,
    pod: str,
    container: str,
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    timeout: float,
    limit: int = OUTPUT_LIMIT,
) -> ExecResult:
    """Run a command and return its exit code and all of its output.

    Input of more than 32 KiB is given to it by ``sh``, which reads what the command leaves; where
    the API server cannot end the input (before Kubernetes 1.30) all input is, behind ``head -c``.
    The container needs these two then, and a program that is missing is exit 127.

    Parameters
    ----------
    stdin
        All of its input; None: it has none.
    timeout
        Seconds.
    limit
        Bytes of output and errors together.

    Raises
    ------
    Unreachable
        No answer, a cut connection, or code ``timeout``: the command may still run.
    TooLarge
        More output than `limit`.
    Forbidden, NotFound, Conflict
        Not allowed; no such pod or program; the container does not run.
    """
    place = Place(namespace, pod, container)
    try:
        return await within(_run(access, place, list(argv), stdin, limit), timeout)
    except asyncio.TimeoutError:
        raise Unreachable(
            f"{argv[0]} in {place} did not end within {timeout:g} s.",
            hint="It may still run there.",
            code="timeout",
        ) from None


async def _run(
    access: Access, place: Place, argv: list[str], stdin: bytes | None, limit: int
) -> ExecResult:
    connection = await _start(access, place, argv, stdin)
    command = ExecStream(connection, place, ping=PING_SECONDS, silence=SILENCE_SECONDS)
    feeding = asyncio.ensure_future(_feed(command, stdin))
    parts: dict[int, bytearray] = {STDOUT: bytearray(), STDERR: bytearray()}
    try:
        while (item := await command.read())[0] != STATUS:
            parts[item[0]] += item[1]
            if sum(map(len, parts.values())) > limit:
                raise TooLarge(f"{argv[0]} in {place} printed more than {limit} bytes.")
    finally:
        try:
            await end_task(feeding)
        finally:
            await command.close()
    return ExecResult(command.exit or 0, bytes(parts[STDOUT]), bytes(parts[STDERR]))


async def _start(access: Access, place: Place, argv: list[str], stdin: bytes | None) -> Connection:
    protocols = [V5, V4] if stdin is None else [V5]
    wrapped = argv if stdin is None else with_input(argv, len(stdin), closes=True)
    try:
        return await upgrade(
            access, place, wrapped, stdin=stdin is not None, tty=False, protocols=protocols
        )
    except NoProtocol:
        if stdin is None:
            raise _too_old() from None
    wrapped = with_input(argv, len(stdin), closes=False)
    try:
        return await upgrade(access, place, wrapped, stdin=True, tty=False, protocols=[V4])
    except NoProtocol:
        raise _too_old() from None


def with_input(argv: list[str], size: int, *, closes: bool) -> list[str]:
    """Return a command that takes `size` bytes of input reliably.

    Parameters
    ----------
    closes
        Whether its input is closed after them; else it has to stop by itself.
    """
    # A command that ends before it has read what the container's pipe cannot hold makes Kubernetes
    # tell no exit code, and now and then a wrong one, to kubectl as well.
    rest = '"$@"; code=$?; cat > /dev/null; exit $code'
    if not closes:
        return ["sh", "-c", f'head -c "$0" | {{ {rest}; }}', str(size), *argv]
    return ["sh", "-c", rest, "sh", *argv] if size > CHUNK else argv


async def _feed(command: ExecStream, stdin: bytes | None) -> None:
    if stdin is None:
        return
    with suppress(Unreachable):  # it ended without reading all; its exit code says how
        await command.write(stdin)
        if command.protocol == V5:
            await command.close_stdin()


def _too_old() -> Unreachable:
    return Unreachable(
        "What answers as the Kubernetes API server cannot run commands over a websocket.",
        hint="A proxy before it may not pass websockets on. Kubernetes 1.28 or newer is needed.",
    )
