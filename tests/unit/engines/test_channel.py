"""The channel to a keeper that answers late, refuses, talks nonsense, dies and comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines import conversation as module
from jupyter_elastic.engines.base import KeeperStatus, ReleaseRules, ShellRequest
from jupyter_elastic.engines.local.channel import LocalChannel
from jupyter_elastic.errors import BadInput, Conflict, ElasticError, NotFound, TooLarge, Unreachable
from jupyter_elastic.models import HostEntry, HostList

from .conftest import until

RUN = {
    "id": "r1", "state": "running", "program": "horovodrun", "text": "horovodrun -np 2", "argv": ["horovodrun"],
    "cwd": "/", "started": 1, "np": 2, "min_np": None, "max_np": None, "elastic": False, "ended": None,
    "exit": None, "found": False, "shell": "s1", "pid": 7, "reason": None, "added_later": {"x": 1},
}  # fmt: skip
SHELL = {"id": "s1", "cwd": "/", "started": 1.5, "pid": 9, "attached": 1, "run": "r1"}


class Keeper:
    """A keeper as the channel sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[dict[str, Any]] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.server: asyncio.AbstractServer | None = None
        self.status: dict[str, Any] = {"generation": 1, "sha256": "ab", "hosts": ["127.0.0.1"]}
        self.silent: set[str] = set()
        self.starts = 0
        self.wanted = True

    async def ensure(self) -> bool:
        """Start where it does not live."""
        if self.wanted and self.server is None:
            self.starts += 1
            path = self.folder / "keeper.sock"
            path.unlink(missing_ok=True)
            self.server = await asyncio.start_unix_server(self.serve, str(path))
        return self.wanted

    async def die(self) -> None:
        """End without a word."""
        assert self.server is not None
        self.server.close()
        self.server = None
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await self.converse(reader, writer)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            self.asked.append(request)
            op = request["op"]
            if op in self.silent:
                continue
            answer = {"id": request["id"], "ok": True, **self.answer(op, request)}
            self.send(writer, answer)
            if op == "subscribe":
                self.send(writer, {"event": "status", "status": self.status})

    def answer(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        if op in ("shell.close", "offer.answer"):
            code = "not_found" if op == "shell.close" else "too_late"
            return {"ok": False, "error": {"code": code, "message": "No."}}
        answers: dict[str, dict[str, Any]] = {
            "shell.open": {"shell": SHELL},
            "shell.output": {"output": "text"},
            "run.start": {"run": RUN},
            "run.log": {"output": "log"},
            "preflight": {"program": "/env/bin/horovodrun", "python": "/env/bin/python"},
        }
        return answers.get(op, {})

    @staticmethod
    def send(writer: asyncio.StreamWriter, value: Any) -> None:
        writer.write(json.dumps(value).encode() + b"\n")

    def say(self, **fields: Any) -> None:
        """Tell a new status to everybody."""
        self.status.update(fields)
        for writer in self.writers:
            self.send(writer, {"event": "status", "status": self.status})


@pytest.fixture
def short() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="je-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
async def keeper(short: Path) -> AsyncIterator[Keeper]:
    made = Keeper(short)
    yield made
    if made.server is not None:
        await made.die()


@pytest.fixture
async def channel(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalChannel]:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.2)
    server = {"pid": 1, "start": 2, "socket": "/x", "url": "http://x"}
    made = LocalChannel(keeper.folder, ensure=keeper.ensure, server=lambda: server)
    yield made
    await made.close()


async def follow(channel: LocalChannel, seen: list[KeeperStatus]) -> None:
    async for status in channel.watch():
        seen.append(status)


@pytest.fixture
async def seen(channel: LocalChannel) -> AsyncIterator[list[KeeperStatus]]:
    found: list[KeeperStatus] = []
    task = asyncio.create_task(follow(channel, found))

    async def reachable() -> bool:
        return bool(found) and found[-1].reachable

    await until(reachable, "the first status")
    yield found
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_status_now_and_at_each_change(keeper: Keeper, seen: list[KeeperStatus]) -> None:
    assert seen[-1].generation == 1
    keeper.say(generation=2, runs=[RUN], shells=[SHELL], busy_hosts=["127.0.0.2"])

    async def changed() -> bool:
        return seen[-1].generation == 2

    await until(changed, "the new status")
    (run,) = seen[-1].runs
    assert (run.id, run.np, run.started, run.argv) == ("r1", 2, 1.0, ("horovodrun",))
    assert seen[-1].shells[0].run == "r1"
    assert seen[-1].since == seen[-2].since, "reachable did not change"


