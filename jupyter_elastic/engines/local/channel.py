"""The way to the keeper of a cluster on this machine: its Unix socket."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ..channel import LINE_LIMIT, StreamChannel


class LocalChannel(StreamChannel):
    """Channel over ``keeper.sock``.

    Parameters
    ----------
    folder
        The keeper's own folder.
    ensure
        Starts the keeper where it does not live; False when this cluster is to have none any more.
    server
        What this server says about itself in ``hello``; read at each connection.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ensure: Callable[[], Awaitable[bool]],
        server: Callable[[], Mapping[str, Any] | None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        super().__init__(
            connect=self._connect_here,
            ensure=ensure,
            attach_argv=self._attach_here,
            server=server,
            clock=clock,
            name=folder.name,
            hint=f"Its log is {folder / 'keeper.log'}.",
        )

    async def _connect_here(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path = str(self._folder / "keeper.sock")
        return await asyncio.open_unix_connection(path, limit=LINE_LIMIT)

    def _attach_here(self, shell_id: str) -> list[str]:
        socket = self._folder / "shells" / f"{shell_id}.sock"
        return [sys.executable, "-I", str(self._folder / "keeper.pyz"), "attach", str(socket)]
