"""The command lines of etcd, API server, controller manager and scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """Where one cluster lives on this machine.

    Attributes
    ----------
    state : pathlib.Path
        Its folder.
    programs : dict of str to pathlib.Path
        The program files.
    address : str
        Where the API server listens.
    port : int
        Its port.
    services : str
        The range of service addresses.
    etcd_ports : tuple of int
        Client's and peer's port of etcd on the loopback address.
    """

    state: Path
    programs: dict[str, Path]
    address: str
    port: int
    services: str
    etcd_ports: tuple[int, int]

    @property
    def server(self) -> str:
        """Return the URL of the API server."""
        return f"https://{self.address}:{self.port}"

    def certificate(self, name: str) -> str:
        """Return the path of a file of the certificates' folder."""
        return str(self.state / "certificates" / name)


def etcd(plan: Plan) -> list[str]:
    """Return etcd's command: on loopback, and without waiting for the disk."""
    client, peer = (f"http://127.0.0.1:{port}" for port in plan.etcd_ports)
    return [
        str(plan.programs["etcd"]),
        f"--data-dir={plan.state / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(plan: Plan) -> list[str]:
    """Return the API server's command."""
    return [
        str(plan.programs["kube-apiserver"]),
        f"--etcd-servers=http://127.0.0.1:{plan.etcd_ports[0]}",
        f"--bind-address={plan.address}",
        f"--advertise-address={plan.address}",
        f"--secure-port={plan.port}",
        f"--service-cluster-ip-range={plan.services}",
        f"--tls-cert-file={plan.certificate('server.crt')}",
        f"--tls-private-key-file={plan.certificate('server.key')}",
        f"--client-ca-file={plan.certificate('ca.crt')}",
        f"--kubelet-client-certificate={plan.certificate('kubelet-client.crt')}",
        f"--kubelet-client-key={plan.certificate('kubelet-client.key')}",
        # Without it exec and logs look for the node's name.
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={plan.certificate('accounts.key')}",
        f"--service-account-signing-key-file={plan.certificate('accounts.key')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={plan.state / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
        "--profiling=false",
        f"--cert-dir={plan.state / 'api-server'}",
    ]


def controller_manager(plan: Plan) -> list[str]:
    """Return the controller manager's command."""
    return [
        str(plan.programs["kube-controller-manager"]),
        f"--kubeconfig={plan.state / 'admin.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={plan.certificate('accounts.key')}",
        f"--root-ca-file={plan.certificate('ca.crt')}",
        "--use-service-account-credentials=true",
        "--profiling=false",
    ]


def scheduler(plan: Plan) -> list[str]:
    """Return the scheduler's command."""
    return [
        str(plan.programs["kube-scheduler"]),
        f"--kubeconfig={plan.state / 'admin.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
    ]
