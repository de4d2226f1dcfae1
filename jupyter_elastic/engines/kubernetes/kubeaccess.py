"""Access to an API server by one context of a kubeconfig."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ...errors import BadInput
from ...keeper.kube.access import Access
from .identity import impersonation
from .kubeconfig import Choice, bad, text
from .login import Login, refused, static_login
from .plugin import PluginLogin
from .proxies import checked_proxy, environment_proxy
from .tls import KeyPair, Pem, build_context, pem

_log = logging.getLogger(__name__)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class KubeAccess(Access):
    """Access by a context; every file it names is read again whenever it is needed.

    All methods block, for as long as a login plugin takes, and may be called by any thread.

    Parameters
    ----------
    choice
        The context.
    namespace
        The one to work in.
    environ
        For proxies and for the login plugin.
    again
        Reads the context anew, for credentials that a person or a tool wrote into the kubeconfig
        meanwhile; None: they stay as they are.

    Raises
    ------
    BadInput
        When something in the kubeconfig cannot work, or a file it names cannot be read.
    """

    def __init__(
        self,
        choice: Choice,
        *,
        namespace: str,
        environ: Mapping[str, str],
        again: Callable[[], Choice] | None = None,
    ) -> None:
        cluster = choice.cluster.content
        server = _server(text(cluster, "server"), choice.context)
        proxy = text(cluster, "proxy-url") or environment_proxy(server, environ)
        server_name = text(cluster, "tls-server-name") or None
        super().__init__(server, namespace, checked_proxy(proxy), server_name)
        self.name = choice.context
        self.insecure = _skips(cluster)
        self._authority = pem(cluster, "certificate-authority", choice.cluster.folder)
        self._environ = environ
        self._again = again
        self._take_user(choice)
        self._lock = threading.Lock()
        self._held: tuple[bytes | None, KeyPair | None] | None = None
        self._context: ssl.SSLContext | None = None
        self._check_authority()
        if self._secure:
            self._check_files()

    @property
    def _secure(self) -> bool:
        return self.server.startswith("https:")

    def context(self) -> ssl.SSLContext | None:
        """Return the context for TLS, None for http; the same object while nothing has changed.

        Raises
        ------
        Unauthenticated
            When the login plugin fails, or the files cannot be read and never could.
        """
        if not self._secure:
            return None
        pair = self._login.certificate()
        with self._lock:
            try:
                material = self._read(pair)
                if self._context is None or material != self._held:
                    self._context = build_context(*material, verify=not self.insecure)
                    self._held = material
            except (OSError, ValueError) as error:
                # A file that is being replaced; but a new certificate of a plugin has to be used.
                if self._context is None or pair is not None:
                    raise refused(_words(error, self.name)) from None
            return self._context

    def headers(self) -> dict[str, str]:
        """Return the headers that log in.

        Raises
        ------
        Unauthenticated
            When there are no credentials: a request without any is never made, except to a proxy
            on this machine, which adds its own.
        """
        if not self._secure:
            return {}
        authorization = self._login.authorization()
        if authorization is not None:
            return {"Authorization": authorization, **self._impersonation}
        if self._certificate is None and self._login.certificate() is None:
            raise refused(
                f"The user of context {self.name!r} has no credentials in the kubeconfig. "
                "Log in with the tool of your cluster, then try again."
            )
        return dict(self._impersonation)

    def reload(self) -> None:
        """Get new credentials at the next call, after the API server refused those at hand."""
        self._login.reload()
        if self._again is None:
            return
        try:
            choice = self._again()
            if choice.user != self._user:
                self._take_user(choice)
        except (BadInput, OSError) as error:
            # It may be half written just now; the next refusal comes here again.
            _log.debug("The kubeconfig cannot be read again: %s", error)

    def _take_user(self, choice: Choice) -> None:
        """Become the user of a context; all or nothing."""
        user, folder = choice.user.content, choice.user.folder
        certificate = pem(user, "client-certificate", folder)
        key = pem(user, "client-key", folder)
        self._check_pair(certificate, key)
        shown, login = impersonation(user), _login(choice, self._environ)
        self._user, self._certificate, self._key = choice.user, certificate, key
        self._impersonation, self._login = shown, login

    def _read(self, pair: KeyPair | None) -> tuple[bytes | None, KeyPair | None]:
        authority = self._authority.read() if self._authority else None
        if pair is None and self._certificate and self._key:
            pair = KeyPair(self._certificate.read(), self._key.read())
        return authority, pair

    def _check_pair(self, certificate: Pem | None, key: Pem | None) -> None:
        if (certificate is None) != (key is None):
            raise bad(
                f"The user of context {self.name!r} has a client certificate without its key, "
                "or the reverse.",
                "client-certificate",
            )

    def _check_authority(self) -> None:
        if self.insecure and self._authority is not None:
            raise bad(
                f"The cluster of context {self.name!r} has both a certificate authority and "
                "insecure-skip-tls-verify.",
                "insecure-skip-tls-verify",
                "Remove insecure-skip-tls-verify.",
            )

    def _check_files(self) -> None:
        """Find files that are missing or wrong while somebody can still be told which."""
        for part in (self._authority, self._certificate, self._key):
            if part is not None and part.path:
                _check(part)
        try:
            self._held = self._read(None)
            self._context = build_context(*self._held, verify=not self.insecure)
        except (OSError, ValueError) as error:
            raise bad(_words(error, self.name), "certificate-authority") from None


def _login(choice: Choice, environ: Mapping[str, str]) -> Login:
    user = choice.user.content
    if user.get("exec") and not any(text(user, key) for key in ("token", "tokenFile", "username")):
        return PluginLogin(choice, environ)
    return static_login(choice)


def _server(server: str, context: str) -> str:
    try:
        parts = urlsplit(server)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.query:
        raise bad(f"The server of context {context!r} is not an https:// address.", "server")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise bad(
            f"The server of context {context!r} is an http:// address of another machine: "
            "everybody on the way could read and change what is sent.",
            "server",
            "Use its https:// address.",
        )
    return server.rstrip("/")


def _skips(cluster: Mapping[str, object]) -> bool:
    value = cluster.get("insecure-skip-tls-verify") or False
    if not isinstance(value, bool):
        raise bad("insecure-skip-tls-verify is neither true nor false.", "insecure-skip-tls-verify")
    return value


def _check(part: Pem) -> None:
    try:
        part.read()
    except OSError as error:
        raise BadInput(
            f"The kubeconfig names {part.path}, which cannot be read: {error.strerror}.",
            hint="Get a new kubeconfig, or put the file there.",
            detail={"field": os.path.basename(part.path)},
        ) from None


def _words(error: Exception, context: str) -> str:
    if isinstance(error, ssl.SSLError):
        return (
            f"A certificate or key of context {context!r} cannot be used: it is damaged, has a "
            "password, or the two are not of each other."
        )
    if isinstance(error, OSError):
        why = error.strerror or "it cannot be read"
        return f"{error.filename or 'A certificate'} of context {context!r}: {why}."
    return f"A certificate of context {context!r} cannot be read."
