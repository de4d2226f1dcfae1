"""Contexts for TLS: whom to trust and which certificate to show.

They are as `kubectl` makes them: an authority may be an intermediate one, and the strict checks
that newer Pythons add, which many clusters' own authorities fail, are off.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .kubeconfig import bad, text

_STRICT = getattr(ssl, "VERIFY_X509_STRICT", 0)
_PARTIAL = getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0)


@dataclass(frozen=True)
class Pem:
    """A certificate or key in PEM: its bytes, or a file that is read each time it is needed."""

    data: bytes = field(default=b"", repr=False)
    path: str = ""

    def read(self) -> bytes:
        """Return the bytes; OSError when there is a file and it cannot be read."""
        if self.data:
            return self.data
        with open(self.path, "rb") as file:
            return file.read()


@dataclass(frozen=True)
class KeyPair:
    """A client certificate and its key, PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


def pem(entry: Mapping[str, Any], name: str, folder: str) -> Pem | None:
    """Return what an entry of a kubeconfig gives as `name`-data or, in a file, as `name`.

    Raises
    ------
    BadInput
        When the data are not base64.
    """
    data = text(entry, f"{name}-data")
    if data:
        try:
            return Pem(base64.b64decode("".join(data.split()), validate=True))
        except (binascii.Error, ValueError):
            raise bad(f"{name}-data of the kubeconfig is not base64.", name) from None
    path = text(entry, name)
    return Pem(path=os.path.join(folder, path)) if path else None


def build_context(authority: bytes | None, pair: KeyPair | None, *, verify: bool) -> ssl.SSLContext:
    """Make a context.

    Parameters
    ----------
    authority
        PEM of the authorities to trust; None: those of this machine.
    pair
        What to show as a client.
    verify
        False trusts every server.

    Raises
    ------
    ssl.SSLError
        When a certificate or key is not one, or the two are not of each other.
    """
    context = ssl.create_default_context(cadata=_ascii(authority) if authority else None)
    context.verify_flags = (context.verify_flags & ~_STRICT) | _PARTIAL
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        _show(context, pair)
    return context


def _ascii(authority: bytes) -> str:
    # Comments between the blocks may be in any encoding; the blocks themselves are ASCII.
    return authority.decode("ascii", "replace").replace("\ufffd", "?")


def _show(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a pair; the standard library takes files only, so there is one for a moment."""
    with tempfile.TemporaryDirectory(prefix="jupyter-elastic-") as folder:
        path = os.path.join(folder, "pair.pem")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pair.certificate.rstrip() + b"\n" + pair.key)
        # Without a password a key that has one would ask for it on the server's terminal.
        context.load_cert_chain(path, password="")
