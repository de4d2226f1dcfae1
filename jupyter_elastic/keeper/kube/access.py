"""Where the API server is, and who we are to it."""

from __future__ import annotations

import os
import ssl
from typing import Mapping

from .errors import Unauthenticated

ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"


class Access:
    """Address and credentials; whoever has another source of them makes a subclass.

    Parameters
    ----------
    server
        ``https://host[:port][/prefix]``.
    namespace
        Where all calls go.
    proxy
        ``http://[user:password@]host:port`` to pass, or None.
    server_name
        The name that the server's certificate must have, where it is not that of the address.
    """

    def __init__(
        self,
        server: str,
        namespace: str,
        proxy: str | None = None,
        server_name: str | None = None,
    ) -> None:
        self.server = server
        self.namespace = namespace
        self.proxy = proxy
        self.server_name = server_name

    def context(self) -> ssl.SSLContext | None:
        """Return what a new connection uses for TLS; None for ``http``."""
        return ssl.create_default_context() if self.server.startswith("https:") else None

    def headers(self) -> dict[str, str]:
        """Return what names us in a request; called for each one.

        Raises
        ------
        Unauthenticated
            There are no credentials; a request is never sent without.
        """
        return {}

    def reload(self) -> None:
        """Get the credentials again: the server refused those at hand."""


class AccountAccess(Access):
    """The service account of the pod we are in.

    Parameters
    ----------
    server
        As above.
    namespace
        The pod's own.
    folder
        Where the account is mounted: ``token``, which is renewed there every hour, and ``ca.crt``.
    """

    def __init__(self, server: str, namespace: str, folder: str) -> None:
        super().__init__(server, namespace)
        self._folder = folder
        self._token = ""
        self._authority: str | None = None
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext | None:
        """Trust the cluster's own authority as the file has it now.

        Raises
        ------
        OSError
            The file cannot be read.
        """
        if not self.server.startswith("https:"):
            return None
        with open(os.path.join(self._folder, "ca.crt"), encoding="utf-8") as handle:
            authority = handle.read()
        if self._context is None or authority != self._authority:
            self._context = ssl.create_default_context(cadata=authority)
            # Authorities of many clusters lack extensions that newer Pythons insist on.
            self._context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
            self._authority = authority
        return self._context

    def headers(self) -> dict[str, str]:
        """Return the token as the file has it now; while it cannot be read, the last one."""
        path = os.path.join(self._folder, "token")
        why = "it is empty"
        try:
            with open(path, encoding="ascii") as handle:
                self._token = handle.read().strip() or self._token
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
        if not self._token:
            raise Unauthenticated(f"The token {path} cannot be read: {why}.")
        return {"Authorization": f"Bearer {self._token}"}


def in_cluster(environ: Mapping[str, str], folder: str = ACCOUNT_FOLDER) -> Access:
    """Return the access of the pod we are in.

    Parameters
    ----------
    environ
        ``KUBERNETES_SERVICE_HOST`` and ``KUBERNETES_SERVICE_PORT`` are looked at.
    folder
        Where the account is mounted.

    Raises
    ------
    LookupError
        This is not a pod, or one without an account.
    """
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "") or "443"
    if not host:
        raise LookupError("KUBERNETES_SERVICE_HOST is not set: this is not a pod.")
    try:
        with open(os.path.join(folder, "namespace"), encoding="utf-8") as handle:
            namespace = handle.read().strip()
        with open(os.path.join(folder, "token"), "rb"):
            pass
    except OSError as error:
        raise LookupError(
            f"This pod has no service account: {error.filename}: {error.strerror}."
        ) from None
    address = f"[{host}]" if ":" in host else host
    return AccountAccess(f"https://{address}:{port}", namespace, folder)
