"""Elastic Horovod: ``horovodrun --host-discovery-script`` follows the host list while it trains."""

from __future__ import annotations

import sys

from .base import CommandContext, Framework
from .horovod import need_hosts
from .script import has_elastic_code


class HorovodElastic(Framework):
    """Grows and shrinks while it trains, when the script is written for it."""

    name = "horovod-elastic"
    title = "Horovod elastic"
    program = "horovodrun"
    growth = "live"
    shrink = "live"
    elastic = True
    # A rank that was taken off the list ends with SIGABRT or 255 ("has been removed from elastic
    # job").
    normal_exits = frozenset({0, 134, 255})

    def command(self, context: CommandContext) -> tuple[str, ...]:
        """``horovodrun -np 2 --min-np 1 --max-np 8 --host-discovery-script PATH python X``."""
        need_hosts(context)
        smallest = min(context.min_size * context.slots, context.np)
        largest = max(context.max_size * context.slots, context.np)
        return (
            self.program,
            "-np",
            str(context.np),
            "--min-np",
            str(smallest),
            "--max-np",
            str(largest),
            *self._interfaces(context),
            "--host-discovery-script",
            context.discovery_script,
            "python",
            context.script,
            *context.arguments,
        )

    @staticmethod
    def _interfaces(context: CommandContext) -> tuple[str, ...]:
        # Without this flag horovodrun finds the interface by comparing two hosts, so a start with
        # one host would wait ten minutes for a second one.
        if len(context.hosts) != 1 or not context.loopback:
            return ()
        return ("--network-interfaces", "lo0" if sys.platform == "darwin" else "lo")

    def files(self, context: CommandContext) -> tuple[str, ...]:
        """Return the discovery script, and the host file beside it."""
        return (context.discovery_script, context.hostfile)

    def script_warning(self, source: str) -> str | None:
        """Warn about a script without elastic code: the slider will not reach it."""
        if has_elastic_code(source):
            return None
        return (
            "This script has no elastic code (hvd.elastic), so the slider will not reach it "
            "while it trains. Choose Horovod, or see examples/ for an elastic script."
        )
