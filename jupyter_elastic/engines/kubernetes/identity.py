"""The headers that say as whom a request is made (impersonation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .kubeconfig import bad, text


def impersonation(user: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers for ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``.

    A header that has several values has to be sent several times, and a mapping has each name
    once; the names of headers know no case, so each further value has its name in another case.

    Raises
    ------
    BadInput
        When a value cannot be in a header, or only the user itself is missing.
    """
    pairs = [("Impersonate-User", text(user, "as")), ("Impersonate-Uid", text(user, "as-uid"))]
    pairs += [("Impersonate-Group", group) for group in _texts(user.get("as-groups"), "as-groups")]
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, Mapping):
        raise bad("as-user-extra in the kubeconfig is not an object.", "as-user-extra")
    for key, values in extra.items():
        name = "Impersonate-Extra-" + quote(str(key).lower(), safe="!#$&'*+^`|~")
        pairs += [(name, value) for value in _texts(values, "as-user-extra")]
    pairs = [(name, _value(value, name)) for name, value in pairs if value]
    if pairs and pairs[0][0] != "Impersonate-User":
        raise bad("The kubeconfig has as-uid, as-groups or as-user-extra without as.", "as")
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[_unused(name, headers)] = value
    return headers


def _unused(name: str, taken: Mapping[str, str]) -> str:
    """Return the first spelling of a name, in another case, that is not taken."""
    letters = [place for place, letter in enumerate(name) if letter.isalpha()]
    for number in range(2 ** len(letters)):
        spelling = list(name)
        for bit, place in enumerate(letters):
            if number >> bit & 1:
                spelling[place] = spelling[place].swapcase()
        if (found := "".join(spelling)) not in taken:
            return found
    raise bad("The kubeconfig has more groups than a request can hold.", "as-groups")


def _texts(values: Any, name: str) -> list[str]:
    values = values or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise bad(f"{name} in the kubeconfig is not a list of texts.", name)
    return values


def _value(value: str, name: str) -> str:
    if not value.isprintable():
        raise bad(f"A value for {name} in the kubeconfig has control characters.", "as")
    # The clients of the standard library and of tornado write headers as Latin-1; the API server
    # reads UTF-8.
    return value.encode().decode("latin-1")
