"""The host file and its discovery script: rendered from one list, written by one writer."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from typing import Any, NamedTuple, Sequence

from . import files

HOSTFILE, SCRIPT, META = "hostfile", "discover_hosts.sh", "hostfile.meta"
MAX_HOSTS = 4096
MAX_SLOTS = 1024
MAX_DEVICE = 1023

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


class Host(NamedTuple):
    """One line of the host file; ``devices`` are the GPU indexes that its ranks may see."""

    uid: str
    name: str
    host: str
    slots: int
    devices: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the channel and ``hosts.json`` carry it."""
        return {**self._asdict(), "devices": list(self.devices)}


class BadHosts(ValueError):
    """A list that must not become a host file; ``field`` is the path of what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def check_host(text: Any, field: str = "host") -> str:
    """Return a host that every framework can read and no shell can misread.

    Raises
    ------
    BadHosts
        It is not letters, digits, dots and dashes, or it is too long.
    """
    if not isinstance(text, str) or not 0 < len(text) <= 253:
        raise BadHosts(field, "must be a text of 1 to 253 characters")
    if not all(_LABEL.fullmatch(label) for label in text.split(".")):
        raise BadHosts(
            field,
            f"{text[:80]!r} is not a host: letters, digits, dots and dashes, "
            "at most 63 between two dots",
        )
    return text


def _whole(value: Any, low: int, high: int, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadHosts(field, f"must be a whole number from {low} to {high}, not {value!r:.80}")
    return value


def parse_hosts(value: Any) -> tuple[Host, ...]:
    """Return the hosts of a request or of ``hosts.json``, checked.

    Raises
    ------
    BadHosts
        It is empty, too long, holds a host twice, or one of its fields is wrong.
    """
    if not isinstance(value, (list, tuple)) or not value:
        raise BadHosts("hosts", "must be a list with the launcher at least")
    if len(value) > MAX_HOSTS:
        raise BadHosts("hosts", f"has {len(value)} hosts, the limit is {MAX_HOSTS}")
    found: list[Host] = []
    seen: set[str] = set()
    for number, item in enumerate(value):
        host = _parse(item, f"hosts[{number}]")
        # DNS does not tell A from a, so two such lines would be one machine.
        if host.host.lower() in seen:
            raise BadHosts(f"hosts[{number}].host", f"{host.host!r} is listed twice")
        seen.add(host.host.lower())
        found.append(host)
    return tuple(found)


def _parse(item: Any, field: str) -> Host:
    if not isinstance(item, dict):
        raise BadHosts(field, "must be an object")
    devices = item.get("devices", ())
    if not isinstance(devices, (list, tuple)):
        raise BadHosts(f"{field}.devices", "must be a list")
    uid, name = item.get("uid", ""), item.get("name", "")
    if not isinstance(uid, str) or not isinstance(name, str):
        raise BadHosts(field, "uid and name must be texts")
    return Host(
        uid,
        name,
        check_host(item.get("host"), f"{field}.host"),
        _whole(item.get("slots"), 1, MAX_SLOTS, f"{field}.slots"),
        tuple(_whole(one, 0, MAX_DEVICE, f"{field}.devices") for one in devices),
    )


def render(hosts: Sequence[Host]) -> str:
    """Return the host file: ``host slots=n``, one a line, launcher first."""
    return "".join(f"{host.host} slots={host.slots}\n" for host in hosts)


_SCRIPT = r"""#!/bin/sh
# Prints the hosts of this cluster, host:slots, one a line.
# Written by jupyter_elastic; changes are lost.
LC_ALL=C; export LC_ALL
file=@FILE@
fail() { echo "discover_hosts.sh: $file: $1" >&2; exit 1; }
[ -f "$file" ] && [ -r "$file" ] || fail 'the host file is missing or cannot be read'
exec < "$file" || fail 'the host file cannot be read'
out= seen=' ' line=
while IFS= read -r line; do
  host=${line%% slots=*} slots=${line##* slots=}
  [ "$host slots=$slots" = "$line" ] || fail 'a line is not "host slots=number"'
  case $host in ''|*[!A-Za-z0-9.-]*) fail 'a line does not start with a host' ;; esac
  case $slots in ''|0*|*[!0-9]*) fail 'a line has no number of slots' ;; esac
  case $seen in *" $host "*) fail 'a host is listed twice' ;; esac
  seen="$seen$host "
  out="$out$host:$slots
