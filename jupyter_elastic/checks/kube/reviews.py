"""Whether the rights are those that are needed: not fewer, and not more."""

from __future__ import annotations

import queue
import shlex
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..check import Check
from .questions import Questions
from .wanted import EVERYTHING, EVERYTHING_WIDE, EXCESS, WANTED, Excess, Right

_THREADS = 6
_MANY = 3  # rights: from so many on the whole Role is what is missing
_ACCOUNT = "system:serviceaccount:"

In = TypeVar("In")
Out = TypeVar("Out")


def wanted(questions: Questions, who: str, refusal: str = "") -> list[Check]:
    """Check each right that is needed.

    Parameters
    ----------
    questions
        Where to ask.
    who
        Our name at the server, for the administrator's command.
    refusal
        Why nothing should be granted in this namespace; empty: it may be.
    """
    pairs = [(right, verb) for right in WANTED for verb in right.verbs]
    answers = together(lambda pair: questions.may(pair[1], pair[0].group, pair[0].resource), pairs)
    allowed = dict(zip(pairs, answers, strict=True))
    lacking = {
        right: [verb for verb in right.verbs if not allowed[right, verb]] for right in WANTED
    }
    whole = sum(map(bool, lacking.values())) >= _MANY
    found = []
    for right, lacks in lacking.items():
        name = f"right to {right.resource}"
        if not lacks:
            found.append(Check(name, True, ", ".join(right.verbs)))
            continue
        text = f"{', '.join(lacks)} not allowed in {questions.namespace}: {right.stops}"
        command = (
            grant_all(questions.namespace, who)
            if whole
            else grant(right, lacks, questions.namespace, who)
        )
        fix = refusal or f"Ask the administrator to run: {command}"
        found.append(Check(name, False, text, fix))
    return found


def grant_all(namespace: str, who: str) -> str:
    """Return the commands by which an administrator grants the whole Role."""
    binding = ["kubectl", "create", "rolebinding", "jupyter-elastic-user"]
    binding += [f"--namespace={namespace}", "--role=jupyter-elastic", _subject(who)]
    apply = ["kubectl", "apply", f"--namespace={namespace}", "--filename=deploy/role.yaml"]
    return f"{shlex.join(apply)} && {shlex.join(binding)}"


def _subject(who: str) -> str:
    if who.startswith(_ACCOUNT):
        return f"--serviceaccount={who[len(_ACCOUNT) :]}"
    return f"--user={who or 'NAME'}"


def grant(right: Right, verbs: Sequence[str], namespace: str, who: str) -> str:
    """Return the command by which an administrator grants verbs on one resource."""
    name = "-".join(("jupyter-elastic", right.resource.replace("/", "-"), *verbs))
    role = ["kubectl", "create", "role", name, f"--namespace={namespace}"]
    role += [f"--verb={','.join(verbs)}", f"--resource={right.argument}"]
    binding = ["kubectl", "create", "rolebinding", name, f"--namespace={namespace}"]
    binding += [f"--role={name}", _subject(who)]
    return f"{shlex.join(role)} && {shlex.join(binding)}"


def excess(questions: Questions) -> Check:
    """Check for rights that are too many; every notebook of this server has them too."""
    name = "rights beyond the role"
    # `*` alone is not enough: where each single right is held by a rule of its own, it is not held.
    asked = (EVERYTHING_WIDE, EVERYTHING, *EXCESS)
    answers = together(
        lambda one: questions.may(one.verb, one.group, one.resource, wide=one.wide), asked
    )
    held = [one for one, answer in zip(asked, answers, strict=True) if answer]
    if not held:
        return Check(name, True, "none of those that were looked for")
    means = dict.fromkeys(one.means for one in _strongest(held))
    text = "this account, and so every notebook here, can also " + "; ".join(means)
    fix = (
        "Use an account with the Role of deploy/role.yaml only, in a namespace of your own: "
        f"kubectl auth can-i --list --namespace={questions.namespace} shows all rights"
    )
    return Check(name, None, text, fix)


def _strongest(held: Sequence[Excess]) -> Sequence[Excess]:
    if EVERYTHING_WIDE in held:
        return [EVERYTHING_WIDE]
    if EVERYTHING in held:
        return [EVERYTHING, *(one for one in held if one.wide)]
    wide = {(one.verb, one.group, one.resource) for one in held if one.wide}
    return [one for one in held if one.wide or (one.verb, one.group, one.resource) not in wide]


def together(ask: Callable[[In], Out], items: Sequence[In]) -> list[Out]:
    """Ask for each item, some at a time; return the answers in order, or raise the first error.

    The threads end no process: whoever waits no longer leaves them behind.
    """
    waiting: queue.SimpleQueue[tuple[int, In]] = queue.SimpleQueue()
    for pair in enumerate(items):
        waiting.put(pair)
    answers: dict[int, Out] = {}
    errors: list[Exception] = []

    def work() -> None:
        while not errors:
            try:
                index, item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answers[index] = ask(item)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [answers[index] for index in range(len(items))]
