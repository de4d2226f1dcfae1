"""Login by an exec plugin of the kubeconfig: a program that prints an ``ExecCredential``.

The package's own runner has no time limit, gives the plugin the server's terminal and keeps no
expiry, and a fault in it ends in a request without credentials; so it is run here. What a plugin
prints is never logged or shown: it may hold secrets.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...keeper.kube.errors import Unauthenticated
from .capture import CaptureError, capture
from .kubeconfig import Choice, Entry, bad, text
from .login import Login, bearer, refused
from .tls import KeyPair, pem

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
SECONDS = 60.0
MARGIN_SECONDS = 10.0  # a credential is renewed this long before it expires
SETTLE_SECONDS = 1.0  # refusals this soon after a renewal are of requests from before it
FAILURE_SECONDS = 5.0  # callers that come this soon after a failure share it


@dataclass(frozen=True)
class Credential:
    """What a plugin gave. ``renew``: when to run it again, seconds since 1970."""

    renew: float | None
    authorization: str | None = field(default=None, repr=False)
    pair: KeyPair | None = field(default=None, repr=False)


class PluginLogin(Login):
    """Runs the plugin when a credential is needed and none is valid; one run serves all threads.

    Parameters
    ----------
    choice
        The context, whose user has an ``exec``.
    environ
        Environment of the plugin, below what its entry sets.
    seconds
        The longest a run may take.

    Raises
    ------
    BadInput
        When the entry cannot work here.
    """

    def __init__(
        self,
        choice: Choice,
        environ: Mapping[str, str],
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        entry = choice.user.content["exec"]
        if not isinstance(entry, Mapping):
            raise bad("The exec entry of the kubeconfig's user is not an object.", "exec")
        self._version = _version(entry)
        self._argv = _argv(entry, choice.user.folder)
        self._environ = {**environ, **_variables(entry)}
        self._environ["KUBERNETES_EXEC_INFO"] = json.dumps(_info(self._version, entry, choice))
        self._name = f"The login plugin {os.path.basename(self._argv[0])!r}"
        self._context = choice.context
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._credential: Credential | None = None
        self._ran = 0.0
        self._failure: tuple[float, Unauthenticated] | None = None

    def authorization(self) -> str | None:
        """Return the header, from a valid credential; Unauthenticated when there is none."""
        return self._valid().authorization

    def certificate(self) -> KeyPair | None:
        """Return the client certificate of a valid credential."""
        return self._valid().pair

    def reload(self) -> None:
        """Forget the credential, unless it is newer than the request that was refused."""
        with self._lock:
            if self._clock() - self._ran > SETTLE_SECONDS:
                self._credential = None

    def _valid(self) -> Credential:
        with self._lock:
            now = self._clock()
            held = self._credential
            if held is not None and (held.renew is None or now < held.renew):
                return held
            if self._failure is not None and 0 <= now - self._failure[0] < FAILURE_SECONDS:
                raise refused(str(self._failure[1].message))
            try:
                self._credential = self._run()
            except Unauthenticated as error:
                self._credential = None
                self._failure = (self._clock(), error)
                raise
            self._ran, self._failure = self._clock(), None
            return self._credential

    def _run(self) -> Credential:
        try:
            exit_code, output = capture(self._argv, self._environ, self._seconds)
        except FileNotFoundError:
            raise self._fault("is not installed on this server") from None
        except OSError as error:
            raise self._fault(f"could not be started: {error.strerror}") from None
        except CaptureError as error:
            raise self._fault(str(error)) from None
        if exit_code:
            raise self._fault(f"ended with {exit_code}")
        try:
            answer = json.loads(output)
            status = answer["status"]
            if answer["kind"] != "ExecCredential" or not isinstance(status, dict):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            raise self._fault("printed something that is not an ExecCredential") from None
        if answer.get("apiVersion") != self._version:
            raise self._fault(f"answered in another version than {self._version}")
        return self._read(status)

    def _read(self, status: Mapping[str, Any]) -> Credential:
        token = status.get("token")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if not all(item is None or isinstance(item, str) for item in (token, certificate, key)):
            raise self._fault("printed a credential that is not a text")
        if bool(certificate) != bool(key):
            raise self._fault("gave a client certificate without its key, or the reverse")
        if not token and not certificate:
            raise self._fault("gave neither a token nor a client certificate")
        pair = KeyPair(certificate.encode(), key.encode()) if certificate and key else None
        return Credential(self._renewal(status), bearer(token) if token else None, pair)

    def _renewal(self, status: Mapping[str, Any]) -> float | None:
        stamp = status.get("expirationTimestamp")
        if stamp is None:
            return None
        now = self._clock()
        try:
            expires = instant(stamp)
        except (ValueError, TypeError):
            raise self._fault("gave an expiry that is not a time") from None
        if expires <= now:
            raise self._fault("gave a credential that has expired already")
        return max(expires - MARGIN_SECONDS, now + (expires - now) / 2)

    def _fault(self, what: str) -> Unauthenticated:
        return refused(
            f"{self._name} of context {self._context!r} {what}. "
            f"Run `kubectl --context {self._context} get pods` in a terminal to see why."
        )


def instant(stamp: str) -> float:
    """Return an RFC 3339 time as seconds since 1970, without its fraction; or ValueError."""
    whole, point, rest = stamp.partition(".")
    if point:
        whole += rest.lstrip("0123456789")
    return datetime.strptime(whole.upper(), "%Y-%m-%dT%H:%M:%S%z").timestamp()


def _version(entry: Mapping[str, Any]) -> str:
    version = text(entry, "apiVersion")
    if version not in VERSIONS:
        raise bad(
            f"The login plugin speaks {version or 'no version'}, not {VERSIONS[0]} or v1beta1.",
            "apiVersion",
            "Update the plugin and its entry in the kubeconfig.",
        )
    if text(entry, "interactiveMode") == "Always":
        raise bad(
            "The login plugin asks for a terminal (interactiveMode: Always).",
            "interactiveMode",
            "Use a plugin that can run in the background, or a token.",
        )
    return version


def _argv(entry: Mapping[str, Any], folder: str) -> list[str]:
    command = text(entry, "command")
    if not command:
        raise bad("The login plugin of the kubeconfig has no command.", "command")
    if os.sep in command:
        command = os.path.join(folder, command)
    arguments = entry.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
        raise bad("The arguments of the login plugin are not texts.", "args", "Put them in quotes.")
    return [command, *arguments]


def _variables(entry: Mapping[str, Any]) -> dict[str, str]:
    items = entry.get("env") or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise bad("The variables of the login plugin are not a list of name and value.", "env")
    return {text(item, "name"): text(item, "value") for item in items}


def _info(version: str, entry: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    spec: dict[str, Any] = {"interactive": False}
    if entry.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(choice.cluster)
    return {"kind": "ExecCredential", "apiVersion": version, "spec": spec}


def _cluster_info(cluster: Entry) -> dict[str, Any]:
    content = cluster.content
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    info = {name: content[name] for name in names if content.get(name)}
    authority = pem(content, "certificate-authority", cluster.folder)
    if authority is not None:
        try:
            info["certificate-authority-data"] = base64.b64encode(authority.read()).decode()
        except OSError as error:
            raise bad(
                f"{authority.path} cannot be read: {error.strerror}.", "certificate-authority"
            ) from None
    for extension in content.get("extensions") or []:
        if (
            isinstance(extension, Mapping)
            and extension.get("name") == "client.authentication.k8s.io/exec"
        ):
            info["config"] = extension.get("extension")
    return info
