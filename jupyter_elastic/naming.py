"""Names: of clusters, of containers, and what a person may type as a display name.

An id is a DNS-1123 label and a Kubernetes label value for every Unicode text, begins with a letter,
and leaves room for suffixes: at most 40 of the 63 characters. A text that fits as it is stays
readable; any other one gets eight digits of its hash behind a double dash. An unaltered slug never
holds a double dash, so the two kinds cannot meet.
"""

from __future__ import annotations

import hashlib
import re
import secrets

from .errors import BadInput

NAME_LIMIT = 64  # characters of a display name
ID_LIMIT = 40  # characters of a cluster id
NONCE_LENGTH = 6
SUFFIX_LENGTH = 5
SLUG_LIMIT = ID_LIMIT - NONCE_LENGTH - 1
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, no look-alikes: no words by accident

_PLAIN = re.compile(r"[a-z](?:-?[a-z0-9])*")
_HASH_LENGTH = 8
_SPACE = len(ALPHABET) ** SUFFIX_LENGTH
# No multiple of 3, so it is coprime to 27**5 and n -> n * step visits every value once.
_STEP = 8_675_309
_JOINERS = "\u200c\u200d"  # shape letters and emoji; invisible alone


def check_name(value: object, field: str = "name") -> str:
    """Return a display name without the blanks around it.

    Raises
    ------
    BadInput
        Not a text, not 1 to 64 characters, or a character that cannot be shown; ``detail`` has
        ``field`` and ``limit``.
    """
    detail = {"field": field, "limit": NAME_LIMIT}
    if not isinstance(value, str):
        raise BadInput(
            f"{field} must be a text, not {type(value).__name__}.",
            hint=f"Give 1 to {NAME_LIMIT} characters.",
            detail=detail,
        )
    name = value.strip()
    if not name.strip(_JOINERS):
        raise BadInput(
            f"{field} is empty.", hint=f"Give 1 to {NAME_LIMIT} characters.", detail=detail
        )
    if len(name) > NAME_LIMIT:
        raise BadInput(
            f"{field} has {len(name)} characters, the limit is {NAME_LIMIT}.",
            hint="Give a shorter one.",
            detail=detail,
        )
    for place, character in enumerate(name):
        if not character.isprintable() and character not in _JOINERS:
            raise BadInput(
                f"{field} has a character that cannot be shown at position {place + 1} "
                f"(U+{ord(character):04X}).",
                hint="Leave out control characters, line ends and direction marks.",
                detail=detail,
            )
    return name


def slug(text: str, limit: int = SLUG_LIMIT) -> str:
    """Return the readable part of an id, injective up to a hash.

    Parameters
    ----------
    text
        Any text, also one that would not pass :func:`check_name`.
    limit
        Characters of the result at most; 12 or more.
    """
    if len(text) <= limit and _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    room = limit - _HASH_LENGTH - 2
    readable = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not readable or not readable[0].isalpha():
        readable = f"c-{readable}".rstrip("-")
    return f"{readable[:room].rstrip('-')}--{digest}"


def nonce() -> str:
    """Return the part of an id that no other creation has."""
    return "".join(secrets.choice(ALPHABET) for _ in range(NONCE_LENGTH))


def cluster_id(name: str, unique: str) -> str:
    """Return the id of a cluster: slug of its display name and the nonce of its creation."""
    return f"{slug(name)}-{unique}"


def launcher_name(name: str) -> str:
    """Return the launcher's container name."""
    return f"{slug(name)}-0"


def worker_name(name: str, cluster: str, number: int) -> str:
    """Return the container name of a cluster's worker number `number`.

    The suffix is a permutation of the number, shifted by the cluster's id: two numbers of one
    cluster never share a name, and nothing has to be remembered for it.
    """
    shift = int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8], "big")
    value = (number * _STEP + shift) % _SPACE
    letters = []
    for _ in range(SUFFIX_LENGTH):
        value, digit = divmod(value, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return f"{slug(name)}-{''.join(letters)}"
