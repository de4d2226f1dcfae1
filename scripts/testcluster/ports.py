"""Finding ports that nothing listens on."""

from __future__ import annotations

import random
import socket

from testcluster.faults import ClusterError

# Below the range from which the kernel takes the ports of outgoing connections.
RANGE = range(20000, 32000)


def free(count: int, address: str = "127.0.0.1") -> list[int]:
    """Return different free ports of an address.

    Raises
    ------
    ClusterError
        If there are not enough.
    """
    found: list[int] = []
    for port in random.sample(RANGE, 2000):
        if len(found) == count:
            return found
        if is_free(port, address):
            found.append(port)
    raise ClusterError(f"No {count} free ports on {address}")


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Tell whether a program could listen on this port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
