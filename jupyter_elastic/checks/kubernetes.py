"""Whether Kubernetes can be used: who we are there, with which rights, and what there is."""

from __future__ import annotations

import dataclasses
import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from ..errors import BadInput
from ..keeper.kube.access import ACCOUNT_FOLDER
from ..keeper.kube.errors import ApiError, Missing, Unauthenticated
from .check import Check
from .installed import version_tuple
from .kube import hub, reviews
from .kube.questions import Questions

if TYPE_CHECKING:
    from ..keeper.kube.access import Access

SECONDS = 15.0  # for all of it
NAME = "Kubernetes"
REST = "rest of Kubernetes"  # names are unique: the panel tells findings apart by them
_FLOOR = (29,)
_BROKEN = ((36, 0, 0), (36, 0, 1), (36, 0, 2))


@dataclass(frozen=True)
class Target:
    """Which API server and namespace to look at.

    Attributes
    ----------
    context, kubeconfig, namespace
        As `connect` takes them; empty: its defaults.
    wanted
        Whether somebody asked for Kubernetes; else nothing of it is a failure.
    gpus
        Resources that are GPUs, each with the node label that names the model, or "".
    """

    context: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    wanted: bool = False
    gpus: tuple[tuple[str, str], ...] = (
        ("nvidia.com/gpu", "nvidia.com/gpu.product"),
        ("amd.com/gpu", "amd.com/gpu.product-name"),
    )


def checks(
    target: Target,
    environ: Mapping[str, str] | None = None,
    *,
    folder: str = ACCOUNT_FOLDER,
    seconds: float = SECONDS,
) -> list[Check]:
    """Check it within `seconds`, whatever hangs. Blocks.

    Parameters
    ----------
    target
        What to look at.
    environ
        None: that of this process.
    folder
        Where the files of a pod's account are.
    """
    environ = os.environ if environ is None else environ
    if not target.wanted:
        quiet = _nothing_asked(environ, folder)
        if quiet is not None:
            return [quiet]
    found: list[Check] = []
    failed: list[Exception] = []
    ended = threading.Event()

    def look() -> None:
        try:
            _look(target, environ, folder, found.append)
        except Exception as error:
            failed.append(error)
        finally:
            ended.set()

    # A thread that hangs in a login plugin or a name look-up cannot be ended, only left behind.
    threading.Thread(target=look, name="elastic-doctor-kubernetes", daemon=True).start()
    in_time = ended.wait(seconds)
    said = list(found)
    if not in_time:
        text = f"not answered within {seconds:g} s"
        said.append(Check(REST, False, text, "Try again; time kubectl get pods says more."))
    elif failed:
        said.append(_broken(failed[0]))
    return said if target.wanted else [_softened(one) for one in said]


def _nothing_asked(environ: Mapping[str, str], folder: str) -> Check | None:
    """Return the one line where nobody asked, or None where this pod has an account to look at."""
    try:
        from ..engines.kubernetes.connection import contexts, has_account
    except ImportError as error:
        return Check(NAME, None, f"not used; {error}, fine where only a kernel runs")
    if has_account(environ, folder):
        return None
    try:
        known = contexts(environ)
    except BadInput as error:
        return Check(NAME, None, f"not used; {error.message}")
    if not known:
        return Check(NAME, None, "none here: no kubeconfig, and this is no pod with an account")
    names = [one.name for one in known]
    current = next((one.name for one in known if one.current), names[0])
    text = f"not used; the kubeconfig has {len(names)}: {', '.join(names[:5])}"
    fix = f"jupyter elastic doctor --context {current} looks at it; the setting engines uses it"
    return Check(NAME, None, text, fix)


def _softened(check: Check) -> Check:
    return dataclasses.replace(check, ok=None) if check.ok is False else check


def _broken(error: Exception) -> Check:
    if isinstance(error, ApiError):
        return Check(REST, False, f"could not be asked: {error}", "Try again.")
    text = f"could not be checked: {type(error).__name__}: {error}"
    return Check(REST, False, text, "Report this line.")


