"""The ways to the keepers in launcher pods, and to their shells."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import ElasticError, Unreachable
from ...keeper import build
from ...keeper.kube.access import Access
from ...keeper.paths import ensure_private
from ..bridging import AttachBridge
from ..channel import StreamChannel
from ..local.channel import LocalChannel
from . import exec as execution
from .here import Here
from .layout import CONTAINER, KEEPER
from .streampair import StreamPair

END_SECONDS = 10.0
HEARTBEAT_SECONDS = 20.0


class Launchers:
    """One channel per cluster, and one bridge per shell that a terminal shows.

    Parameters
    ----------
    access
        Where to exec.
    folder
        Private folder for the sockets of terminals.
    launcher
        Returns the name of a cluster's launcher pod that runs, or None.
    server
        What this server says about itself.
    here
        This very pod, where it is the launcher itself.
    is_here
        Whether a cluster's launcher is a Jupyter pod.
    gone
        Called when a keeper here is to be none any more: it may have given its cluster back.
    """

    def __init__(
        self,
        access: Access,
        folder: Path,
        launcher: Callable[[str], str | None],
        server: Callable[[], Mapping[str, Any] | None],
        here: Here,
        is_here: Callable[[str], bool],
        gone: Callable[[], None],
    ) -> None:
        self._access = access
        self._folder = folder
        self._launcher = launcher
        self._server = server
        self._here = here
        self._is_here = is_here
        self._gone = gone
        self._channels: dict[str, StreamChannel] = {}
        self._bridges: dict[tuple[str, str], AttachBridge] = {}

    def channel(self, cluster: str) -> StreamChannel:
        """Return the channel to a cluster's keeper; it connects by itself, for ever."""
        channel = self._channels.get(cluster)
        if channel is None:
            channel = self._on_this_machine(cluster) if self._is_here(cluster) else None
            channel = channel or self._in_a_pod(cluster)
            self._channels[cluster] = channel
            channel.open()
        return channel

    def _in_a_pod(self, cluster: str) -> StreamChannel:
        return StreamChannel(
            name=cluster,
            connect=lambda: self._bridge(cluster, "keeper.sock"),
            ensure=_always,
            server=self._server,
            attach_argv=lambda shell: self._attach_argv(cluster, shell),
            heartbeat_seconds=HEARTBEAT_SECONDS,
            hint="The launcher's pod says more: open its log.",
        )

    def _on_this_machine(self, cluster: str) -> StreamChannel:
        async def ensure() -> bool:
            """Start the keeper where it does not live."""
            wanted = await asyncio.to_thread(self._here.ensure, cluster)
            if not wanted:
                self._gone()
            return wanted

        return LocalChannel(self._here.folder(cluster), ensure=ensure, server=self._server)

    async def introduce(self) -> None:
        """Say again who this server is."""
        for channel in list(self._channels.values()):
            await channel.introduce()

    async def keep(self, clusters: set[str]) -> None:
        """Let go of the ways to all clusters but these."""
        for cluster in self._channels.keys() - clusters:
            await self._channels.pop(cluster).close()
        for key in [key for key in self._bridges if key[0] not in clusters]:
            await self._bridges.pop(key).close()

    async def end(self, cluster: str) -> None:
        """Ask the keeper to stop runs and shells politely; one that does not answer ends anyway."""
        channel = self._channels.pop(cluster, None)
        if channel is None:
            return
        with contextlib.suppress(ElasticError, asyncio.TimeoutError, OSError):
            await channel.request("end", seconds=END_SECONDS + 5, grace_seconds=END_SECONDS)
        await channel.close()

    async def close(self) -> None:
        """Let go of everything; keepers and shells live on."""
        await self.keep(set())

    async def _bridge(self, cluster: str, socket: str) -> tuple[StreamPair, StreamPair]:
        pod = self._launcher(cluster)
        if pod is None:
            raise Unreachable("The launcher is not running yet.", code="launcher_not_running")
        command = ["python3", "-I", f"{KEEPER}/keeper.pyz", "bridge", f"{KEEPER}/{socket}"]
        stream = await execution.stream(
            self._access, self._access.namespace, pod, CONTAINER, command
        )
        pair = StreamPair(stream)
        return pair, pair

    def _attach_argv(self, cluster: str, shell: str) -> list[str]:
        program = Path(ensure_private(str(self._folder))) / "keeper.pyz"
        build.build(str(program))
        bridge = self._bridges.get((cluster, shell))
        if bridge is None:
            bridge = AttachBridge(
                self._folder, lambda: self._bridge(cluster, f"shells/{shell}.sock")
            )
            self._bridges[cluster, shell] = bridge
        return [sys.executable, "-I", str(program), "attach", str(bridge.open())]


async def _always() -> bool:
    return True
