"""The API server's refusals in words for a person: which limit, what to do, who can change it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from ...errors import BadInput, Conflict, ElasticError, LimitReached, NotFound, Unreachable
from ...errors import Forbidden as NotAllowed
from ...keeper.kube import errors as kube

T = TypeVar("T")

_QUOTA = re.compile(r"exceeded quota: (?P<rest>.*)", re.DOTALL)
_SECURITY = re.compile(r'violates PodSecurity "(?P<level>[^"]*)": (?P<rest>.*)', re.DOTALL)
_LIMIT_RANGE = re.compile(r"(?:maximum|minimum) \w+ usage per \w+", re.IGNORECASE)
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]*)" denied the request:? ?(?P<rest>.*)')
_RIGHTS = re.compile(r'cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"')


def in_words(error: kube.ApiError, namespace: str) -> ElasticError:
    """Return the error that a person sees.

    Parameters
    ----------
    error
        What the API server said.
    namespace
        Where it was asked, for the hint.
    """
    if isinstance(error, kube.Unauthenticated):
        return Unreachable(
            f"Kubernetes does not know who this server is: {error.message}",
            hint="Log in again (kubectl must work), or ask the administrator for a new account.",
            code="unauthenticated",
        )
    if isinstance(error, kube.Forbidden):
        return _refused(error, namespace)
    if isinstance(error, kube.Missing):
        if f'namespaces "{namespace}" not found' in error.message:
            return Unreachable(
                f"The namespace {namespace} does not exist.",
                hint="Ask the administrator, or choose another one.",
                code="gone",
            )
        return NotFound(f"Kubernetes has no such object: {error.message}")
    if isinstance(error, (kube.Taken, kube.Clash)):
        return Conflict(
            f"Somebody changed it meanwhile: {error.message}",
            hint="Look at it as it is now, then ask again.",
            code="changed",
        )
    if isinstance(error, kube.Invalid):
        return BadInput(
            f"Kubernetes refused it: {error.message}",
            hint="Change the value it names.",
            code="refused",
        )
    return Unreachable(
        f"Kubernetes does not answer: {error.message}",
        hint="Training is not touched. It is tried again by itself.",
    )


def _refused(error: kube.Forbidden, namespace: str) -> ElasticError:
    text = error.message
    if quota := _QUOTA.search(text):
        return LimitReached(
            f"The quota of the namespace {namespace} does not allow it: {quota['rest']}",
            hint="Use fewer containers or less of each, or ask the administrator for more.",
            code="quota",
        )
    if level := _SECURITY.search(text):
        return NotAllowed(
            f"Pod Security ({level['level']}) of the namespace {namespace} "
            f"refuses the containers: {level['rest']}",
            hint="The administrator's pod template or this rule must change.",
            code="pod_security",
        )
    if _LIMIT_RANGE.search(text):
        return LimitReached(
            f"A LimitRange of the namespace {namespace} does not allow it: {text}",
            hint="Ask for less or more of what it names, or ask the administrator.",
            code="limit_range",
        )
    if hook := _WEBHOOK.search(text):
        return NotAllowed(
            f"The cluster's rule {hook['name']} refused it: {hook['rest']}",
            hint="Ask the administrator who made that rule.",
            code="admission",
        )
    if "because it is being terminated" in text:
        return Unreachable(
            f"The namespace {namespace} is being deleted.",
            hint="Ask the administrator, or choose another one.",
            code="gone",
        )
    missing = _RIGHTS.search(text)
    asked = (
        f"{missing['verb']} {missing['resource']}"
        if missing
        else f"{error.verb} {error.resource}".strip()
    )
    return NotAllowed(
        f'This server may not do this here: missing "{asked}" in namespace {namespace}.',
        hint="Ask the administrator for the Role in deploy/.",
        detail={"verb": error.verb, "resource": error.resource, "namespace": namespace},
        code="rights",
    )


def translated(work: Callable[[], T], namespace: str) -> T:
    """Do blocking work with the API server and raise its refusals in words."""
    try:
        return work()
    except kube.ApiError as error:
        raise in_words(error, namespace) from error
