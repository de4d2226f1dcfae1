"""How each framework reads a list of hosts, so that tests and preflight see what it would see.

Each parser returns (host, slots) pairs in order and raises :class:`GrammarError` where the
framework would stop. Source: the tables of the grammars of Horovod 0.28.1, DeepSpeed 0.19 and Open
MPI 4/5.
"""

from __future__ import annotations

import re

Hosts = tuple[tuple[str, int], ...]

_HOROVOD_HOST = re.compile(r"[\w.-]+", re.ASCII)
_DEEPSPEED_LINE = re.compile(r"(\S+)\s+slots=(\d+)")
_OPENMPI_KEY = re.compile(r"(slots|max_slots|max-slots)\s*=\s*(\d+)")


class GrammarError(ValueError):
    """The framework would refuse this text.

    Attributes
    ----------
    line
        1 for the first line, 0 when the text as a whole is wrong.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


def _slots(text: str, line: int) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise GrammarError(line, f"{text!r} is not a number of slots")
    return int(text)


def horovod_static(text: str) -> Hosts:
    """Read what ``horovodrun --hostfile`` reads: ``host key=number``, no comment, no blank line."""
    found: list[tuple[str, int]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.rstrip()
        words = line.split()
        if not words:
            raise GrammarError(number, "a blank line")
        parts = line.split("=")
        if len(parts) < 2:
            raise GrammarError(number, "no slots=number")
        if not _HOROVOD_HOST.fullmatch(words[0]):
            raise GrammarError(number, f"{words[0]!r} is not a host")
        found.append((words[0], _slots(parts[1], number)))
    if not found:
        raise GrammarError(0, "no host at all")
    return tuple(found)


def horovod_discovery(output: str, slots_per_host: int | None = None) -> Hosts:
    """Read what a host discovery script printed: ``host:slots``, or bare hosts of `slots_per_host`.

    An empty output is an empty tuple: Horovod takes it as "all hosts were removed".
    """
    found: list[tuple[str, int]] = []
    for number, raw in enumerate(output.splitlines(), start=1):
        line = raw.rstrip()
        if not line:
            continue
        host, colon, slots = line.partition(":")
        if not _HOROVOD_HOST.fullmatch(host):
            raise GrammarError(number, f"{host!r} is not a host")
        if not colon and slots_per_host is None:
            raise GrammarError(number, "no slots, and no --slots-per-host")
        found.append((host, _slots(slots, number) if colon else int(slots_per_host or 0)))
    return tuple(found)


def deepspeed(text: str) -> Hosts:
    """Read what ``deepspeed --hostfile`` reads: comments are fine, a host twice is not."""
    found: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _DEEPSPEED_LINE.match(line)
        if match is None:
            raise GrammarError(number, "not 'host slots=number'")
        host, slots = match.groups()
        if host in found:
            raise GrammarError(number, f"{host!r} is listed twice")
        found[host] = int(slots)
    if not found:
        raise GrammarError(0, "no host at all")
    return tuple(found.items())


def open_mpi(text: str, default_slots: int = 1) -> Hosts:
    """Read what ``mpirun --hostfile`` reads; a host without slots has `default_slots`."""
    found: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        host, _, rest = line.partition(" ") if " " in line else line.partition("\t")
        if not re.fullmatch(r"(?:[\w.-]+@)?[\w.:-]+", host):
            raise GrammarError(number, f"{host!r} is not a host")
        slots = default_slots
        left = rest
        for key, value in _OPENMPI_KEY.findall(rest):
            if key == "slots":
                slots = int(value)
        left = _OPENMPI_KEY.sub("", rest).strip()
        if left:
            raise GrammarError(number, f"{left!r} is not understood")
        found[host] = found.get(host, 0) + slots
    if not found:
        raise GrammarError(0, "no host at all")
    return tuple(found.items())
