"""A running cluster, as the tests and the command line use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from testcluster import processes, programs
from testcluster.faults import ClusterError
from testcluster.versions import BASE_IMAGE

OPT_IN = "JUPYTER_ELASTIC_TEST_CLUSTER"
IMAGE = "JUPYTER_ELASTIC_TEST_IMAGE"
NOTE = "cluster.json"  # makes a folder the state folder of a cluster of ours


@dataclass
class Cluster:
    """One cluster and what can be done with it.

    Attributes
    ----------
    kubeconfig : pathlib.Path
        The administrator's.
    kubectl_file : pathlib.Path
        The program.
    image : str
        Image with sshd, Python and a user with uid 1000; pods take it with
        ``imagePullPolicy: Never``.
    state : pathlib.Path or None
        Folder of a cluster of ours; None if it was given to us by a kubeconfig.
    """

    kubeconfig: Path
    kubectl_file: Path
    image: str = BASE_IMAGE.reference
    state: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep a proxy of the environment out of the way to an address of this machine."""
        if self.state is not None:
            host = self.server.removeprefix("https://").rpartition(":")[0]
            known = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
            value = ",".join(filter(None, [known, host]))
            self.environment |= {"NO_PROXY": value, "no_proxy": value}

    @property
    def server(self) -> str:
        """Return the URL of the API server."""
        return str(self.connection()["server"])

    def connection(self) -> dict[str, str]:
        """Return the entry for the cluster in the kubeconfig, its certificate inlined."""
        command = [str(self.kubectl_file), "--kubeconfig", str(self.kubeconfig), "config", "view"]
        command += ["--raw", "--minify", "--flatten", "--output=json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"{self.kubeconfig} cannot be read: {done.stderr.strip()}")
        return cast(dict[str, str], json.loads(done.stdout)["clusters"][0]["cluster"])

    def kubectl(
        self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None, timeout: float = 60
    ) -> str:
        """Return the output of kubectl.

        Parameters
        ----------
        *arguments : str
            Its arguments.
        stdin : str
            Text for its standard input.
        kubeconfig : pathlib.Path, optional
            Another identity; the administrator by default.
        timeout : float
            Seconds it may take.

        Raises
        ------
        ClusterError
            If it fails, with its words.
        """
        command = [str(self.kubectl_file), "--kubeconfig", str(kubeconfig or self.kubeconfig)]
        if self.state is not None:
            command.append(f"--cache-dir={self.state / 'kubectl'}")
        try:
            done = subprocess.run(
                [*command, *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
                env={**os.environ, **self.environment},
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterError(
                f"kubectl {' '.join(arguments)}: no answer in {timeout} s"
            ) from error
        if done.returncode:
            raise ClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        """Return an object, or a list of objects, as ``kubectl get`` prints it."""
        return cast(dict[str, Any], json.loads(self.kubectl("get", *arguments, "--output=json")))

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects."""
        content = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(content))

    def process(self, name: str) -> int:
        """Return the process id of one of the cluster's programs, for example kube-apiserver.

        Raises
        ------
        ClusterError
            If it does not run, or if the cluster is not ours.
        """
        noted = _note(self.own_state(), name)
        if processes.birth(noted["pid"]) != noted["birth"]:
            raise ClusterError(f"{name} does not run")
        return int(noted["pid"])

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one of the cluster's programs, such as SIGSTOP, SIGCONT or SIGKILL."""
        os.kill(self.process(name), number)

    def restart(self, name: str) -> int:
        """Start one of the programs as before, after killing it if it runs.

        Returns
        -------
        int
            The new process id.
        """
        state = self.own_state()
        noted = _note(state, name)
        if processes.birth(noted["pid"]) == noted["birth"]:
            processes.end(lambda: [noted["pid"]] if processes.birth(noted["pid"]) else [])
        return launch(state, name, noted["command"], noted["environment"])

    def programs(self) -> list[str]:
        """Return the names of the cluster's programs."""
        return sorted(path.stem for path in (self.own_state() / "programs").glob("*.json"))

    def log(self, name: str) -> Path:
        """Return the log file of one of the cluster's programs."""
        return self.own_state() / "logs" / f"{name}.log"

    def own_state(self) -> Path:
        """Return the state folder.

        Raises
        ------
        ClusterError
            If the cluster is not ours.
        """
        if self.state is None:
            raise ClusterError("This cluster was given by KUBECONFIG; its programs are not ours")
        return self.state


def launch(state: Path, name: str, command: list[str], environment: dict[str, str]) -> int:
    """Start a program of a cluster and note it in the state folder, for a later restart.

    Returns
    -------
    int
        Its process id.
    """
    for folder in ("logs", "programs"):
        (state / folder).mkdir(exist_ok=True)
    pid = processes.spawn(command, state / "logs" / f"{name}.log", state, environment)
    noted = {
        "pid": pid,
        "birth": processes.birth(pid),
        "command": command,
        "environment": environment,
    }
    (state / "programs" / f"{name}.json").write_text(json.dumps(noted, indent=1), encoding="utf-8")
    return pid


def _note(state: Path, name: str) -> dict[str, Any]:
    path = state / "programs" / f"{name}.json"
    if not path.exists():
        raise ClusterError(f"This cluster has no program {name}")
    return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))


def attach(state: Path) -> Cluster:
    """Return the cluster that runs with this state folder.

    Raises
    ------
    ClusterError
        If none does.
    """
    path = state.resolve() / "admin.kubeconfig"
    if not path.exists():
        raise ClusterError(f"No cluster runs in {state}")
    return Cluster(path, _kubectl(), state=state.resolve())


def given() -> Cluster | None:
    """Return the existing cluster that the environment names for the tests, or None.

    It is used only if KUBECONFIG is set and JUPYTER_ELASTIC_TEST_CLUSTER is 1. Its nodes must
    have the test image, or JUPYTER_ELASTIC_TEST_IMAGE names one that they have.
    """
    path = os.environ.get("KUBECONFIG")
    if not path or os.environ.get(OPT_IN) != "1":
        return None
    file = Path(path).resolve()
    # One of ours, started before and for longer, keeps its abilities.
    state = file.parent if (file.parent / NOTE).exists() else None
    image = os.environ.get(IMAGE, BASE_IMAGE.reference)
    cluster = Cluster(file, _kubectl(), image, state)
    cluster.kubectl("version", "--request-timeout=10s")
    return cluster


def _kubectl() -> Path:
    found = programs.of_the_machine("kubectl")
    return found or programs.ensure(kubelet=False)["kubectl"]
