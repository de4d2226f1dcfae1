"""An observer beside the server: when pods were Ready, sets changed, and hosts were listed."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from jupyter_elastic.engines.kubernetes.connection import connect
from jupyter_elastic.keeper.kube.calls import PODS, REPLICASETS, Api
from jupyter_elastic.keeper.kube.reflector import Reflector


class Observer:
    """Instants (of `time.perf_counter`) at which things were seen first.

    Parameters
    ----------
    kubeconfig
        The administrator's.
    namespace
        What to watch.
    """

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        access = connect(kubeconfig=str(kubeconfig), namespace=namespace)
        self._api = Api(access)
        self._lock = threading.Lock()
        self.ready: dict[str, float] = {}  # address of a pod -> when it was Ready
        self.set_of: dict[str, str] = {}  # the same -> name of its set
        self.replicas: dict[str, list[tuple[float, int]]] = {}  # set -> when it got how many
        self._pods = Reflector(self._api, PODS, on_change=self._see_pods)
        self._sets = Reflector(self._api, REPLICASETS, on_change=self._see_sets)

    def __enter__(self) -> Observer:
        self._pods.start()
        self._sets.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pods.stop()
        self._sets.stop()
        self._api.close()

    def _see_pods(self) -> None:
        now = time.perf_counter()
        for pod in self._pods.objects().values():
            address, metadata = pod.get("status", {}).get("podIP"), pod["metadata"]
            if address and address not in self.ready and _ready(pod):
                owners = metadata.get("ownerReferences") or [{}]
                self.set_of[address] = str(owners[0].get("name", ""))
                self.ready[address] = now

    def _see_sets(self) -> None:
        now = time.perf_counter()
        for one in self._sets.objects().values():
            known = self.replicas.setdefault(one["metadata"]["name"], [])
            count = int(one["spec"]["replicas"])
            if not known or known[-1][1] != count:
                known.append((now, count))

    def count_ready(self, name: str, since: float) -> list[float]:
        """Return when pods of a set became Ready since then, in order."""
        found = [at for host, at in self.ready.copy().items() if self.set_of[host] == name]
        return sorted(at for at in found if at > since)

    def joined(self, name: str, since: float, count: int) -> list[float] | None:
        """Return when so many pods of a set became Ready since then; None: not yet."""
        found = self.count_ready(name, since)
        return found if len(found) >= count else None

    def replicas_at(self, name: str, count: int, since: float) -> float | None:
        """Return when the set was asked for so many since then; None: not yet."""
        seen = self.replicas.get(name, []).copy()
        return next((at for at, number in seen if number == count and at > since), None)


def _ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


READER = """
import sys, time
before = ""
while True:
    time.sleep(0.002)
    try:
        text = open(sys.argv[1]).read()
    except OSError:
        continue
    if text != before:
        before = text
        print(time.perf_counter(), *[line.split()[0] for line in text.splitlines()], flush=True)
"""


class FileObserver:
    """Notes when an address is in the host file of a launcher first; read there every 2 ms.

    The launcher runs on this machine, so its clock is ours.

    Parameters
    ----------
    lab
        The server with its cluster of pods.
    made
        The cluster.
    """

    def __init__(self, lab: Any, made: Any) -> None:
        kubectl = [str(lab.cluster_object.kubectl_file), "--kubeconfig"]
        kubectl += [str(lab.cluster_object.kubeconfig), "--namespace", lab.namespace, "exec"]
        launcher, path = made["containers"][0]["name"], made["hostfile"]["hostfile"]
        self._process = subprocess.Popen(
            [*kubectl, launcher, "--", "python3", "-u", "-c", READER, path],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **lab.cluster_object.environment},
        )
        self.listed: dict[str, float] = {}
        self.lines = 0
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> FileObserver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join()

    def has(self, lines: int) -> bool:
        """Return whether the file has so many lines now."""
        return self.lines == lines

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at, *hosts = line.split()
            for host in hosts:
                self.listed.setdefault(host, float(at))
            self.lines = len(hosts)


def until(holds: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait for something to be true and return it."""
    end = time.perf_counter() + seconds
    while not (value := holds()):
        if time.perf_counter() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.005)
    return value
