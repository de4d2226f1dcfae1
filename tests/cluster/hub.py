"""JupyterHub with KubeSpawner on this machine, whose users' servers are pods; all goes through its proxy."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from testcluster.cluster import Cluster
from training_env import cache_root

from ..harness.lab import TOKEN, HttpError, free_port
from .lab import ACCOUNT
from .notebook import NotebookLab
from .notebook_env import notebook_env, proxy_program

USER, SERVER = "ann@b", "two"
BASE = "/hub-x/"


class HubLab(NotebookLab):
    """The named server of a user of a hub."""

    def __init__(self, cluster: Cluster, namespace: str, **traits: Any) -> None:
        super().__init__(cluster, namespace, **traits)
        self.port = free_port()
        self._hub_base = f"http://127.0.0.1:{self.port}{BASE}hub/api/"
        self.base = f"{BASE}user/{USER}/{SERVER}/"  # as a browser asks: the @ stays
        self._hub: subprocess.Popen[bytes] | None = None
        etc = self.work / "etc"
        etc.mkdir()
        (self.work / "config.json").rename(etc / "jupyter_server_config.json")

    def settings(self) -> dict[str, Any]:
        """Return the hub's configuration."""
        gateway = self.cluster_object.server.split("//")[1].partition(":")[0]
        hub_port, api_port = free_port(), free_port()
        root = str(cache_root())
        return {
            "JupyterHub": {
                "bind_url": f"http://127.0.0.1:{self.port}{BASE}",
                "hub_ip": "0.0.0.0",
                "hub_port": hub_port,
                "hub_connect_url": f"http://{gateway}:{hub_port}",
                "authenticator_class": "dummy",
                "spawner_class": "kubespawner.KubeSpawner",
                "allow_named_servers": True,
                "db_url": "sqlite://",
                "cookie_secret_file": str(self.folder / "cookie"),
                "services": [{"name": "driver", "api_token": TOKEN}],
                "load_roles": [
                    {
                        "name": "driver",
                        "scopes": ["admin:users", "admin:servers", "access:servers"],
                        "services": ["driver"],
                    }
                ],
            },
            "Authenticator": {"allow_all": True},
            "ConfigurableHTTPProxy": {
                "command": [str(proxy_program())],
                "api_url": f"http://127.0.0.1:{api_port}",
                "pid_file": str(self.folder / "proxy.pid"),
            },
            "KubeSpawner": {
                "namespace": self.namespace,
                "image": self.cluster_object.image,
                "image_pull_policy": "Never",
                "cmd": [f"{notebook_env()}/bin/jupyterhub-singleuser"],
                "notebook_dir": str(self.work),
                "working_dir": str(self.work),
                "uid": 1000,
                "gid": 1000,
                "fs_gid": 1000,
                "service_account": ACCOUNT,
                "automount_service_account_token": True,
                "environment": {
                    "HOME": "/tmp",
                    "SHELL": "/bin/bash",
                    "JUPYTER_PATH": str(self.work / "share"),
                    "JUPYTER_CONFIG_PATH": str(self.work / "etc"),
                },
                "container_security_context": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
                "pod_security_context": {
                    "fsGroup": 1000,
                    "runAsNonRoot": True,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "volumes": [
                    {"name": name, "persistentVolumeClaim": {"claimName": name}}
                    for name in ("training", "work")
                ],
                "volume_mounts": [
                    {"name": "training", "mountPath": root, "readOnly": True},
                    {"name": "work", "mountPath": str(self.work)},
                ],
            },
        }

    def start(self) -> HubLab:
        """Start the hub and the user's server, and wait until our routes answer."""
        config = self.folder / "hub.json"
        config.write_text(json.dumps(self.settings()))
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.cluster_object.kubeconfig),
            "CONFIGPROXY_AUTH_TOKEN": os.urandom(16).hex(),
        }
        with self.log.open("ab") as log:
            self._hub = subprocess.Popen(
                [f"{notebook_env()}/bin/jupyterhub", f"--config={config}"],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait(lambda: self._ask("GET", ""), seconds=60, what="the hub to answer")
        self._ask("POST", f"users/{quote(USER)}")
        self.start_server()
        return self

    def start_server(self) -> None:
        """Start the user's server and wait until our routes answer."""
        self._ask("POST", f"users/{quote(USER)}/servers/{SERVER}")
        self.wait(self._answers, seconds=90, what="the user's server to answer")
        found = self.cluster_object.get(
            "pods", "--namespace", self.namespace, "--selector=component=singleuser-server"
        )["items"]
        self.pod_name = found[0]["metadata"]["name"]

    def stop_server(self) -> None:
        """Stop the user's server, as its page does."""
        self._ask("DELETE", f"users/{quote(USER)}/servers/{SERVER}")

    def _ask(self, method: str, path: str) -> bool:
        headers = {"Authorization": f"token {TOKEN}"}
        call = urllib.request.Request(self._hub_base + path, method=method, headers=headers)
        try:
            with urllib.request.urlopen(call, timeout=60) as answer:
                return bool(answer.status < 300)
        except urllib.error.HTTPError as error:
            if method == "GET":  # the proxy has no way to the hub yet
                return False
            raise HttpError(error.code, error.read()[:500]) from None
        except OSError:
            return False

    def log_text(self) -> str:
        """Return the end of the hub's log."""
        return self.log.read_text(errors="replace")[-8000:]

    def close(self) -> None:
        """End the hub with its proxy; the namespace takes the pods with it."""
        if self._hub is not None:
            self._hub.send_signal(signal.SIGTERM)
            end = time.monotonic() + 20
            while self._hub.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            if self._hub.poll() is None:
                os.killpg(self._hub.pid, signal.SIGKILL)
            # A hub that was ended while it started leaves its proxy, and the file that names it.
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((self.folder / "proxy.pid").read_text()), signal.SIGTERM)
        super().close()
