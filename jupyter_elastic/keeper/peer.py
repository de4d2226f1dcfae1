"""Who is on the other end of a Unix socket, by the kernel's word."""

from __future__ import annotations

import socket
import struct
import sys


def uid_of(connection: socket.socket) -> int | None:
    """Return the uid of the process on the other end, or None when the system does not say."""
    try:
        if sys.platform == "darwin":
            # struct xucred: version, uid, number of groups, groups; LOCAL_PEERCRED of level 0.
            data = connection.getsockopt(0, 0x001, struct.calcsize("2I h 16I"))
            return int(struct.unpack_from("2I", data)[1])
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", data)[1])
    except (OSError, AttributeError, struct.error):
        return None
