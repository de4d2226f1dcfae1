"""Follows one kind of objects: lists them, watches from there, and never gives up.

What it holds is a cache. When the server cannot be asked, the cache stays as it was and `health`
says since when; stale objects are better than none.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from typing import Any, Callable, Dict

from .backoff import Backoff, Pace
from .calls import Api
from .errors import ApiError, Missing, Unavailable, from_status
from .failures import Failures
from .health import Record, ReflectorHealth
from .kinds import Kind
from .lines import Event
from .store import Store, version_of
from .streams import Watch

__all__ = ["Reflector", "ReflectorHealth"]

#: Bookmarks come every minute: this much silence is a dead connection.
SILENCE_SECONDS = 70.0
#: Of a watch, where the server sends bookmarks; below the life of most tokens and rights.
WATCH_SECONDS = (240, 480)
#: Where it has never sent one, so that silence stays bounded.
PLAIN_WATCH_SECONDS = 55
#: After a watch that ended at once the next one proves itself before it counts as live.
PROBE_SECONDS = 5
#: A watch that ended sooner, and said nothing, failed.
SHORT_SECONDS = 1.0

_log = logging.getLogger(__name__)

Json = Dict[str, Any]


class Reflector:
    """A cache of one kind of objects that one daemon thread keeps like the cluster.

    Parameters
    ----------
    api
        Where to ask.
    kind, selector
        For what; a label selector.
    trim
        What to keep of an object; `metadata` must keep uid, name and resourceVersion.
    on_change
        Called in the thread after objects or state changed, once for all that came together.
    rng, clock
        Chance, and monotonic seconds.
    wait
        Waits for an event for so many seconds and returns whether it is set.
    silence
        Seconds without a byte after which a watch counts as dead.
    """

    def __init__(
        self,
        api: Api,
        kind: Kind,
        *,
        selector: str = "",
        trim: Callable[[Json], Json] | None = None,
        on_change: Callable[[], None] | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._api = api
        self._kind = kind
        self._selector = selector
        self._trim = trim
        self._on_change = on_change
        # Chance spreads the tries of many; it hides nothing.
        self._rng = rng or random.Random()  # noqa: S311
        self._clock = clock
        self._wait = wait
        self._silence = silence
        self._failures = Failures(Backoff(self._rng, clock), self._rng)
        self._pace = Pace(clock)
        self._record = Record(api.server_now, clock)
        self._lock = threading.Lock()
        self._store = Store()
        self._wake = threading.Event()
        self._stopping = False
        self._watching: Watch | None = None
        self._version: str | None = None
        self._bookmarks = False
        self._logged = ""
        name = f"jupyter-elastic {kind.plural}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End soon, and wait for that, at most `timeout` seconds."""
        with self._lock:
            self._stopping = True
            watching = self._watching
        self._wake.set()
        if watching is not None:
            watching.interrupt()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def poke(self) -> None:
        """Try now, if it waits."""
        self._wake.set()

    def objects(self) -> dict[str, Json]:
        """Return the newest objects by uid; nobody may change them."""
        with self._lock:
            return self._store.copy()

    @property
    def health(self) -> ReflectorHealth:
        """How good the objects are."""
        return self._record.health

    def require_fresh(self, max_age: float = 2 * SILENCE_SECONDS) -> None:
        """Check, before something is decided on the objects, that they are the cluster's.

        Parameters
        ----------
        max_age
            Seconds since the server last said something.

        Raises
        ------
        Unavailable
            They are not.
        """
        health, age = self._record.health, self._record.age
        if health.state == "live" and age <= max_age:
            return
        why = health.text or f"The server last said something {age:.0f} s ago."
        raise Unavailable(f"What is known may be old. {why}", verb="watch", resource=self._plural)

    @property
    def _plural(self) -> str:
        return self._kind.plural

    # All below runs in the thread.

    def _run(self) -> None:
        while not self._stopping:
            try:
                delay = self._round()
            except ApiError as error:
                delay = self._refused(error)
            except Exception as error:
                delay = self._survived(error)
            self._pause(delay)

    def _round(self) -> float:
        """List if need be, watch until the server ends it, and return the seconds to wait."""
        if self._version is None:
            self._list()
        opened = self._clock()
        spoke = self._watch()
        if not spoke and self._clock() - opened < SHORT_SECONDS and not self._stopping:
            raise self._failures.hollow_watch(self._plural)
        self._failures.good()
        return self._rng.uniform(0.05, 0.25)

    def _list(self) -> None:
        self._take_turn()
        items, version = self._api.list(self._kind, self._selector, trim=self._slim, retry=False)
        with self._lock:
            held = len(self._store)
            changed = self._store.replace(items)
            left = len(self._store)
        self._version = version
        self._record.listed(version)
        self._tell(changed)
        if not left and (held or self.health.state == "gone"):
            self._check_namespace()

    def _watch(self) -> bool:
        """Follow a watch to its end, and return whether the server spoke in it."""
        self._take_turn()
        seconds = self._watch_seconds()
        version = self._version or ""
        with self._api.watch(
            self._kind, version, self._selector, seconds, silence=self._silence
        ) as watch:
            with self._lock:
                if self._stopping:
                    return False
                self._watching = watch
            try:
                return self._follow(watch)
            finally:
                with self._lock:
                    self._watching = None

    def _watch_seconds(self) -> int:
        if self._failures.hollow:
            return PROBE_SECONDS
        return self._rng.randint(*WATCH_SECONDS) if self._bookmarks else PLAIN_WATCH_SECONDS

    def _follow(self, watch: Watch) -> bool:
        self._record.heard()
        self._failures.healthy()
        if not self._failures.hollow:
            self._enter("live")
        spoke = changed = False
        try:
            for event in watch:
                changed = self._take(event) or changed
                spoke = True
                if not watch.pending:
                    self._failures.good()
                    self._enter("live")
                    self._tell(changed)
                    if changed and not self.objects():
                        self._check_namespace()
                    changed = False
        finally:
            self._tell(changed)
        return spoke

    def _take(self, event: Event) -> bool:
        """Take one event, and return whether an object changed."""
        changed = False
        if event.kind == "ERROR":
            raise from_status(event.object, verb="watch", resource=self._plural)
        if event.kind in ("ADDED", "MODIFIED", "DELETED"):
            item = self._slim(event.object)
            with self._lock:
                changed = self._store.apply(event.kind, item)
        elif event.kind == "BOOKMARK":
            self._bookmarks = True
        else:
            self._record.count(odd=1)
            return False
        self._version = version_of(event.object) or self._version
        self._record.heard_event(self._version)
        return changed

    def _slim(self, item: Json) -> Json:
        """Return what is kept of an object; one that cannot be trimmed is kept whole."""
        metadata = item.get("metadata")
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
        if self._trim is None:
            return item
        try:
            return self._trim(item)
        except Exception as error:
            self._record.count(odd=1)
            self._log_once(error)
            return item

    def _check_namespace(self) -> None:
        """Where all objects vanished, see whether the namespace did."""
        self._take_turn()
        if self._api.namespace_ends():
            raise Missing(f"The namespace {self._api.namespace} is gone.")

    def _refused(self, error: ApiError) -> float:
        if self._stopping:
            return 0.0
        verdict = self._failures.judge(error)
        if verdict.relist:
            self._version = None
            self._record.forget_version()
        if verdict.state:
            self._enter(verdict.state, str(error))
        return verdict.delay

    def _survived(self, error: Exception) -> float:
        """Go on after a fault of our own."""
        self._log_once(error)
        self._record.count(restarts=1)
        self._version = None
        self._record.forget_version()
        self._enter("failed", f"A fault of this program: {type(error).__name__}.")
        return self._failures.wait()

    def _log_once(self, error: Exception) -> None:
        what = f"{type(error).__name__}: {error}"
        if what != self._logged:
            self._logged = what
            _log.error("Following %s failed", self._plural, exc_info=error)

    def _enter(self, state: str, text: str = "") -> None:
        self._tell(self._record.enter(state, text))

    def _tell(self, changed: bool) -> None:
        if not changed or self._on_change is None or self._stopping:
            return
        try:
            self._on_change()
        except Exception as error:
            self._log_once(error)

    def _take_turn(self) -> None:
        self._pause(self._pace.wait(), patient=True)
        self._pace.went()

    def _pause(self, seconds: float, *, patient: bool = False) -> None:
        until = self._clock() + seconds
        while not self._stopping:
            left = until - self._clock()
            if left <= 0:
                return
            if self._wait(self._wake, left):
                self._wake.clear()
                if not patient:
                    return
