"""Merging of changes, of events, and of history."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from jupyter_elastic.errors import Conflict
from jupyter_elastic.manager.changes import MERGE_SECONDS, TargetChanges, TargetRequest
from jupyter_elastic.manager.history import History
from jupyter_elastic.manager.publishing import Publisher


class Recorder:
    """Applies changes slowly and remembers them."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.applied = []
        self.failures = []
        self.error = None
        self.running = 0
        self.changes = TargetChanges(self.apply, self.settle, self.failed)

    async def apply(self, request):
        self.running += 1
        assert self.running == 1, "two changes in flight"
        await asyncio.sleep(self.seconds)
        self.running -= 1
        if self.error:
            raise self.error
        self.applied.append((asyncio.get_running_loop().time(), request.size))

    async def settle(self, request):
        await asyncio.sleep(0)

    def failed(self, request, error):
        self.failures.append((request.size, error))

    async def done(self):
        while self.changes._task is not None:
            await asyncio.sleep(0.005)


async def test_first_at_once_followers_merged_newest_wins():
    recorder = Recorder()
    begin = asyncio.get_running_loop().time()
    for size in (3, 5, 4, 7, 6):
        await recorder.changes.submit(TargetRequest(size))
    await recorder.done()
    assert [size for _, size in recorder.applied] == [3, 6]
    first, second = (at - begin for at, _ in recorder.applied)
    assert first < 0.05
    assert MERGE_SECONDS - 0.01 <= second < MERGE_SECONDS + 0.1


async def test_one_in_flight_and_one_waiting():
    recorder = Recorder(seconds=0.3)
    first = asyncio.create_task(recorder.changes.submit(TargetRequest(3)))
    await asyncio.sleep(0.05)
    for size in (4, 5, 6):
        await asyncio.wait_for(recorder.changes.submit(TargetRequest(size)), 0.05)
    assert recorder.changes.pending == TargetRequest(6)
    await first
    await recorder.done()
    assert [size for _, size in recorder.applied] == [3, 6]


async def test_error_of_the_first_reaches_its_caller():
    recorder = Recorder()
    recorder.error = Conflict("no")
    with pytest.raises(Conflict):
        await recorder.changes.submit(TargetRequest(3))
    recorder.error = None
    await recorder.done()
    await recorder.changes.submit(TargetRequest(4))
    assert [size for _, size in recorder.applied] == [4]
    await recorder.done()


async def test_who_asks_again_after_a_refusal_is_told_again():
    recorder = Recorder()
    recorder.error = Conflict("No.")
    for _ in range(3):
        with pytest.raises(Conflict):
            await recorder.changes.submit(TargetRequest(4))
    recorder.error = None
    assert await recorder.changes.submit(TargetRequest(4))
    await recorder.done()
    assert [size for _, size in recorder.applied] == [4]
    assert recorder.failures == []


async def test_error_of_a_merged_one_is_reported():
    recorder = Recorder()
    await recorder.changes.submit(TargetRequest(3))
    recorder.error = Conflict("no")
    await recorder.changes.submit(TargetRequest(4))
    await recorder.done()
    assert [size for size, _ in recorder.failures] == [4]


async def test_stop_forgets_what_waits():
    recorder = Recorder(seconds=5)
    first = asyncio.create_task(recorder.changes.submit(TargetRequest(3)))
    await asyncio.sleep(0.01)
    await recorder.changes.submit(TargetRequest(4))
    await recorder.changes.stop()
    assert recorder.applied == []
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_caller_that_goes_away_does_not_stop_the_change():
    recorder = Recorder(seconds=0.05)
    first = asyncio.create_task(recorder.changes.submit(TargetRequest(3)))
    await asyncio.sleep(0.01)
    first.cancel()
    await recorder.done()
    assert [size for _, size in recorder.applied] == [3]


async def test_events_at_once_then_four_a_second():
    sent = []
    loop = asyncio.get_running_loop()
    publisher = Publisher(lambda cluster: sent.append((loop.time(), cluster)), 20.0)
    begin = loop.time()
    for _ in range(30):
        publisher.changed("a")
        await asyncio.sleep(0.005)
    publisher.changed("b")
    await asyncio.sleep(0.1)
    mine = [at - begin for at, cluster in sent if cluster == "a"]
    assert mine[0] < 0.005
    gaps = [b - a for a, b in pairwise(mine)]
    assert min(gaps) > 0.045
    assert 3 <= len(mine) <= 7
    assert [cluster for _, cluster in sent].count("b") == 1
    publisher.changed("b")
    publisher.changed("b")
    publisher.stop()
    await asyncio.sleep(0.1)
    assert [cluster for _, cluster in sent].count("b") <= 2


def test_history_of_engine_and_server_stand_where_they_happened():
    history = History(("created",))
    history.add("run started")
    history.follow(("2 to 4", "created"))
    history.follow(("2 to 4", "created"))
    history.add("run stopped")
    history.follow(("4 to 2", "2 to 4"))  # the engine dropped its oldest line
    assert history.lines == ("4 to 2", "run stopped", "2 to 4", "run started", "created")
