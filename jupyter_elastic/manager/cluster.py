"""One cluster's loop: follows its keeper, makes the next steps, never gives up."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable

from ..engines.base import (
    ClusterFacts,
    Engine,
    KeeperChannel,
    KeeperStatus,
    ReleaseRules,
)
from ..engines.tasks import wait_or_timeout
from ..errors import Conflict, ElasticError, NotFound, Unreachable
from ..hostfile.membership import next_look, next_members
from ..models import HostEntry, HostList, Offer, Reason
from ..planning.joining import Announcer, batched, live_elastic
from ..planning.reconcile import Commit, Publish, Remove, next_steps
from ..telemetry import audit
from .config import ManagerConfig

FIRST_RETRY = 0.1
LAST_RETRY = 5.0
REPUBLISH_SECONDS = 2.0
REVIVE_SECONDS = 1.0
FIRST_WORD_SECONDS = 3.0
_log = logging.getLogger(__name__)


class ClusterLoop:
    """Drives one cluster towards its target.

    Parameters
    ----------
    changed
        Called after each change of what is known.
    now
        The clock, seconds since 1970.
    """

    def __init__(
        self,
        engine: Engine,
        facts: ClusterFacts,
        config: ManagerConfig,
        changed: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        self.engine = engine
        self.facts = facts
        self.keeper: KeeperStatus | None = None
        self.channel: KeeperChannel | None = None
        self.offers: tuple[Offer, ...] = ()
        self.trouble: Reason | None = None
        self.trouble_since: float | None = None
        self._config = config
        self._changed = changed
        self._now = now
        self._poke = asyncio.Event()
        self._seen = asyncio.Event()
        self._spoken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._published: tuple[int, float] = (0, 0.0)
        self._rules: ReleaseRules | None = None
        self._retry = FIRST_RETRY
        self._announcer = Announcer()

    @property
    def id(self) -> str:
        """The cluster's id."""
        return self.facts.id

    def start(self) -> None:
        """Begin to follow and to act."""
        self._tasks = [
            asyncio.create_task(self._follow_keeper(), name=f"elastic keeper {self.id}"),
            asyncio.create_task(self._act(), name=f"elastic steps {self.id}"),
            asyncio.create_task(self._revive(), name=f"elastic revive {self.id}"),
        ]
        self._poke.set()

    async def stop(self) -> None:
        """Cancel everything; changes nothing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def update(self, facts: ClusterFacts) -> None:
        """Take over what the engine sees now."""
        # A snapshot taken just before our own commit must not take the newer list back.
        if facts.host_list.generation < self.facts.host_list.generation and not facts.releasing:
            facts = dataclasses.replace(facts, host_list=self.facts.host_list)
        self.facts = facts
        self._seen.set()
        self._seen = asyncio.Event()
        self._poke.set()

    async def wait_until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Wait until `true` holds after a snapshot, at most `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not true():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await wait_or_timeout(self._seen, left)
        return True

    async def runs_known(self, seconds: float) -> bool:
        """Wait for the keeper's first word: until then a live run could be overlooked."""
        if self._over():
            return True
        await wait_or_timeout(self._spoken, seconds)
        return self._spoken.is_set()

    @property
    def has_spoken(self) -> bool:
        """Whether the keeper has said what it holds, or will never say it."""
        return self._spoken.is_set() or self._over()

    def need_channel(self) -> KeeperChannel:
        """Return the keeper's channel.

        Raises
        ------
        Unreachable
            While the keeper does not answer.
        """
        if self.facts.ended is not None:
            raise Conflict(self.facts.ended.text, hint="Release the cluster.", code="ended")
        if self.channel is None or self.keeper is None or not self.keeper.reachable:
            raise Unreachable(
                "The keeper of this cluster does not answer.",
                hint="It is being restarted; try again in a few seconds.",
                code="keeper_unreachable",
            )
        return self.channel

    async def channel_soon(self) -> KeeperChannel:
        """Return the channel; a keeper that has only just been started gets a moment to answer.

        Raises
        ------
        Unreachable
            While the keeper does not answer.
        """
        await self.runs_known(FIRST_WORD_SECONDS)
        return self.need_channel()

    def poke(self) -> None:
        """Look at the next steps again."""
        self._poke.set()

    async def _act(self) -> None:
        wait: float | None = None
        while True:
            await wait_or_timeout(self._poke, wait)
            self._poke.clear()
            try:
                wait = await self._step()
                self._recovered()
            except Conflict:
                # Somebody else was first; the next snapshot shows what to adopt.
                wait = self._backoff()
            except Exception as error:
                self._troubled(error)
                wait = self._backoff()

    async def _step(self) -> float | None:
        """Make the next steps once; return the seconds until it is worth looking again."""
        now = self._now()
        agreed = self.facts.host_list
        members, joins_at = self._members(now)
        steps = next_steps(
            self.facts, self.keeper, members, now, answer_seconds=self._config.drain_answer
        )
        if steps.offers != self.offers:
            self.offers = steps.offers
            self._changed(self.id)
        looks = (steps.wake_at, joins_at, next_look(self.facts, agreed, now))
        again = [max(0.05, instant - now) for instant in looks if instant is not None]
        for action in steps.actions:
            if isinstance(action, Commit):
                await self.engine.commit_hosts(self.id, action.hosts)
                self.facts = dataclasses.replace(self.facts, host_list=action.hosts)
                self._changed(self.id)
            elif isinstance(action, Publish):
                await self._publish(action.hosts, now)
                again.append(REPUBLISH_SECONDS)
            else:
                await self._remove(action)
        await self._set_rules()
        return min(again, default=None)

    def _members(self, now: float) -> tuple[tuple[HostEntry, ...], float | None]:
        """Return the list that should be agreed on now, and when it changes by time alone."""
        members = next_members(self.facts, self.facts.host_list, now)
        if not members or live_elastic(self.keeper) is None:
            return self._announcer.apply(self.facts, self.keeper, members, now)
        members, waits = batched(self.facts, members, self._config.join_batch, now)
        members, away = self._announcer.apply(self.facts, self.keeper, members, now)
        return members, min((look for look in (waits, away) if look is not None), default=None)

    async def _publish(self, hosts: HostList, now: float) -> None:
        generation, at = self._published
        if self.channel is None or (
            generation == hosts.generation and now - at < REPUBLISH_SECONDS
        ):
            return
        await self.channel.publish(hosts)
        self._published = (hosts.generation, now)

    async def _remove(self, action: Remove) -> None:
        await self.engine.remove(self.id, action.uid, note=action.note)
        if action.note:
            audit("drain-end", self.id, "nobody", container=action.name, why=action.note)

    async def _set_rules(self) -> None:
        """Hand the release rules to the keeper when they changed or it is a new one."""
        if self.channel is None or self.keeper is None or not self.keeper.reachable:
            return
        config = self._config
        lifetime = config.max_lifetime
        rules = ReleaseRules(
            on_run_end=self.facts.settings.release_policy,
            after_seconds=config.release_after,
            idle_seconds=self.engine.idle_seconds
            if config.idle_release is None
            else config.idle_release,
            deadline=None if lifetime is None else self.facts.created + lifetime,
        )
        if rules != self._rules:
            await self.channel.set_rules(rules)
            self._rules = rules

    async def _follow_keeper(self) -> None:
        delay = FIRST_RETRY
        while True:
            if self._over():
                await asyncio.sleep(REVIVE_SECONDS)
                continue
            try:
                self.channel = await self.engine.keeper(self.id)
                self._rules = None
                async for status in self.channel.watch():
                    delay = FIRST_RETRY
                    self._heard(status)
            except NotFound:
                await asyncio.sleep(REVIVE_SECONDS)
            except Exception as error:
                self._lost(error)
                await asyncio.sleep(delay)
                delay = min(LAST_RETRY, delay * 2)

    async def _revive(self) -> None:
        """Start the keeper again while it does not answer; its channel reconnects by itself."""
        delay = REVIVE_SECONDS
        while True:
            await asyncio.sleep(delay)
            keeper = self.keeper
            if keeper is None or keeper.reachable or self._over():
                delay = REVIVE_SECONDS
                continue
            try:
                await self.engine.keeper(self.id)
            except Exception as error:
                self._lost(error)
                delay = min(LAST_RETRY, delay * 2)

    def _over(self) -> bool:
        return self.facts.ended is not None or self.facts.releasing

    def _heard(self, status: KeeperStatus) -> None:
        before, self.keeper = self.keeper, status
        if status.reachable:
            self._spoken.set()
        if status == before:
            return
        if before is None or before.reachable != status.reachable:
            self._published = (0, 0.0)
            self._rules = None
        failed_now = status.error is not None
        if failed_now and (before is None or before.error is None):
            self.trouble_since = self._now()
        self._changed(self.id)
        self._poke.set()

    def _lost(self, error: Exception) -> None:
        if self.keeper is not None and self.keeper.reachable:
            self.keeper = dataclasses.replace(self.keeper, reachable=False, since=self._now())
        self._troubled(error)

    def _troubled(self, error: Exception) -> None:
        if isinstance(error, ElasticError):
            reason = Reason(error.code, error.message, error.hint)
        else:
            reason = Reason("bug", "A step failed and is tried again.", type(error).__name__)
            _log.error("Cluster %s: a step failed", self.id, exc_info=error)
        if self.trouble != reason:
            _log.warning("Cluster %s: %s", self.id, reason.text)
            self.trouble = reason
            self.trouble_since = self._now()
            self._changed(self.id)

    def _recovered(self) -> None:
        self._retry = FIRST_RETRY
        reachable = self.keeper is not None and self.keeper.reachable
        if self.trouble is not None and (reachable or self._over()):
            self.trouble = None
            if self.keeper is None or self.keeper.error is None:
                self.trouble_since = None
            self._changed(self.id)

    def _backoff(self) -> float:
        wait, self._retry = self._retry, min(LAST_RETRY, self._retry * 2)
        return wait
