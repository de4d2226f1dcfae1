"""The hosts of the current list: which are places of this machine, and what their ranks may see."""

from __future__ import annotations

import contextlib
import os
import re
import socket

from . import environment, files
from .hostfile import BadHosts, Host, parse_hosts

SSH_CONFIG = "ssh_config"
_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){3}")


def is_loopback(host: str) -> bool:
    """Whether a host is an address of this machine that a place can have."""
    return _LOOPBACK.fullmatch(host) is not None


def current(folder: str) -> tuple[Host, ...]:
    """Return the last list that the keeper took, launcher first; empty when there is none."""
    value = files.read_json(os.path.join(folder, "hosts.json")) or {}
    try:
        return parse_hosts(value.get("hosts"))
    except BadHosts:
        return ()


def find(folder: str, host: str) -> Host | None:
    """Return the line of a host in the current list."""
    return next((one for one in current(folder) if one.host == host), None)


def has_left(folder: str, host: str) -> bool:
    """Whether a host was in an earlier list of this cluster and is not in the current one."""
    left = (files.read_json(os.path.join(folder, "hosts.json")) or {}).get("left")
    return isinstance(left, list) and host in left


def is_own_address(host: str) -> bool:
    """Whether a host names this very machine or pod: only such an address can be bound here."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in found:
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
            return True
    return False


def launcher(folder: str) -> Host | None:
    """Return the launcher's line."""
    return next(iter(current(folder)), None)


def environment_of(host: Host | None) -> dict[str, str]:
    """Return what a rank of this host must have in its environment.

    A place sees its own GPUs only; one without GPUs sees none, because they belong to somebody
    else. On a host that is a machine or pod of its own everything is visible already.
    """
    if host is None:
        return {}
    found = {environment.PLACE: host.host}
    if is_loopback(host.host):
        found["CUDA_VISIBLE_DEVICES"] = ",".join(str(one) for one in host.devices)
    return found
