"""The arguments of the magics, and the same ones for the command line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Argument:
    """One argument, as ``argparse`` takes it."""

    names: tuple[str, ...]
    keywords: dict[str, Any] = field(default_factory=dict)


def _argument(*names: str, **keywords: Any) -> Argument:
    return Argument(names, keywords)


# Numbers are read by `ask`, so that a wrong one is answered with the limit and not with a type.
SIZE = _argument("size", metavar="SIZE", help="number of containers, launcher included")
CLUSTER = _argument(
    "--cluster", "-c", metavar="NAME", help="name or id; default: the only one, or the last named"
)
WAIT = _argument(
    "--wait",
    nargs="?",
    const=True,
    metavar="SECONDS",
    help="wait until it is done, at most SECONDS (300)",
)
PLAN = _argument("--plan", action="store_true", help="only say what would happen")
FORCE = _argument(
    "--force", action="store_true", help="also when a live run ends, restarts or waits"
)
QUIET = _argument("--quiet", "-q", action="store_true", help="print nothing")
SERVER = _argument(
    "--server", metavar="WHICH", help="socket path, process id or URL of the Jupyter server"
)
STOP_RUNS = _argument("--stop-runs", action="store_true", help="stop live runs first")
CREATE = (
    _argument("name", nargs="?", help="display name; default: training"),
    _argument("--size", default="2", metavar="N", help="containers, launcher included (2)"),
    _argument("--framework", default="horovod", help="horovod or horovod-elastic (horovod)"),
    _argument("--engine", help="where the containers come from"),
    _argument("--launcher", choices=("here", "pod"), help="here, or a container of its own"),
    _argument("--gpus", metavar="N", help="GPUs per container"),
    _argument("--gpu-kind", metavar="KIND", help="which GPUs, as the form names them"),
    _argument("--image", help="container image"),
    _argument("--shared-memory", metavar="SIZE", help="e.g. 8G"),
    _argument("--cpu", metavar="N", help="cores of each container"),
    _argument("--memory", metavar="SIZE", help="of each container, shared memory included: 16G"),
    _argument(
        "--storage",
        action="append",
        default=[],
        metavar="CLAIM[:PATH[:ro]]",
        help="a claim and where the containers see it; repeatable",
    ),
    _argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the containers; repeatable",
    ),
    _argument(
        "--node-label",
        action="append",
        default=[],
        metavar="LABEL=VALUE",
        help="only nodes with this label; repeatable",
    ),
    _argument("--script", help="the training script"),
    _argument(
        "--arguments",
        metavar="WORDS",
        help='arguments of the script in one text: --arguments="--epochs 3"',
    ),
    _argument("--kernelspec", help="whose Python trains; default: this kernel's"),
    _argument("--min-size", metavar="N", help="never fewer for a live run"),
    _argument("--max-size", metavar="N", help="never more for a live run"),
    _argument(
        "--pass-env",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="name of a variable of the server that the training gets; repeatable",
    ),
)


def _with_help(method: F) -> F:
    """Let ``--help`` show what the magic takes instead of doing it."""

    @functools.wraps(method)
    def answer(self: Any, line: str) -> Any:
        if not {"-h", "--help"} & set(line.split()):
            return method(self, line)
        magic: Any = getattr(self, method.__name__)
        print(magic.parser.format_help(), end="")
        return None

    return cast(F, answer)


def magic_with(*arguments: Argument) -> Callable[[F], F]:
    """Make a method a line magic with these arguments and a help that shows them."""
    from IPython.core import magic, magic_arguments

    arguing: Any = magic_arguments  # neither has usable types
    line_magic: Any = magic.line_magic

    def decorate(method: F) -> F:
        decorated = line_magic(_with_help(method))
        # Decorators apply from the inside out, and the help shows them in the reverse order.
        for item in reversed(arguments):
            decorated = arguing.argument(*item.names, **item.keywords)(decorated)
        finished: F = arguing.magic_arguments()(decorated)
        return finished

    return decorate
