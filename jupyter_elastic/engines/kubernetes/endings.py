"""How containers end or cannot begin, in words."""

from __future__ import annotations

import re

from ...models import Reason
from .fields import Json, number, text
from .layout import SHARED_MEMORY
from .wording import last_line, reason, sentence, times

NODE_SILENT = Reason("node_lost", "Its node does not answer.")

_SIGNALS = {
    134: "aborted", 137: "killed", 139: "crashed by a wrong memory access", 143: "told to end",
}  # fmt: skip
_DISRUPTIONS = {
    "DeletionByTaintManager": ("node_lost", "Its node does not answer; it is given up."),
    "EvictionByEvictionAPI": ("evicted", "It was evicted: its node is being emptied."),
    "PreemptionByScheduler": ("preempted", "It was pushed off its node by a more important one."),
    "TerminationByKubelet": ("evicted", "Its node ended it: it is short of something or stops."),
    "DeletionByPodGC": ("node_lost", "Its node is gone."),
}
_LOW = re.compile(r"low on resource: (?P<what>[\w-]+)")
_SHM = re.compile(
    r'Usage of EmptyDir volume "(?P<volume>[^"]*)" exceeds the limit "(?P<limit>[^"]*)"'
)
_SECRET = re.compile(r'(?P<kind>secret|configmap) "(?P<name>[^"]*)" not found', re.IGNORECASE)
_KEY = re.compile(
    r"couldn't find key (?P<key>\S+) in (?P<kind>Secret|ConfigMap) \S*?/?(?P<name>[^/\s]+)$"
)
_NO_PROGRAM = re.compile(r'exec: "(?P<program>[^"]*)": (?:executable file not found|stat )')


def deleting(disruption: Json) -> Reason:
    """Return why a pod is being deleted.

    Parameters
    ----------
    disruption
        Its condition DisruptionTarget, empty if there is none.
    """
    known = _DISRUPTIONS.get(text(disruption.get("reason")))
    if known is None or disruption.get("status") != "True":
        return Reason("deleting", "It is being deleted.")
    return reason(*known, text(disruption.get("message")))


def failed(why: str, message: str, ended: Json) -> Reason:
    """Return why a whole pod failed.

    Parameters
    ----------
    why, message
        Of the pod's status.
    ended
        State ``terminated`` of its main container.
    """
    if why == "Evicted":
        return _evicted(message)
    if why in ("NodeShutdown", "Terminated", "Shutdown", "NodeAffinity"):
        return reason("node_lost", "Its node was shut down.", message)
    if why == "NodeLost":
        return reason("node_lost", NODE_SILENT.text, message)
    if why in ("Preempting", "Preempted"):
        return reason("preempted", "It was pushed off its node by a more important one.", message)
    if why == "DeadlineExceeded":
        return reason("deadline", "Its time was over.", message)
    if why == "UnexpectedAdmissionError" or why.startswith("OutOf"):
        what = why.removeprefix("OutOf") if why.startswith("OutOf") else "devices"
        return reason("node_full", f"Its node had no {what} left for it after all.", message)
    if ended:
        return exited(ended, 0, message)
    words = f"It failed: {why or message}" if why or message else "It failed"
    return reason("failed", sentence(words), message)


def _evicted(message: str) -> Reason:
    full = _SHM.search(message)
    if full is not None:
        where = SHARED_MEMORY if full["volume"] == "shm" else f"the volume {full['volume']}"
        words = f"It put more into {where} than the limit of {full['limit']} and was evicted."
        return reason("evicted", words, message)
    low = _LOW.search(message)
    words = (
        f"Its node was low on {low['what']} and evicted it."
        if low is not None
        else "Its node evicted it."
    )
    return reason("evicted", words, message)


def exited(ended: Json, restarts: int, message: str = "") -> Reason:
    """Return how a container ended.

    Parameters
    ----------
    ended
        Its state ``terminated``; empty when nobody knows any more.
    restarts
        How often it was started again.
    message
        More raw text, shown when the state has none.
    """
    code = number(ended.get("exitCode"))
    why, output = text(ended.get("reason")), text(ended.get("message"))
    often = f" (restarted {times(restarts)})" if restarts else ""
    if why == "OOMKilled":
        words = f"It ran out of memory and was killed{often}. Give it more memory."
        return reason("out_of_memory", words, output or message)
    if why in ("ContainerCannotRun", "StartError"):
        return not_run(output or message)
    if why == "ContainerStatusUnknown":
        return reason("node_lost", "Its node lost it.", output or message)
    line = last_line(output)
    if not ended:
        words = f"It keeps ending{often}; how is not known"
    elif code == 0:
        words = f"It ended by itself with exit code 0{often}"
    else:
        how = f", {_SIGNALS[code]}" if code in _SIGNALS else ""
        words = f"It ended with exit code {code}{how}{often}"
    words += f": {line}" if line else ""
    return reason("crash" if code or not ended else "ended", sentence(words), output or message)


def not_run(message: str) -> Reason:
    """Return why a node cannot start a container that it has the image of."""
    missing = _SECRET.search(message)
    if missing is not None:
        words = f"The {missing['kind'].capitalize()} {missing['name']} does not exist."
        return reason("config", words.replace("Configmap", "ConfigMap"), message)
    key = _KEY.search(message)
    if key is not None:
        words = f"The {key['kind']} {key['name']} has no key {key['key']}."
        return reason("config", words, message)
    if "image will run as root" in message:
        words = "Its image runs as root, and that is not allowed here. Choose another image."
        return reason("config", words, message)
    if "non-numeric user" in message:
        words = (
            "Its image names its user by a word, so nobody can tell that it is not root. "
            "The administrator can set a user number."
        )
        return reason("config", words, message)
    program = _NO_PROGRAM.search(message)
    if program is not None:
        words = f"Its image has no {program['program']}. Choose another image."
        return reason("config", words, message)
    return reason("config", "Its node cannot start it.", message)


def no_volume(message: str) -> Reason:
    """Return why a node cannot give a pod its volumes."""
    missing = _SECRET.search(message)
    if missing is not None:
        words = f"The {missing['kind'].capitalize()} {missing['name']} does not exist."
        return reason("volume", words.replace("Configmap", "ConfigMap"), message)
    if "Multi-Attach" in message:
        words = "Its storage is in use on another node and can be on one node only."
        return reason("volume", words, message)
    return reason("volume", "Its node cannot mount its storage yet; it tries again.", message)
