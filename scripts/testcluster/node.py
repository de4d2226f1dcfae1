"""The real node: containerd and kubelet with folders of their own."""

from __future__ import annotations

import json
from pathlib import Path

from testcluster import mounts, packages
from testcluster.control import Plan
from testcluster.faults import ClusterError
from testcluster.network import Network
from testcluster.run import run

NODE = "real-node"
NAMESPACE = "k8s.io"  # containerd's, of all that the kubelet runs


def socket(state: Path) -> Path:
    """Return containerd's socket."""
    return state / "containerd" / "socket"


def containerd(state: Path, image: str) -> list[str]:
    """Write containerd's configuration and return its command.

    Parameters
    ----------
    state : pathlib.Path
        The cluster's folder.
    image : str
        Image of the process that holds a pod's namespaces.
    """
    folder = state / "containerd"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(_containerd_settings(state, image), encoding="utf-8")
    return [_program("containerd"), f"--config={folder / 'config.toml'}"]


def _program(name: str) -> str:
    found = packages.find(name)
    if found is None:
        packages.require()
        raise ClusterError(f"{name} is not on this machine")
    return found


def _containerd_settings(state: Path, image: str) -> str:
    folder = state / "containerd"
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    # JSON strings are TOML strings.
    text = {name: json.dumps(str(folder / name)) for name in ("root", "state", "opt", "runc")}
    return f"""\
version = 2
root = {text["root"]}
state = {text["state"]}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp"]
[grpc]
address = {json.dumps(str(socket(state)))}
[plugins."io.containerd.internal.v1.opt"]
path = {text["opt"]}
[{cri}]
sandbox_image = {json.dumps(image)}
disable_apparmor = true
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"
[{cri}.cni]
bin_dir = {json.dumps(str(packages.cni_folder()))}
conf_dir = {json.dumps(str(state / "cni"))}
[{cri}.containerd]
snapshotter = "{_snapshotter(state)}"
[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
Root = {text["runc"]}
SystemdCgroup = false
"""


def _snapshotter(state: Path) -> str:
    """Return how layers are laid over one another: an overlay cannot lie on an overlay."""
    kind = run("stat", "--file-system", "--format=%T", str(state)).strip()
    return "native" if kind in ("overlayfs", "overlay") else "overlayfs"


def write_network(state: Path, name: str, network: Network) -> None:
    """Write the configuration of the network plugins."""
    folder = state / "cni"
    folder.mkdir(exist_ok=True)
    content = network.configuration(name, folder / "addresses")
    (folder / "10-bridge.conflist").write_text(json.dumps(content), encoding="utf-8")


def kubelet(plan: Plan, port: int, cgroup: str) -> list[str]:
    """Write the kubelet's configuration and return its command.

    Parameters
    ----------
    plan : Plan
        The cluster; the kubelet listens on the API server's address.
    port : int
        Port of its own API.
    cgroup : str
        Branch of the control groups for its pods.
    """
    folder = plan.state / "kubelet"
    folder.mkdir(exist_ok=True)
    # There is no name service: a look-up shall fail at once instead of waiting for an answer.
    resolver = plan.state / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    # The whole disk may be nearly full: then nothing would be admitted, or images would go.
    low = {"memory.available": "50Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%"}
    settings = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "address": plan.address,
        "port": port,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": plan.certificate("ca.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},  # only the API server has a certificate
        "containerRuntimeEndpoint": f"unix://{socket(plan.state)}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "clusterDNS": ["127.0.0.1"],
        "clusterDomain": "cluster.local",
        "resolvConf": str(resolver),
        "failSwapOn": False,
        "failCgroupV1": False,
        "makeIPTablesUtilChains": False,
        "evictionHard": {**low, "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "podLogsDir": str(plan.state / "pod-logs"),
        "volumePluginDir": str(folder / "volume-plugins"),
        "nodeStatusUpdateFrequency": "20s",
    }
    file = plan.state / "kubelet.json"
    file.write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return [
        str(plan.programs["kubelet"]),
        f"--config={file}",
        f"--kubeconfig={plan.state / 'kubelet.kubeconfig'}",
        f"--root-dir={folder}",
        f"--cert-dir={folder / 'pki'}",
        f"--hostname-override={NODE}",
        f"--node-ip={plan.address}",
        "--housekeeping-interval=30s",
    ]


def load_image(state: Path, archive: Path) -> None:
    """Give a docker-archive to containerd."""
    command = [_program("ctr"), f"--address={socket(state)}", f"--namespace={NAMESPACE}"]
    run(*command, "images", "import", str(archive), timeout=300)


def sweep(state: Path, name: str) -> None:
    """Remove what containers leave outside the state folder, and unmount what is below it.

    Parameters
    ----------
    state : pathlib.Path
        The cluster's folder; its processes have ended.
    name : str
        Name of its network.
    """
    # The sockets of the shims have hashes for names; their addresses are noted here.
    for note in (state / "containerd" / "state").glob("io.containerd.runtime.v2.task/*/*/address"):
        address = note.read_text(encoding="utf-8").removeprefix("unix://")
        if address.startswith("/run/containerd/s/"):
            Path(address).unlink(missing_ok=True)
    mounts.unmount_below(state)
    # One note for each network of a sandbox; only ours has the name of the cluster in it.
    for note in Path("/var/lib/cni").glob(f"*/{name}-*-eth0"):
        sandbox = note.name.removeprefix(f"{name}-").removesuffix("-eth0")
        for result in note.parent.glob(f"*-{sandbox}-*"):
            result.unlink(missing_ok=True)
    for link in Path("/var/log/containers").glob("*.log"):
        if link.is_symlink() and str(link.readlink()).startswith(f"{state}/"):
            link.unlink(missing_ok=True)
