"""Horovod with a fixed set of hosts: ``horovodrun --hostfile``."""

from __future__ import annotations

from ..errors import BadInput
from .base import CommandContext, Framework


def need_hosts(context: CommandContext) -> None:
    """Refuse a command for a cluster that has no agreed host list yet."""
    if not context.hosts:
        raise BadInput(
            "The host file is empty: the launcher is not ready yet.",
            hint="Wait until the launcher is ready.",
            code="no_hosts",
        )


class Horovod(Framework):
    """The file is read once, so a change reaches the next launch only."""

    name = "horovod"
    title = "Horovod"
    program = "horovodrun"
    growth = "restart needed"
    shrink = "restart needed"

    def command(self, context: CommandContext) -> tuple[str, ...]:
        """``horovodrun -np 2 --hostfile /etc/mpi/hostfile python train.py``."""
        need_hosts(context)
        return (
            self.program,
            "-np",
            str(context.np),
            "--hostfile",
            context.hostfile,
            "python",
            context.script,
            *context.arguments,
        )

    def files(self, context: CommandContext) -> tuple[str, ...]:
        """Return the host file."""
        return (context.hostfile,)
