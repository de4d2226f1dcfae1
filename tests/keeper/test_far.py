"""The whole way to a keeper that only commands can reach, as in a container: ``bridge`` processes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from jupyter_elastic.engines.base import KeeperStatus, ShellRequest
from jupyter_elastic.engines.bridging import AttachBridge
from jupyter_elastic.engines.channel import StreamChannel
from jupyter_elastic.models import HostEntry, HostList

from .harness import Kept, wait_for
from .test_shells import read_until

T = TypeVar("T")


class Writer:
    """Standard input of a command, which ends with the stream."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        self._process, self._stdin = process, process.stdin

    def write(self, data: bytes) -> None:
        self._stdin.write(data)

    async def drain(self) -> None:
        await self._stdin.drain()

    def close(self) -> None:
        self._stdin.close()

    async def wait_closed(self) -> None:
        await self._process.wait()


class Far:
    """Commands in the keeper's container, and a loop for what a server does."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.processes: list[asyncio.subprocess.Process] = []
        self.broken = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(45)

    async def stream(self, path: Path) -> tuple[asyncio.StreamReader, Writer]:
        if self.broken:
            raise ConnectionRefusedError
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(self.kept.folder / "keeper.pyz"), "bridge", str(path),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1024 * 1024,
        )  # fmt: skip
        self.processes.append(process)
        assert process.stdout is not None
        return process.stdout, Writer(process)

    def cut(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    def ended(self) -> bool:
        return all(process.returncode is not None for process in self.processes)

    def close(self) -> None:
        self.cut()
        wait_for(self.ended)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def far(kept: Kept) -> Iterator[Far]:
    made = Far(kept)
    yield made
    made.close()


def test_shell_in_a_terminal(kept: Kept, far: Far) -> None:
    shell = kept.open()
    path = kept.folder / "shells" / f"{shell['id']}.sock"
    bridge = AttachBridge(kept.base / "b", lambda: far.stream(path))

    async def open_bridge() -> Path:
        return bridge.open()

    socket = far.do(open_bridge())
    pid, master = pty.fork()
    if pid == 0:
        pyz = str(kept.folder / "keeper.pyz")
        os.execv(sys.executable, [sys.executable, "-I", pyz, "attach", str(socket)])
    try:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
        os.write(master, b"stty size; echo don''e\r")
        assert b"33 101" in read_until(master, b"done\r\n")
        os.write(master, b"sleep 66\r")
        read_until(master, b"sleep 66")
        os.write(master, b"\x03")
        os.write(master, b"echo rc-$?\r")
        read_until(master, b"rc-130")
        far.cut()
        read_until(master, b"rc-130")  # it is shown again, over a new stream
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
        wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
        os.write(master, b"stty size; echo agai''n\r")
        assert b"40 90" in read_until(master, b"again\r\n")
        os.write(master, b"exit 6\r")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6
    finally:
        os.close(master)
        far.do(bridge.close())
    wait_for(far.ended, what="the end of every stream")


def test_shell_that_ended_during_the_cut(kept: Kept, far: Far) -> None:
    shell = kept.open()
    path = kept.folder / "shells" / f"{shell['id']}.sock"
    bridge = AttachBridge(kept.base / "b", lambda: far.stream(path))

    async def open_bridge() -> Path:
        return bridge.open()

    socket = far.do(open_bridge())
    pid, master = pty.fork()
    if pid == 0:
        pyz = str(kept.folder / "keeper.pyz")
        os.execv(sys.executable, [sys.executable, "-I", pyz, "attach", str(socket)])
    try:
        wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
        far.broken = True
        far.cut()
        read_until(master, b"trying again")
        other = kept.terminal(shell)
        other.type("exit 9\r")
        other.wait_exit()
        far.broken = False
        read_until(master, b"ended with exit code 9")
        os.write(master, b"\r")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(master)
        far.do(bridge.close())


def test_channel(kept: Kept, far: Far) -> None:
    async def always() -> bool:
        return True

    async def story() -> None:
        channel = StreamChannel(
            connect=lambda: far.stream(kept.folder / "keeper.sock"),
            ensure=always,
            attach_argv=lambda shell: ["attach", shell],
            server=lambda: {"pid": 7, "start": 1, "socket": "/s", "url": "http://s"},
            heartbeat_seconds=0.2,
        )
        seen: list[KeeperStatus] = []

        async def follow() -> None:
            async for status in channel.watch():
                seen.append(status)

        task = asyncio.ensure_future(follow())
        try:
            hosts = tuple(HostEntry(f"u{n}", f"c{n}", f"127.0.0.{n}", 1, ()) for n in (1, 2, 3))
            await channel.publish(HostList(2, hosts))
            await at(lambda: seen[-1].generation == 2)
            shell = await channel.open_shell(ShellRequest(str(kept.base)))
            assert channel.attach_argv(shell.id) == ["attach", shell.id]
            far.cut()
            await at(lambda: any(not one.reachable for one in seen[2:]))
            await at(lambda: seen[-1].reachable)
            assert [one.id for one in seen[-1].shells] == [shell.id]
            process = far.processes[-1]
            process.send_signal(signal.SIGSTOP)  # silent, and yet not closed
            await at(lambda: not seen[-1].reachable, 15)
            process.send_signal(signal.SIGCONT)
            await at(lambda: seen[-1].reachable)
            assert kept.ask("servers")["servers"][0]["pid"] == 7
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await channel.close()

    far.do(asyncio.wait_for(story(), 40))
    wait_for(far.ended, what="the end of every stream")


async def at(found: Any, seconds: float = 10.0) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not found():
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.03)
