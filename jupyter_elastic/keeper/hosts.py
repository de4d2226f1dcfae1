"""The list of hosts: what the keeper was given, what is in the folder, and why they differ."""

from __future__ import annotations

import os
from typing import Any

from . import claims, files
from .channel import Refused
from .hostfile import HOSTFILE, BadHosts, Host, Writer, check_host, parse_hosts

LEFT = 512  # hosts that left the list and are remembered


class Hosts:
    """Takes lists, keeps the newest on disk, and makes the host folder show it.

    Parameters
    ----------
    folder
        The keeper's own folder, for ``hosts.json``.
    host_folder
        Where the host file is.
    """

    def __init__(self, folder: str, host_folder: str, cluster: str) -> None:
        self._path = os.path.join(folder, "hosts.json")
        self._cluster = cluster
        self._writer = Writer(host_folder, cluster)
        self.error: dict[str, str] | None = None
        self.left: tuple[str, ...] = ()
        self.generation, self.hosts = self._load()
        if self.hosts:
            self._write()

    def _load(self) -> tuple[int, tuple[Host, ...]]:
        value = files.read_json(self._path) or {}
        generation = value.get("generation")
        try:
            hosts = parse_hosts(value.get("hosts"))
        except BadHosts:
            return 0, ()
        if not isinstance(generation, int) or not _is_generation(generation):
            return 0, ()
        left = value.get("left")
        self.left = tuple(str(one) for one in left) if isinstance(left, list) else ()
        return generation, _at_own_address(hosts)

    def take(self, generation: Any, value: Any) -> int:
        """Take a list; an older one than the newest known is ignored.

        Returns
        -------
        int
            The generation that is in the file now.

        Raises
        ------
        Refused
            The list must not become a host file.
        """
        if not _is_generation(generation):
            raise Refused(
                "bad_input", f"generation must be a whole number from 0, not {generation!r:.80}."
            )
        try:
            hosts = _at_own_address(parse_hosts(value))
        except BadHosts as error:
            raise Refused("bad_input", f"{error}.") from None
        if generation >= max(self.generation, self._writer.written.generation):
            # First our own record: our ssh must know a host before a framework can read of it.
            listed = {one.host for one in hosts}
            gone = [*self.left, *(one.host for one in self.hosts)]
            self.left = tuple(one for one in dict.fromkeys(gone) if one not in listed)[-LEFT:]
            stored = {
                "generation": generation,
                "hosts": [one.to_json() for one in hosts],
                "left": list(self.left),
            }
            if (generation, hosts) != (self.generation, self.hosts) and not self._store(stored):
                return self._writer.written.generation
            self.generation, self.hosts = generation, hosts
            self._write()
        return self._writer.written.generation

    def _store(self, value: dict[str, Any]) -> bool:
        try:
            # Not needed after a crash of the machine: that ends the cluster.
            files.write_json(self._path, value, sync=False)
        except OSError as error:
            self.error = _reason(self._path, error)
            return False
        return True

    def _write(self) -> None:
        try:
            self._writer.write(self.generation, self.hosts)
        except OSError as error:
            self.error = _reason(os.path.join(self._writer.folder, HOSTFILE), error)
        else:
            self.error = None

    def check(self) -> None:
        """Try again what failed, and put right what somebody else changed."""
        if self.hosts and (self.error is not None or self._writer.touched()):
            self._write()

    def remove(self) -> None:
        """Remove the host files; first our own record, so that no later start writes them again."""
        files.remove(self._path)
        self.hosts = ()
        self._writer.remove()

    def give_back(self) -> bool:
        """Remove the host files, and the folder or its claim; False while somebody locks it."""
        return claims.give_back(self._writer.folder, self._cluster, self.remove)

    @property
    def launcher(self) -> str | None:
        """The first host of the list."""
        return self.hosts[0].host if self.hosts else None

    def status(self) -> dict[str, Any]:
        """Return the fields of the status that are about the file, as it really is."""
        written = self._writer.written
        return {
            "generation": written.generation,
            "sha256": written.sha256,
            "hosts": [line.split(" ")[0] for line in written.text.splitlines()],
            "error": self.error,
        }


def _at_own_address(hosts: tuple[Host, ...]) -> tuple[Host, ...]:
    """Return the list with the launcher at the address that this pod has now.

    A pod whose network was made anew keeps its identity and gets another address; an old list, or
    one that was agreed on before that was seen, must not name the old one.
    """
    uid, address = os.environ.get("POD_UID"), os.environ.get("POD_IP")
    if not uid or not address or hosts[0].uid != uid or hosts[0].host == address:
        return hosts
    try:
        check_host(address)
    except BadHosts:  # an IPv6 address: such clusters use names
        return hosts
    others = tuple(one for one in hosts[1:] if one.host != address)
    return (hosts[0]._replace(host=address), *others)


def _is_generation(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _reason(path: str, error: OSError) -> dict[str, str]:
    why = error.strerror or error
    return {
        "code": "hostfile_not_written",
        "text": f"The host file cannot be written: {why} ({path}). The old one stays.",
        "detail": f"{type(error).__name__}: errno {error.errno}",
    }
