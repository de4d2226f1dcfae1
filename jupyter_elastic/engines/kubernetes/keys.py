"""The ssh keys of one cluster: made at its creation, kept in its Secret, gone with it."""

from __future__ import annotations

from dataclasses import dataclass, field

ALGORITHM = "ssh-ed25519"


@dataclass(frozen=True)
class KeyPair:
    """An Ed25519 key in OpenSSH's format. The private half is never shown."""

    private: bytes = field(repr=False)
    public: str  # "ssh-ed25519 AAAA...", one line without its end


@dataclass(frozen=True)
class ClusterKeys:
    """``client`` logs in, and only the launcher has it; ``host`` is who all containers are."""

    client: KeyPair
    host: KeyPair

    def authorized_keys(self) -> str:
        """Return the file that lets the launcher in."""
        return f"restrict,pty {self.client.public}\n"

    def known_hosts(self, cluster: str) -> str:
        """Return the file by which the launcher knows every container under the cluster's name."""
        return f"{cluster} {self.host.public}\n"


def generate() -> ClusterKeys:
    """Return new keys; takes about a millisecond, the first time 50 ms for the library."""
    return ClusterKeys(_pair(), _pair())


def _pair() -> KeyPair:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return KeyPair(private, public.decode("ascii"))
