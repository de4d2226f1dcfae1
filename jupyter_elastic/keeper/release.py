"""When the keeper gives the cluster back by itself: after a run, when idle, at a deadline."""

from __future__ import annotations

import os
import time
from typing import Any

from . import files
from .channel import Refused

#: A keeper that was away past the end of a countdown gives the person this long.
RETURN_SECONDS = 10.0
_POLICIES = ("ask", "release", "keep")


def check_rules(value: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of a request.

    Raises
    ------
    Refused
        A field is wrong.
    """
    policy = value.get("on_run_end", "ask")
    if policy not in _POLICIES:
        raise Refused(
            "bad_input", f"on_run_end must be one of {', '.join(_POLICIES)}, not {policy!r:.80}."
        )
    rules: dict[str, Any] = {"on_run_end": policy}
    for name, default in (("after_seconds", 60.0), ("idle_seconds", None), ("deadline", None)):
        number = value.get(name, default)
        if number is None and default is None:
            rules[name] = None
        elif (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not 0 <= number < 1e12
        ):
            raise Refused(
                "bad_input", f"{name} must be a number of seconds from 0, not {number!r:.80}."
            )
        else:
            rules[name] = float(number)
    return rules


class Release:
    """The rules, kept on disk, and the answers of the person.

    Parameters
    ----------
    folder
        The keeper's own folder.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "rules.json")
        kept = files.read_json(self._path) or {}
        try:
            self.rules = check_rules(kept.get("rules") or {})
        except Refused:
            self.rules = check_rules({})
        answers = kept.get("kept")
        self._kept = (
            [one for one in answers if isinstance(one, str)] if isinstance(answers, list) else []
        )
        since = kept.get("since")
        self._since = float(since) if isinstance(since, (int, float)) else 0.0
        self._started = time.time()
        self._used = time.time()  # when a run or a terminal was seen last

    def set(self, value: dict[str, Any]) -> None:
        """Replace the rules.

        Raises
        ------
        Refused
            A field is wrong, or they cannot be kept on disk.
        """
        rules = check_rules(value)
        if rules != self.rules:
            self.rules, self._since = rules, time.time()
            self._save()

    def _save(self) -> None:
        value = {"rules": self.rules, "kept": self._kept[-50:], "since": self._since}
        try:
            files.write_json(self._path, value)
        except OSError as error:
            raise Refused(
                "conflict", f"The rules cannot be kept: {error.strerror} ({self._path})."
            ) from None

    def keep(self, run: str) -> None:
        """The person wants to keep the cluster after this run."""
        if run not in self._kept:
            self._kept.append(run)
            self._save()

    def offer(self, ended: dict[str, Any] | None, live: bool) -> dict[str, Any] | None:
        """Return the offer that waits for the person after the run that ended last."""
        policy = self.rules["on_run_end"]
        if live or ended is None or policy == "keep" or ended["id"] in self._kept:
            return None
        due = None
        if policy == "release":
            since = max(float(ended.get("ended") or 0.0), self._since)
            due = max(since + self.rules["after_seconds"], self._started + RETURN_SECONDS)
        then = "The cluster is given back unless you keep it." if due else "Give the cluster back?"
        return {
            "kind": "release",
            "text": f"{_outcome(ended)} {then}",
            "choices": ["keep", "release"],
            "due": due,
            "container": None,
            "run": ended["id"],
        }

    def due(self, offer: dict[str, Any] | None, in_use: bool) -> str | None:
        """Return why the cluster is to be given back now, or None.

        Parameters
        ----------
        in_use
            Whether a run lives or a terminal shows a shell.
        """
        now = time.time()
        if in_use:
            self._used = now
        if offer is not None and offer["due"] is not None and now >= offer["due"]:
            return "run ended"
        deadline, idle = self.rules["deadline"], self.rules["idle_seconds"]
        if deadline is not None and now >= deadline:
            return "deadline"
        if idle is not None and not in_use and now - self._used >= idle:
            return "idle"
        return None


def _outcome(run: dict[str, Any]) -> str:
    """Say which run it was and how it ended."""
    scripts = [word for word in run.get("argv") or [] if word.endswith((".py", ".sh"))]
    name = os.path.basename(scripts[0])[:60] if scripts else run["program"]
    code = run.get("exit")
    words = {
        "ended": "has ended",
        "stopped": "was stopped",
        "failed": "has failed" + ("" if code is None else f" with exit code {code}"),
    }
    return f"{name} {words.get(run.get('state', ''), 'has ended, its exit code is not known')}."
