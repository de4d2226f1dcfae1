"""All clusters of this machine at one moment, and what has to be put right when one is gone.

Blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...models import Health, HealthState
from ..base import EngineSnapshot
from . import creating, folders
from .allocation import Machine, reserved
from .facts import facts_of
from .records import Record
from .store import Loaded, Records, Store


class Overview:
    """Reads the store.

    Parameters
    ----------
    machine
        Returns this machine as it is known now.
    shared
        The machine's shared host folder, if clusters may have it.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        machine: Callable[[], Machine],
        shared: Path | None,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._machine = machine
        self._shared = shared
        self._clock = clock
        self._known: Records = {}
        self._health = Health("live", clock())

    def load(self) -> Loaded:
        """Read all records, share out what became free, tidy up after clusters that are gone."""
        loaded = self._store.load()
        now = self._clock()
        if creating.settle(dict(loaded.records), self._machine(), now):
            self._store.transact(lambda records: creating.settle(records, self._machine(), now))
            loaded = self._store.load()
        self._tidy(loaded.records)
        return loaded

    def snapshot(self) -> EngineSnapshot:
        """Return all clusters as they are now."""
        loaded = self.load()
        here = self._machine()
        held = reserved(loaded.records.values(), here)
        clusters = tuple(facts_of(record, held, here) for record in loaded.records.values())
        return EngineSnapshot(self.health(loaded), clusters)

    def health(self, loaded: Loaded) -> Health:
        """Return how well the state can be read."""
        broken = [f"{name}: {why}" for name, why in loaded.broken.items()]
        text = f"Not readable in {self._store.folder}: {'; '.join(broken)}" if broken else ""
        return self.set_health("live", text)

    def set_health(self, state: HealthState, text: str) -> Health:
        """Return the health with the instant since when it is so."""
        if (self._health.state, self._health.text) != (state, text):
            self._health = Health(state, self._clock(), text)
        return self._health

    def _tidy(self, records: Records) -> None:
        """Give back the host folders of clusters that a keeper released by its own rules."""
        for cluster in self._known.keys() - records.keys():
            give_back_folder(self._known[cluster])
        self._known = dict(records)
        shared = self._shared
        if shared is None or not self._void(shared, records):
            return

        # Under the lock: a creation has its claim a moment before its record.
        def sweep(present: Records) -> None:
            claim = self._void(shared, present)
            if claim is not None:
                folders.give_back_shared(shared, claim.cluster)

        self._store.transact(sweep)

    def _void(self, shared: Path, records: Records) -> folders.Claim | None:
        """Return the shared folder's claim when it is of this store and its cluster is gone."""
        claim = folders.read_claim(shared)
        if claim is None or claim.cluster in records:
            return None
        # A record that cannot be read is not one that is gone.
        path = self._store.path(claim.cluster)
        return claim if claim.state_file == str(path) and not path.exists() else None


def give_back_folder(record: Record) -> None:
    """Remove a cluster's host files, and its claim or its own folder."""
    folder = Path(record.host_folder)
    if record.shared:
        folders.give_back_shared(folder, record.id)
    else:
        folders.remove_own(folder)
