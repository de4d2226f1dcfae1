"""The keeper's command line: ``python3 -I keeper.pyz COMMAND ...``."""

from __future__ import annotations

import sys
from typing import Sequence

USAGE = """usage: keeper.pyz serve [--foreground] FOLDER | attach SOCKET | bridge SOCKET
       keeper.pyz status FOLDER | shell FOLDER ID | start PROGRAM -- ARGUMENTS | ssh ARGUMENTS"""


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code.

    Each command loads what it needs, and all of it at once: the file may be replaced later.
    """
    command, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if command == "start" and len(rest) >= 2 and rest[1] == "--":
        from . import starter

        return starter.run(rest[0], rest[2:])
    if command == "ssh":
        from . import ssh

        return ssh.run(rest)
    if command == "attach" and len(rest) == 1:
        from . import attach

        return attach.run(rest[0])
    if command == "bridge" and len(rest) == 1:
        from . import bridge

        return bridge.run(rest[0])
    if command == "shell" and len(rest) == 2:
        from . import shellhost

        return shellhost.run(rest[0], rest[1])
    if command == "serve" and rest[-1:] and len(rest) <= 2 and rest[:-1] in ([], ["--foreground"]):
        from . import serve

        return serve.run(rest[-1], foreground=len(rest) == 2)
    if command == "status" and len(rest) == 1:
        from . import serve

        return serve.status(rest[0])
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
