"""The Python API: the same REST as the panel, over the machine-local socket.

>>> from jupyter_elastic.client import Client
>>> client = Client()
>>> client.scale(4, wait=60)  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from . import transport
from .choose import choose
from .discovery import Server, find_server
from .models import Cluster, Launch, Options, Plan, State
from .waiting import WAIT_SECONDS, wait_until_gone, wait_until_ready
from .wire import from_json

Wait = bool | float | None


@dataclass(frozen=True)
class Hosts:
    """The host file: where it is, its lines, and whether it shows the agreed list."""

    cluster: str
    path: str
    lines: tuple[str, ...]
    in_sync: bool
    frozen_since: float | None = None
    reason: str = ""


class Client:
    """Create, see, scale and release training clusters of the Jupyter server above this process.

    Parameters
    ----------
    server
        Which server, when there is not exactly one above this process: its socket path, process
        id or URL.

    Raises
    ------
    NoServer
        When no server, or more than one, was found.
    """

    def __init__(self, server: str | None = None) -> None:
        self._which = server
        self.server: Server = find_server(server)
        self.last: str | None = None  # the cluster created or named last
        self._etag: str | None = None
        self._state: State | None = None

    def request(self, method: str, route: str, body: Any = None) -> Any:
        """Call one route and return its JSON."""
        return self._send(method, route, body).body

    def _send(
        self, method: str, route: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> transport.Answer:
        try:
            return transport.request(self.server.socket, method, route, body, headers=headers)
        except transport.NotConnected:
            # A server that was started again listens on a socket of another name.
            found = find_server(self._which)
            if found.socket == self.server.socket:
                raise
            self.server = found
            return transport.request(found.socket, method, route, body, headers=headers)

    def state(self) -> State:
        """Return everything the server knows; an unchanged state costs no body."""
        headers = {"If-None-Match": self._etag} if self._etag and self._state else {}
        answer = self._send("GET", "clusters", headers=headers)
        if answer.status == 304 and self._state is not None:
            return self._state
        self._state = from_json(State, answer.body)
        self._etag = answer.etag
        return self._state

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the clusters."""
        return self.state().clusters

    def options(self) -> Options:
        """Return what a new cluster may be."""
        return from_json(Options, self.request("GET", "options"))

    def cluster(self, cluster: str | None = None) -> Cluster:
        """Return one cluster.

        Parameters
        ----------
        cluster
            Its id or name; None: the only one, else the one created or named last.

        Raises
        ------
        NotFound, Conflict
            When there is none, or more than one fits; the message lists them.
        """
        found = choose(self.clusters(), cluster, self.last)
        if cluster is not None:
            self.last = found.id
        return found

    def only(self, cluster: str | None = None) -> Cluster:
        """Return one cluster as :meth:`cluster`, but never guess: for what cannot be undone."""
        return choose(self.clusters(), cluster, None)

    def create(
        self,
        name: str,
        *,
        size: int = 2,
        framework: str = "horovod",
        wait: Wait = None,
        **more: Any,
    ) -> Cluster:
        """Create a cluster.

        Parameters
        ----------
        name
            Its display name.
        size
            Containers, launcher included.
        wait
            True or seconds: wait until all are ready.
        more
            ``engine``, ``launcher_mode``, ``gpus_per_container``, ``gpu_kind``, ``image``,
            ``shared_memory`` and ``memory`` (bytes), ``cpu`` (cores), ``env`` and
            ``node_selector`` (dictionaries), ``secret_env``, ``tolerations``, ``storage``,
            ``script``, ``arguments``, ``kernelspec``, ``min_size``, ``max_size``, ``pass_env``,
            ``operation``.

        Raises
        ------
        ElasticError
            What is not accepted, which limit, and what to do.
        """
        body = {**more, "name": name, "size": size, "framework": framework}
        made = from_json(Cluster, self.request("POST", "clusters", body))
        self.last = made.id
        return self.wait_ready(made.id, size, wait) if _seconds(wait) is not None else made

    def plan_create(self, name: str, **fields: Any) -> Plan:
        """Return what :meth:`create` would do."""
        body = {"size": 2, "framework": "horovod", **fields, "name": name, "dry_run": True}
        return from_json(Plan, self.request("POST", "clusters", body))

    def plan(self, size: int, *, cluster: str | None = None) -> Plan:
        """Return what :meth:`scale` would do."""
        found = self.cluster(cluster)
        return from_json(Plan, self.request("POST", _route(found, "plan"), {"size": size}))

    def scale(
        self, size: int, *, cluster: str | None = None, wait: Wait = None, force: bool = False
    ) -> Plan:
        """Make `size` containers the target, launcher included.

        Parameters
        ----------
        wait
            True or seconds: wait until that many are ready.
        force
            Go on although a live run ends, restarts or falls below its minimum.

        Raises
        ------
        ElasticError
            E.g. :class:`LimitReached` with the limit and who set it.
        """
        found = self.cluster(cluster)
        body: dict[str, Any] = {"size": size}
        if force:
            body["force"] = True
        plan = from_json(Plan, self.request("PUT", _route(found, "target"), body))
        self.wait_ready(found.id, size, wait)
        return plan

    def release(
        self, *, cluster: str | None = None, stop_runs: bool = False, wait: Wait = None
    ) -> None:
        """Give a cluster back.

        Parameters
        ----------
        stop_runs
            Also when a run lives: it is stopped first.
        wait
            True or seconds: wait until all of it is gone.

        Raises
        ------
        Conflict
            When a run lives and `stop_runs` is false.
        """
        found = self.cluster(cluster)
        query = urlencode({"stop_runs": "true" if stop_runs else "false"})
        self.request("DELETE", f"{_route(found)}?{query}")
        if self.last == found.id:
            self.last = None
        seconds = _seconds(wait)
        if seconds is not None:
            wait_until_gone(self.clusters, found, seconds)

    def command(self, *, cluster: str | None = None) -> Launch:
        """Return the command that launches the training."""
        return from_json(Launch, self.request("GET", _route(self.cluster(cluster), "launch")))

    def hosts(self, *, cluster: str | None = None) -> Hosts:
        """Return the host file: the real lines where it is on this machine."""
        found = self.cluster(cluster)
        file = found.hostfile
        lines = tuple(
            f"{item.host} slots={found.slots}"
            for item in found.containers
            if item.state == "ready" and item.host
        )
        # In mode `pod` the path is one of the launcher's machine, not of this one.
        if found.launcher_mode == "here" and os.path.isfile(file.hostfile):
            with open(file.hostfile, encoding="utf-8") as opened:
                lines = tuple(opened.read().splitlines())
        reason = file.reason.text if file.reason else ""
        return Hosts(found.id, file.hostfile, lines, file.in_sync, file.frozen_since, reason)

    def wait_ready(
        self,
        cluster_id: str,
        size: int,
        wait: Wait,
        progress: Callable[[str], None] | None = None,
    ) -> Cluster:
        """Wait until `size` containers are ready and the host file shows them.

        Raises
        ------
        WaitTimeout
            With who is not ready and why.
        """
        seconds = _seconds(wait)
        if seconds is None:
            return choose(self.clusters(), cluster_id, None)
        return wait_until_ready(self.clusters, cluster_id, size, seconds, progress)


def _seconds(wait: Wait) -> float | None:
    if wait is None or wait is False:
        return None
    return WAIT_SECONDS if wait is True else float(wait)


def _route(cluster: Cluster, *rest: str) -> str:
    return "/".join(quote(part, safe="") for part in ("clusters", cluster.id, *rest))
