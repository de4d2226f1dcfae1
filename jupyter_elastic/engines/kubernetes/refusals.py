"""Why a pod was not even created, in words: which limit, its value, who can change it."""

from __future__ import annotations

import re

from ...models import Reason
from . import quantities, wording

_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>.*?), used: (?P<used>.*?), "
    r"limited: (?P<limited>[^\s].*)",
    re.DOTALL,
)
_UNSET = re.compile(r"failed quota: (?P<name>[^:]+): must specify (?P<what>.*)", re.DOTALL)
_SECURITY = re.compile(r'violates PodSecurity "(?P<level>[^":]*)[^"]*": (?P<rest>.*)', re.DOTALL)
_RANGE = re.compile(
    r"(?P<end>maximum|minimum) (?P<what>\S{1,80}) usage per (?P<unit>\w+) is (?P<limit>[^\s,]+?)"
    r"(?:, but (?:limit|request) is (?P<value>[^\s,\].]+))?(?=[\s,.\]]|$)"
)
_RATIO = re.compile(r"(?P<what>\S{1,80}) max limit to request ratio per \w+ is (?P<limit>[^\s,]+)")
_WEBHOOK = re.compile(
    r'admission webhook "(?P<name>[^"]*)" denied the request:? ?(?P<rest>.*)', re.DOTALL
)
_DEAD_WEBHOOK = re.compile(r'failed calling webhook "(?P<name>[^"]*)":? ?(?P<rest>.*)', re.DOTALL)
_POLICY = re.compile(
    r"ValidatingAdmissionPolicy '(?P<name>[^']*)'.*? denied request: (?P<rest>.*)", re.DOTALL
)
_ACCOUNT = re.compile(r'service account (?P<account>[^\s:]+): serviceaccounts? "[^"]*" not found')
_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
_WORDS = {
    "pods": "containers",
    "count/pods": "containers",
    "requests.cpu": "CPU cores",
    "limits.cpu": "CPU cores",
    "cpu": "CPU cores",
    "requests.memory": "memory",
    "limits.memory": "memory",
    "memory": "memory",
}


def not_created(message: str) -> Reason:
    """Return why a pod was not created.

    Parameters
    ----------
    message
        Of a ReplicaFailure condition, a FailedCreate event, or an answer of the API server.
    """
    message = message[: wording.READ_LIMIT]
    for read in (_quota, _security, _range, _hook, _other):
        found = read(message)
        if found is not None:
            return found
    told = wording.cleaned(message, wording.LINE_LIMIT)
    words = f"Kubernetes did not create it: {told}" if told else "Kubernetes did not create it"
    return wording.reason("refused", wording.sentence(words), message)


def _quota(message: str) -> Reason | None:
    unset = _UNSET.search(message)
    if unset is not None:
        words = (
            f"Quota {unset['name'].strip()} wants a value for {_names(unset['what'])}: give it in "
            "the form."
        )
        return wording.reason("quota", words, message)
    match = _QUOTA.search(message)
    if match is None:
        return None
    used, limited, asked = (_pairs(match[key]) for key in ("used", "limited", "requested"))
    parts = []
    for name, most in limited.items():
        thing = _WORDS.get(name) or name.removeprefix("requests.").removeprefix("limits.")
        mine = f", {asked[name]} more asked for" if name in asked else ""
        parts.append(f"{_amount(name, most)} {thing} and {used.get(name, 'some')} are used{mine}")
    words = (
        f"Quota {match['name'].strip()} allows {'; '.join(parts)}. "
        "The owner of the namespace can raise it."
    )
    return wording.reason("quota", words, message)


def _pairs(text: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in text.split(","))
    return {name.strip(): value.strip().rstrip(".") for name, _, value in pairs if name.strip()}


def _amount(name: str, value: str) -> str:
    number = quantities.parse(value) if "memory" in name else None
    return value if number is None else quantities.size_words(int(number))


def _names(text: str) -> str:
    """Return the resources of ``limits.cpu for: main; limits.memory for: main``."""
    names = [part.split(" for:")[0].strip() for part in re.split(r"[;,]", text)]
    words = [_WORDS.get(name, name) for name in names if name]
    return ", ".join(dict.fromkeys(words))


def _security(message: str) -> Reason | None:
    match = _SECURITY.search(message)
    if match is None:
        return None
    words = (
        f"Pod Security ({match['level']}) of the namespace refuses it: {match['rest']}. "
        "The administrator's pod template or this rule must change."
    )
    return wording.reason("pod_security", words, message)


def _range(message: str) -> Reason | None:
    found = [
        f"at {'most' if match['end'] == 'maximum' else 'least'} {match['limit']} {match['what']} "
        f"for a {match['unit'].lower()}" + (f", not {match['value']}" if match["value"] else "")
        for match in _RANGE.finditer(message)
    ]
    found += [
        f"{match['what']}: a limit of at most {match['limit']} times the request"
        for match in _RATIO.finditer(message)
    ]
    if not found:
        return None
    words = f"The namespace's LimitRange allows {'; '.join(dict.fromkeys(found))}."
    return wording.reason("limit_range", words, message)


def _hook(message: str) -> Reason | None:
    match = _WEBHOOK.search(message) or _POLICY.search(message)
    if match is not None:
        rest = wording.cleaned(match["rest"], wording.LINE_LIMIT) or "no reason was given"
        words = f"The cluster's rule {match['name']} refuses it: {rest}"
        return wording.reason("admission", wording.sentence(words), message)
    dead = _DEAD_WEBHOOK.search(message)
    if dead is None:
        return None
    words = (
        f"The cluster's rule {dead['name']} does not answer, so nothing can be created. "
        "The administrator has to look at it."
    )
    return wording.reason("admission", words, message)


def _other(message: str) -> Reason | None:
    account = _ACCOUNT.search(message)
    if account is not None:
        words = f"The service account {account['account']} does not exist (setting or template)."
        return wording.reason("account", words, message)
    priority = _PRIORITY.search(message)
    if priority is not None:
        words = f"The priority class {priority['name']} of the pod template does not exist."
        return wording.reason("priority", words, message)
    if "is being terminated" in message:
        return wording.reason("gone", "The namespace is being deleted.", message)
    return None
