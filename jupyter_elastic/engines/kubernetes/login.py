"""Who we are to the API server: tokens, token files, passwords and id-tokens of a kubeconfig."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...keeper.kube.errors import Unauthenticated
from .kubeconfig import Choice, bad, text
from .tls import KeyPair


class Login:
    """One way to log in; this one has neither header nor certificate."""

    def authorization(self) -> str | None:
        """Return the Authorization header; None when this way has none.

        Raises
        ------
        Unauthenticated
            When there should be one and it cannot be had.
        """
        return None

    def certificate(self) -> KeyPair | None:
        """Return a client certificate that this way brings; errors as above."""
        return None

    def reload(self) -> None:
        """Get new credentials at the next call: the ones at hand were refused."""


class FixedLogin(Login):
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._header = header

    def authorization(self) -> str:
        """Return the header."""
        return self._header


class FileLogin(Login):
    """A token in a file that somebody else renews; it is read at each call.

    Parameters
    ----------
    path
        The file.
    token
        What to use until the file can be read for the first time.
    """

    def __init__(self, path: str, token: str = "") -> None:
        self._path = path
        self._token = token

    def authorization(self) -> str:
        """Return the header; a file that cannot be read now leaves the last token in use."""
        try:
            with open(self._path, encoding="utf-8") as file:
                self._token = file.read().strip() or self._token
        except (OSError, UnicodeDecodeError) as error:
            if not self._token:
                why = getattr(error, "strerror", None) or "it is not text"
                raise refused(f"The token file {self._path} cannot be read: {why}.") from None
        if not self._token:
            raise refused(f"The token file {self._path} is empty.")
        return bearer(self._token)


class IdTokenLogin(Login):
    """The id-token of an ``oidc`` auth-provider, as long as it lasts; it is never renewed here."""

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        self._token = token
        self._expires = _expiry(token)
        self._clock = clock

    def authorization(self) -> str:
        """Return the header; Unauthenticated when the token has expired or is not one."""
        if self._expires is None or self._clock() >= self._expires:
            state = "has expired" if self._expires is not None else "is not one that can be read"
            raise refused(
                f"The id-token of the kubeconfig {state}, and the oidc auth-provider is not "
                "supported beyond that. Use an exec plugin, for example kubelogin."
            )
        return bearer(self._token)


def static_login(choice: Choice) -> Login:
    """Return the way that a user of a kubeconfig logs in without a plugin.

    Raises
    ------
    BadInput
        When it is one that is not supported.
    """
    user, folder = choice.user.content, choice.user.folder
    token, path = text(user, "token"), text(user, "tokenFile")
    if path:
        return FileLogin(os.path.join(folder, path), token)
    if token:
        return FixedLogin(bearer(token))
    name = text(user, "username")
    if name:
        pair = f"{name}:{text(user, 'password')}".encode()
        return FixedLogin("Basic " + base64.b64encode(pair).decode())
    if user.get("auth-provider"):
        return _provider(user["auth-provider"])
    return Login()


def bearer(token: str) -> str:
    """Return the header for a token.

    Raises
    ------
    Unauthenticated
        When the token holds what no header may hold.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        raise refused("The token holds characters that no token has (blanks, control characters).")
    return f"Bearer {token}"


def refused(message: str) -> Unauthenticated:
    """Return the error of a login that did not get as far as the API server."""
    return Unauthenticated(message)


def _provider(provider: Any) -> Login:
    name = text(provider, "name") if isinstance(provider, Mapping) else ""
    config = provider.get("config") if name == "oidc" else None
    if isinstance(config, Mapping):
        return IdTokenLogin(text(config, "id-token"))
    raise bad(
        f"The auth-provider {name!r} of the kubeconfig is not supported.",
        "auth-provider",
        "Use an exec plugin, for example kubelogin or the one of your cloud.",
    )


def _expiry(token: str) -> float | None:
    """Return when a JSON web token ends; one without an end is as good as one that is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (ValueError, KeyError, TypeError):
        return None