def _look(
    target: Target, environ: Mapping[str, str], folder: str, say: Callable[[Check], None]
) -> None:
    from .kube import room  # the engine behind it needs more than the standard library

    package = package_version()
    say(package)
    try:
        access, source = _connect(target, environ, folder)
    except BadInput as error:
        say(Check(NAME, False, error.message, error.hint or "Give --context or --kubeconfig."))
        return
    except ImportError:
        say(Check(NAME, False, "no connection without the package kubernetes", package.fix))
        return
    questions = Questions(access)
    try:
        reached = reach(questions, source)
        say(reached[0])
        if reached[0].ok is False:
            return
        try:
            labels = questions.namespace_labels()
        except Missing:
            say(_no_namespace(questions.namespace))
            return
        refused = hub.refusal(questions, environ, _own_namespace(environ, folder))
        say(refused)
        advice = "Do not grant it here: see above." if refused.ok is False else ""
        for one in reviews.wanted(questions, reached[1], advice):
            say(one)
        say(reviews.excess(questions))
        for one in room.checks(questions, target.gpus, labels):
            say(one)
    finally:
        questions.close()


def _no_namespace(namespace: str) -> Check:
    quoted = shlex.quote(namespace)
    fix = (
        f"Name another one, or ask the administrator to run: kubectl create namespace {quoted} && "
        f"kubectl apply --namespace={quoted} --filename=deploy/role.yaml"
    )
    return Check("namespace", False, f"{namespace} does not exist", fix)


def _connect(target: Target, environ: Mapping[str, str], folder: str) -> tuple[Access, str]:
    from ..engines.kubernetes.connection import connect, contexts, has_account

    access = connect(
        context=target.context or None,
        kubeconfig=target.kubeconfig or None,
        namespace=target.namespace or None,
        environ=environ,
        folder=folder,
    )
    if not target.context and not target.kubeconfig and has_account(environ, folder):
        return access, "the account of this pod"
    if target.context:
        return access, f"context {target.context}"
    if target.kubeconfig:
        return access, f"kubeconfig {target.kubeconfig}"
    return access, f"context {next((one.name for one in contexts(environ) if one.current), '?')}"


def _own_namespace(environ: Mapping[str, str], folder: str) -> str:
    from ..engines.kubernetes.connection import has_account

    if not has_account(environ, folder):
        return ""
    try:
        with open(f"{folder}/namespace", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def reach(questions: Questions, source: str) -> tuple[Check, str]:
    """Check that the server answers; return also our name there."""
    begin = time.monotonic()
    where = f"{questions.server}, namespace {questions.namespace}, by {source}"
    try:
        version = questions.version()
        who = questions.who()
    except Unauthenticated as error:
        text = f"{where}: the server does not know this account: {error.message}"
        return Check(NAME, False, text, "Log in again; kubectl get pods must work."), ""
    except ApiError as error:
        text = f"{where}: no answer: {error.message}"
        fix = (
            "Check the address and the network. In a pod of JupyterHub the network policy may "
            "forbid it: the administrator allows egress to the API server (deploy/README.md)."
        )
        return Check(NAME, False, text, fix), ""
    took = time.monotonic() - begin
    text = f"{version} at {where}" + (f", as {who}" if who else "") + f"; answers in {took:.2f} s"
    return Check(NAME, True, text), who


def package_version() -> Check:
    """Check the ``kubernetes`` package."""
    name = "package kubernetes"
    fix = "pip install 'kubernetes>=29,!=36.0.0,!=36.0.1,!=36.0.2'"
    try:
        found = metadata.version("kubernetes")
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", fix)
    version = version_tuple(found)
    if version < _FLOOR:
        return Check(name, False, f"{found} is older than 29", fix)
    if version[:3] in _BROKEN:
        return Check(name, False, f"{found} sends requests without credentials", fix)
    return Check(name, True, found)
