"""``jupyter elastic``: the magics for a shell. Standard library only.

Exit codes: 0 done, 1 an error, 2 no server found or wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import __version__, answers, ask
from .client import Client
from .discovery import NoServer
from .errors import BadInput, ElasticError
from .magics.arguments import (
    CLUSTER,
    CREATE,
    FORCE,
    PLAN,
    QUIET,
    SERVER,
    SIZE,
    STOP_RUNS,
    WAIT,
    Argument,
)
from .models import to_json

_JSON = Argument(("--json",), {"action": "store_true", "help": "print JSON"})
_COMMON = (QUIET, SERVER, _JSON)
_NAMESPACE = Argument(("--namespace",), {"default": "", "help": "else that of the context"})
_CONTEXT = Argument(
    ("--context",), {"default": "", "help": "of the kubeconfig, else its current one"}
)
_KUBECONFIG = Argument(("--kubeconfig",), {"default": "", "help": "path of a kubeconfig"})
_WHERE = (_NAMESPACE, _CONTEXT, _KUBECONFIG)
_DELETE = Argument(("--delete",), {"action": "store_true", "help": "delete what is listed"})

Action = Callable[[Client, argparse.Namespace], answers.Shown]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = _parser().parse_args(argv)
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except ElasticError as error:
        print(f"jupyter elastic: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        if getattr(words, "json", False):
            print(json.dumps(error.to_json()))
        usage = isinstance(error, (NoServer, _Usage)) or error.code == "no_server"
        return 2 if usage else 1
    except KeyboardInterrupt:
        print("jupyter elastic: stopped; what was asked for goes on.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader went away; Python would complain again when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class _Usage(BadInput):
    """A word of the command line itself is wrong."""


def _run(words: argparse.Namespace) -> int:
    if words.command == "doctor":
        return _doctor(words)
    if words.command == "gc":
        return _gc(words)
    try:
        words.wait = ask.seconds(getattr(words, "wait", None))
    except BadInput as error:
        raise _Usage(error.message, hint=error.hint, detail=error.detail) from None
    action: Action = words.action
    shown = action(Client(words.server), words)
    if words.json:
        print(json.dumps(to_json(shown.value), indent=2))
    elif not words.quiet:
        print(shown)
    return 0


def _doctor(words: argparse.Namespace) -> int:
    from .doctor import Target, run_checks

    where = (words.context, words.kubeconfig, words.namespace)
    checks = run_checks(target=Target(*where, wanted=any(where)))
    failed = any(item.ok is False for item in checks)
    if words.json:
        found = {"version": __version__, "checks": to_json(checks)}
        print(json.dumps(found, indent=2))
    elif not words.quiet:
        for item in checks:
            mark = {True: "ok  ", False: "FAIL", None: "?   "}[item.ok]
            print(f"{mark} {item.name}: {item.text}")
            if item.fix and item.ok is not True:
                print(f"       -> {item.fix}")
    return 1 if failed else 0


def _gc(words: argparse.Namespace) -> int:
    from .engines.kubernetes.leftovers import sweep

    report = sweep(words.context, words.kubeconfig, words.namespace, delete=words.delete)
    if words.json:
        print(json.dumps(to_json(report), indent=2))
    elif not words.quiet:
        print("\n".join(report.lines()))
    return 1 if report.failed else 0


def _status(client: Client, words: argparse.Namespace) -> answers.Shown:
    if words.cluster is not None:
        return answers.show_cluster(client.cluster(words.cluster))
    return answers.show_state(client.state(), __version__)


def _create(client: Client, words: argparse.Namespace) -> answers.Shown:
    fields = ask.new_cluster(words)
    name = ask.free_name(client.clusters()) if words.name is None else words.name
    if words.plan:
        return answers.show_plan(client.plan_create(name, **fields), done=False, name=name)
    made = client.create(name, **fields)
    if words.wait is not None:
        made = client.wait_ready(made.id, fields["size"], words.wait, _progress(words, made.name))
    return answers.show_cluster(made)


def _scale(client: Client, words: argparse.Namespace) -> answers.Shown:
    cluster = client.cluster(words.cluster)
    size = ask.size_for(cluster, words.size)
    if words.plan:
        plan = client.plan(size, cluster=cluster.id)
        return answers.show_plan(plan, done=False, name=cluster.name)
    plan = client.scale(size, cluster=cluster.id, force=words.force)
    if words.wait is None:
        return answers.show_plan(plan, done=True, name=cluster.name)
    progress = _progress(words, cluster.name)
    return answers.show_cluster(client.wait_ready(cluster.id, size, words.wait, progress))


def _hosts(client: Client, words: argparse.Namespace) -> answers.Shown:
    return answers.show_hosts(client.hosts(cluster=words.cluster))


def _command(client: Client, words: argparse.Namespace) -> answers.Shown:
    launch = client.command(cluster=words.cluster)
    if launch.reason is not None:
        print(f"jupyter elastic: {launch.reason.text}", file=sys.stderr)
    # Only the command on stdout, so that it can be used as it is.
    return answers.Shown(launch, "", code=launch.text)


def _release(client: Client, words: argparse.Namespace) -> answers.Shown:
    cluster = client.only(words.cluster)
    client.release(cluster=cluster.id, stop_runs=words.stop_runs, wait=words.wait)
    return answers.show_release(cluster, gone=words.wait is not None)


def _progress(words: argparse.Namespace, name: str) -> Callable[[str], None] | None:
    if words.quiet or words.json:
        return None
    return lambda text: print(f"{name}: {text}", file=sys.stderr, flush=True)


_COMMANDS: tuple[tuple[str, str, Action, tuple[Argument, ...]], ...] = (
    ("status", "show all clusters, or one with its containers", _status, (CLUSTER,)),
    ("create", "create a launcher and its workers", _create, (*CREATE, WAIT, PLAN)),
    ("scale", "set the number of containers", _scale, (SIZE, CLUSTER, WAIT, PLAN, FORCE)),
    ("hosts", "show the host file", _hosts, (CLUSTER,)),
    ("command", "show the launch command, without running it", _command, (CLUSTER,)),
    ("release", "give all containers back", _release, (CLUSTER, STOP_RUNS, WAIT)),
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter elastic", description="Training clusters that grow and shrink."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text, action, arguments in _COMMANDS:
        command = commands.add_parser(name, help=text, description=text)
        _add(command, (*arguments, *_COMMON))
        command.set_defaults(action=action)
    text = "check this installation; needs no server"
    _add(commands.add_parser("doctor", help=text, description=text), (*_WHERE, QUIET, _JSON))
    text = "list, or delete, what clusters that are gone left on Kubernetes; needs no server"
    gc = commands.add_parser("gc", help=text, description=text)
    _add(gc, (*_WHERE, _DELETE, QUIET, _JSON))
    return parser


def _add(parser: argparse.ArgumentParser, arguments: tuple[Argument, ...]) -> None:
    for item in arguments:
        keywords: dict[str, Any] = item.keywords
        parser.add_argument(*item.names, **keywords)


if __name__ == "__main__":
    sys.exit(main())