"
  line=
done
[ -z "$line" ] || fail 'the last line is not complete'
[ -n "$out" ] || fail 'the host file is empty'
printf '%s' "$out"
"""


def render_script(path: str) -> str:
    """Return the discovery script that prints the host file `path`. It needs ``sh`` only.

    It reads the host file itself, in one go, so the two never differ; it checks all of it before it
    prints the first line.
    """
    return _SCRIPT.replace("@FILE@", shlex.quote(path))


class Written(NamedTuple):
    """What is in the folder: the generation and content of the host file."""

    generation: int
    sha256: str
    text: str


class Writer:
    """The one writer of the host files of a folder.

    Parameters
    ----------
    folder
        The host folder; made when it is missing.
    cluster
        Id of the cluster: a file of another one says nothing about our generation.
    """

    def __init__(self, folder: str, cluster: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, HOSTFILE)
        self._cluster = cluster
        self._script = render_script(self.path)
        self._signature: tuple[tuple[int, int, int], ...] = ()
        files.sweep(folder, (HOSTFILE, SCRIPT, META))
        self.written = self._read()

    def _read(self) -> Written:
        meta = files.read_json(os.path.join(self.folder, META)) or {}
        text = _text(self.path)
        sha = _sha(text)
        generation = meta.get("generation")
        known = meta.get("cluster") == self._cluster and meta.get("sha256") == sha
        if not known or not isinstance(generation, int) or not text:
            return Written(0, sha, text)
        return Written(generation, sha, text)

    def write(self, generation: int, hosts: Sequence[Host]) -> bool:
        """Make the folder show a list; returns whether the host file's content changed.

        An older generation than the one in the folder changes nothing. Files that are right already
        are not touched.

        Raises
        ------
        OSError
            The disk is full or the folder cannot be written; the old files are intact.
        """
        if generation < self.written.generation:
            return False
        text = render(hosts)
        os.makedirs(self.folder, mode=0o755, exist_ok=True)
        # First the script: whatever it says about a missing host file is right.
        self._put(SCRIPT, self._script, 0o555)
        changed = self._put(HOSTFILE, text, 0o444)
        sha = _sha(text)
        meta = {"cluster": self._cluster, "generation": generation, "sha256": sha}
        self._put(META, json.dumps(meta) + "\n", 0o444, sync=False)
        self.written = Written(generation, sha, text)
        self._signature = self._look()
        return changed

    def _put(self, name: str, text: str, mode: int, *, sync: bool = True) -> bool:
        path = os.path.join(self.folder, name)
        try:
            right = os.lstat(path).st_mode & 0o170777 == 0o100000 | mode and _text(path) == text
        except OSError:
            right = False
        if not right:
            files.write_atomic(path, text.encode("ascii", "surrogateescape"), mode, sync=sync)
        return not right

    def touched(self) -> bool:
        """Whether somebody else changed or removed a file since the last write; costs 3 stats."""
        return bool(self._signature) and self._look() != self._signature

    def _look(self) -> tuple[tuple[int, int, int], ...]:
        found = []
        for name in (HOSTFILE, SCRIPT, META):
            try:
                seen = os.lstat(os.path.join(self.folder, name))
                found.append((seen.st_ino, seen.st_mtime_ns, seen.st_mode))
            except OSError:
                found.append((0, 0, 0))
        return tuple(found)

    def remove(self) -> None:
        """Remove the files, last the host file itself; those of another cluster are left alone."""
        meta = files.read_json(os.path.join(self.folder, META))
        if meta is not None and meta.get("cluster") != self._cluster:
            return
        for name in (SCRIPT, META, HOSTFILE):
            files.remove(os.path.join(self.folder, name))


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="surrogateescape", newline="") as handle:
            return handle.read()
    except OSError:
        return ""


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("ascii", "surrogateescape")).hexdigest() if text else ""