async def test_it_says_who_this_server_is(
    keeper: Keeper, seen: list[KeeperStatus], channel: LocalChannel
) -> None:
    hello = next(request for request in keeper.asked if request["op"] == "hello")
    assert hello["server"]["pid"] == 1
    await channel.introduce()
    assert [request["op"] for request in keeper.asked].count("hello") == 2


async def test_a_dead_keeper_is_started_again(keeper: Keeper, seen: list[KeeperStatus]) -> None:
    await keeper.die()

    async def back() -> bool:
        return keeper.starts == 2 and seen[-1].reachable

    await until(back, "the keeper to be back")
    lost = next(status for status in seen[1:] if not status.reachable)
    assert lost.generation == 1, "the last known state is shown"


async def test_nonsense_is_a_lost_connection_and_no_end(
    keeper: Keeper, seen: list[KeeperStatus]
) -> None:
    for line in (
        b"nonsense\n",
        b"[]\n",
        b'{"event": "status", "status": {"generation": "x"}}\n',
        b"x" * 2**21,
    ):
        count = len(seen)
        for writer in keeper.writers:
            writer.write(line)

        async def again(count: int = count) -> bool:
            return len(seen) > count and seen[-1].reachable

        await until(again, f"a new connection after {line[:20]!r}")


async def test_requests(keeper: Keeper, channel: LocalChannel) -> None:
    request = ShellRequest("/work", "/env/bin", (("HF_TOKEN", "x"),), None, 30, 100)
    assert (await channel.open_shell(request)).id == "s1"
    assert keeper.asked[-1] == {
        "id": keeper.asked[-1]["id"], "op": "shell.open", "cwd": "/work", "python_folder": "/env/bin",
        "env": {"HF_TOKEN": "x"}, "program": None, "rows": 30, "columns": 100,
    }  # fmt: skip
    assert (await channel.start_run(("horovodrun", "-np", "2"), request)).np == 2
    assert keeper.asked[-1]["argv"] == ["horovodrun", "-np", "2"]
    assert await channel.run_log("r1", 10) == "log"
    assert await channel.shell_output("s1") == "text"
    found = await channel.preflight(request, "horovodrun")
    assert found == {"program": "/env/bin/horovodrun", "python": "/env/bin/python"}
    assert keeper.asked[-1]["program"] == "horovodrun"
    await channel.publish(HostList(3, (HostEntry("u", "n", "127.0.0.1", 1, (0,)),)))
    asked = {**keeper.asked[-1]}
    assert asked.pop("id")
    assert asked == {
        "op": "hosts", "generation": 3,
        "hosts": [{"uid": "u", "name": "n", "host": "127.0.0.1", "slots": 1, "devices": [0]}],
    }  # fmt: skip
    await channel.set_rules(ReleaseRules(idle_seconds=60))
    assert keeper.asked[-1]["idle_seconds"] == 60
    await channel.stop_run("r1", 5.0)


async def test_refusals_keep_their_code(channel: LocalChannel) -> None:
    with pytest.raises(NotFound):
        await channel.close_shell("no")
    with pytest.raises(Conflict) as caught:
        await channel.answer_offer("r1", "keep")
    assert caught.value.code == "too_late"


async def test_no_answer(keeper: Keeper, channel: LocalChannel) -> None:
    keeper.silent.add("status")
    with pytest.raises(Unreachable):
        await channel.request("status", seconds=0.1)
    assert (await channel.shell_output("s1")) == "text", "the connection goes on"


async def test_death_while_it_is_asked(keeper: Keeper, channel: LocalChannel) -> None:
    keeper.silent.add("status")
    await channel.request("ping")
    asking = asyncio.create_task(channel.request("status"))
    await asyncio.sleep(0.05)
    await keeper.die()
    with pytest.raises(Unreachable):
        await asking


async def test_no_keeper_wanted(keeper: Keeper, channel: LocalChannel) -> None:
    keeper.wanted = False
    with pytest.raises(Unreachable):
        await channel.request("status", connect_seconds=0.2)
    assert keeper.starts == 0


async def test_too_long(channel: LocalChannel) -> None:
    with pytest.raises(TooLarge):
        await channel.request("x", text="x" * 2**20)


async def test_closed(keeper: Keeper, channel: LocalChannel) -> None:
    await channel.request("ping")
    await channel.close()
    with pytest.raises(ElasticError):
        await channel.request("ping", connect_seconds=0.1)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a b", "x" * 65])
def test_attach_takes_ids_only(channel: LocalChannel, name: str) -> None:
    with pytest.raises((NotFound, BadInput)):
        channel.attach_argv(name)


def test_attach(channel: LocalChannel, short: Path) -> None:
    argv = channel.attach_argv("s1")
    assert argv[1:] == [
        "-I",
        str(short / "keeper.pyz"),
        "attach",
        str(short / "shells" / "s1.sock"),
    ]
