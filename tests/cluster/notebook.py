"""A Jupyter server in a pod of the namespace, as a hub would start it, with the account of ``deploy/`` only."""

from __future__ import annotations

import json
import urllib.error
from typing import Any

from testcluster.cluster import Cluster
from training_env import cache_root

from ..harness.lab import TOKEN, HttpError
from .lab import ACCOUNT, ClusterLab
from .notebook_env import notebook_env
from .pods import restricted_spec

POD = "jupyter-ann"
PID_FILE = "/tmp/server.pid"
# The server may be killed and comes again, and the pod stays; as with a hub that starts it by a script.
LIFE = (
    f"mkdir -p $HOME && while true; do $SERVER & echo $! > {PID_FILE}; wait $!; echo ended; "
    "sleep 0.5; done"
)


class NotebookLab(ClusterLab):
    """The server in a pod; everything else as with :class:`ClusterLab`."""

    def __init__(self, cluster: Cluster, namespace: str, **traits: Any) -> None:
        super().__init__(cluster, namespace, **traits)
        for name in ("kubeconfig", "default_image", "storage"):
            del self._config["ElasticExtensionApp"][f"kubernetes_{name}"]
        del self._config["ElasticExtensionApp"]["shared_folder"]
        self.port = 8888
        self.pod_name = POD
        kernels = self.work / "share" / "kernels"
        kernels.parent.mkdir()
        (self.home / "data" / "kernels").rename(kernels)
        (self.work / "config.json").write_text(json.dumps(self._config))

    def pod(self) -> dict[str, Any]:
        """Return Jupyter's pod."""
        root = cache_root()
        env = {
            "HOME": "/tmp/home",
            "SHELL": "/bin/bash",
            "JUPYTER_PATH": str(self.work / "share"),
            "SERVER": f"{notebook_env()}/bin/python -m jupyter_server "
            f"--config={self.work}/config.json --ServerApp.ip=0.0.0.0 --ServerApp.port={self.port} "
            f"--IdentityProvider.token={TOKEN} --ServerApp.root_dir={self.work} "
            "--ServerApp.open_browser=False",
        }
        spec = restricted_spec(
            self.cluster_object.image,
            ["sh", "-c", LIFE],
            workingDir=str(self.work),
            env=[{"name": name, "value": value} for name, value in env.items()],
            volumeMounts=[
                {"name": "training", "mountPath": str(root), "readOnly": True},
                {"name": "work", "mountPath": str(self.work)},
            ],
        )
        claims = ("training", "work")
        spec["volumes"] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims
        ]
        spec["serviceAccountName"] = ACCOUNT
        metadata = {"name": POD, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def start(self) -> NotebookLab:
        """Make the pod and wait until our routes answer."""
        self.cluster_object.apply(self.pod())
        self.wait(lambda: bool(self._address()), seconds=60, what="the address of Jupyter's pod")
        self.host = self._address()
        self.wait(self._answers, seconds=90, what="the server to answer")
        return self

    def _address(self) -> str:
        found = self.cluster_object.get("pod", POD, "--namespace", self.namespace)
        return str(found["status"].get("podIP", ""))

    def _answers(self) -> bool:
        try:
            self.get("clusters")
        except (OSError, urllib.error.URLError, HttpError, ConnectionError):
            return False
        except ValueError:
            return False  # a hub shows a page while the server of the user starts
        return True

    def log_text(self) -> str:
        """Return the end of the pod's log."""
        return self.cluster_object.kubectl("logs", POD, "--namespace", self.namespace)[-8000:]

    def inside(self, *command: str) -> str:
        """Run a command in Jupyter's pod."""
        where = ("--namespace", self.namespace, self.pod_name)
        return self.cluster_object.kubectl("exec", *where, "--", *command)

    def kill(self) -> None:
        """SIGKILL the server only; the pod starts it again."""
        before = self.inside("cat", PID_FILE)
        self.inside("kill", "-9", before.strip())
        self.wait(
            lambda: self.inside("cat", PID_FILE) != before and self._answers(),
            seconds=60,
            what="the next server",
        )

    def end_pod(self) -> None:
        """Delete the pod, as a hub does that stops the server."""
        self.cluster_object.kubectl("delete", "pod", POD, "--namespace", self.namespace)

    def create(self, name: str = "tthvd", size: int = 2, **fields: Any) -> Any:
        """Create a cluster of the default launcher mode and wait until all of it is ready."""
        return super().create(name, size, **{"launcher_mode": None, **fields})

    def close(self) -> None:
        """Remove the folder; the namespace takes everything else with it."""
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)
