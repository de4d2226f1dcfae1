"""From a kubeconfig, or the account of this pod, to an access to the API server.

The only user of the `kubernetes` package, of which it takes how kubeconfig files are found, read
and merged. What the package does not honour, or not in all versions, is read from the entries
themselves: files relative to their kubeconfig, login plugins, impersonation, proxies, the name in
the server's certificate. The package is imported late because it is large; everything here blocks,
so call it in a thread.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import BadInput, ElasticError
from ...keeper.kube.access import ACCOUNT_FOLDER, Access
from ...keeper.kube.access import in_cluster as pod_access
from .kubeaccess import KubeAccess
from .kubeconfig import Entry, Kubeconfig, bad, choose, collect, text
from .proxies import checked_proxy, environment_proxy

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_KINDS = {"contexts": "context", "clusters": "cluster", "users": "user"}
_log = logging.getLogger(__name__)


class ContextOption(NamedTuple):
    """One context as the form offers it."""

    name: str
    cluster: str
    namespace: str
    current: bool


def contexts(environ: Mapping[str, str]) -> list[ContextOption]:
    """Return the contexts of the kubeconfig, in the order of its files; none without a file.

    Raises
    ------
    BadInput
        When a file is there and cannot be read as a kubeconfig.
    """
    paths = _present(_default_paths(environ))
    if not paths:
        return []
    config = _read(paths)
    return [
        ContextOption(
            name,
            text(entry.content, "cluster"),
            text(entry.content, "namespace") or "default",
            name == config.current,
        )
        for name, entry in config.contexts.items()
    ]


def has_account(environ: Mapping[str, str], folder: str = ACCOUNT_FOLDER) -> bool:
    """Whether this is a pod with an account of its own."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and os.path.isfile(f"{folder}/token")


def connect(
    *,
    context: str | None = None,
    kubeconfig: str | None = None,
    namespace: str | None = None,
    in_cluster: bool | None = None,
    environ: Mapping[str, str] | None = None,
    folder: str = ACCOUNT_FOLDER,
) -> Access:
    """Return an access; nothing is sent yet, and no login plugin runs.

    Parameters
    ----------
    context
        A context of the kubeconfig; None: its current one.
    kubeconfig
        Path of one file; None: those of KUBECONFIG, else ``~/.kube/config``.
    namespace
        None: that of the pod's account or of the context.
    in_cluster
        True: the account of this pod; False: a kubeconfig; None: a kubeconfig where context or
        kubeconfig is given, else the account where there is one.
    environ
        None: that of this process.
    folder
        Where the files of the account are.

    Raises
    ------
    BadInput
        When a file, a context, or the namespace is missing or wrong.
    """
    environ = os.environ if environ is None else environ
    if in_cluster is None:
        in_cluster = not context and not kubeconfig and has_account(environ, folder)
    if in_cluster:
        return _by_account(namespace, environ, folder)
    return _by_kubeconfig(context, kubeconfig, namespace, environ)


def _by_account(namespace: str | None, environ: Mapping[str, str], folder: str) -> Access:
    try:
        access = pod_access(environ, folder)
    except LookupError as error:
        raise BadInput(
            f"This server has no account of a pod. {error.args[0]}",
            hint="Choose a context of a kubeconfig, or give the pod a service account.",
            detail={"field": "in_cluster"},
        ) from None
    access.namespace = _checked_namespace(namespace or access.namespace)
    access.proxy = checked_proxy(access.proxy or environment_proxy(access.server, environ))
    return access


def _by_kubeconfig(
    context: str | None, kubeconfig: str | None, namespace: str | None, environ: Mapping[str, str]
) -> KubeAccess:
    if kubeconfig:
        paths = [os.path.expanduser(kubeconfig)]
        if not _present(paths):
            raise bad(f"There is no kubeconfig {kubeconfig}.", "kubeconfig", "Check the path.")
    else:
        wanted = _default_paths(environ)
        paths = _present(wanted)
        if not paths:
            raise bad(
                f"There is no kubeconfig: looked for {', '.join(wanted)}.",
                "kubeconfig",
                "Set KUBECONFIG, or get a kubeconfig from whoever runs the cluster.",
            )
    choice = choose(_read(paths), context)
    where = _checked_namespace(namespace or choice.namespace or "default")
    access = KubeAccess(
        choice,
        namespace=where,
        environ=environ,
        # The same context, also when another one has become the current one.
        again=lambda: choose(_read(_present(paths)), choice.context),
    )
    if access.insecure:
        _log.warning(
            "THE API SERVER OF CONTEXT %r IS NOT CHECKED (insecure-skip-tls-verify): whoever is on "
            "the way to it can take your credentials and act as you. Set certificate-authority.",
            choice.context,
        )
    return access


def _checked_namespace(namespace: str) -> str:
    if not namespace:
        raise BadInput(
            "The pod's account names no namespace.",
            hint="Name the namespace in the settings.",
            detail={"field": "namespace"},
        )
    if not _NAMESPACE.fullmatch(namespace):
        raise BadInput(
            f"{namespace[:64]!r} is not the name of a namespace.",
            hint="Lower case letters, digits and dashes, at most 63, not at the ends a dash.",
            detail={"field": "namespace"},
        )
    return namespace


def _default_paths(environ: Mapping[str, str]) -> list[str]:
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environ.get("HOME") or os.path.expanduser("~")
    return listed or [os.path.join(home, ".kube", "config")]


def _present(paths: list[str]) -> list[str]:
    """Return the files that are there and not empty, each once."""
    return list(dict.fromkeys(p for p in paths if os.path.exists(p) and os.path.getsize(p)))


def _read(paths: list[str]) -> Kubeconfig:
    """Read and merge files: the first one that has a name, or a current context, wins."""
    merger = _merger()
    for path in paths:
        try:
            merger.load_config(path)
        except Exception as error:  # the package raises whatever the text led to
            raise _unreadable(path, error) from None
    raw = merger.config.value if merger.config is not None else {}
    try:
        tables = {key: _table(raw.get(key) or [], kind) for key, kind in _KINDS.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise _unreadable(", ".join(paths), error) from None
    currents = (text(file, "current-context") for file in merger.config_files.values())
    current = next((name for name in currents if name), "")
    return Kubeconfig(tuple(paths), current, **tables)


def _table(nodes: list[Any], kind: str) -> dict[str, Entry]:
    return collect([(node.value, node.path) for node in nodes], kind)


def _merger() -> Any:
    try:
        from kubernetes.config.kube_config import KubeConfigMerger
    except ImportError:
        raise ElasticError(
            "The package `kubernetes`, which reads kubeconfig files, cannot be imported.",
            hint="Install it beside jupyter_elastic: pip install 'kubernetes>=29'.",
            code="missing_package",
        ) from None
    # Without a path it reads nothing: the default of some versions is a file of its own choice.
    return KubeConfigMerger("")  # type: ignore[no-untyped-call]


def _unreadable(path: str, error: Exception) -> BadInput:
    # The text of the error would quote the file.
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, OSError):
        what = f"cannot be read: {error.strerror}"
    elif mark is not None:
        what = f"is not YAML from line {mark.line + 1} on"
    else:
        what = "is not a kubeconfig"
    return bad(f"{path} {what}.", "kubeconfig", "Check it with `kubectl config view`.")
