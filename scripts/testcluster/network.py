"""The pods' network: one bridge with a subnet that nothing else on this machine has.

The API server itself listens on the bridge's address, port 443, and that address is also the
first of the service range: so what every pod is told as KUBERNETES_SERVICE_HOST and PORT works
without any kube-proxy. Nothing is forwarded and no address is rewritten: pods reach one another
and this machine, and nothing beyond it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import random
from dataclasses import dataclass
from pathlib import Path

from testcluster import cache
from testcluster.faults import ClusterError
from testcluster.run import run

LOCK = Path("/run/lock/jupyter-elastic-test-cluster.lock")
# Addresses at the start of the subnet that belong to services, not to pods.
SERVICES = 16
BRIDGE_FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


@dataclass(frozen=True)
class Network:
    """Where the pods of one cluster live.

    Attributes
    ----------
    bridge : str
        Name of the interface.
    subnet : ipaddress.IPv4Network
        Addresses of gateway, services and pods.
    """

    bridge: str
    subnet: ipaddress.IPv4Network

    @property
    def gateway(self) -> str:
        """Return this machine's own address in the subnet; the API server has it too."""
        return str(self.subnet[1])

    @property
    def services(self) -> str:
        """Return the range of service addresses."""
        return f"{self.subnet[0]}/28"

    def configuration(self, name: str, data: Path) -> dict[str, object]:
        """Return the configuration for the network plugins."""
        pods = {
            "subnet": str(self.subnet),
            "rangeStart": str(self.subnet[SERVICES]),
            "gateway": self.gateway,
        }
        plugin = {
            "type": "bridge",
            "bridge": self.bridge,
            # The bridge is ours and has its address; as a gateway the plugin would switch
            # forwarding on for the whole machine.
            "isGateway": False,
            "ipMasq": False,
            "ipam": {
                "type": "host-local",
                "dataDir": str(data),
                "ranges": [[pods]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        return {"cniVersion": "0.4.0", "name": name, "plugins": [plugin]}


def create(bridge: str) -> Network:
    """Make the bridge with a free subnet.

    Raises
    ------
    ClusterError
        If it cannot be made: needs root.
    """
    with cache.locked(LOCK, "choosing a subnet"):
        network = Network(bridge, _free_subnet())
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", f"{network.gateway}/{network.subnet.prefixlen}", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
    if _filtered():
        for rule in _rules(bridge):
            run("iptables", "--wait", "--insert", "FORWARD", *rule)
    return network


def remove(bridge: str) -> None:
    """Remove the bridge and its rules, if they are there."""
    if exists(bridge):
        run("ip", "link", "delete", bridge)
    if _filtered():
        for rule in _rules(bridge):
            with contextlib.suppress(ClusterError):
                while True:  # a killed start may have left several
                    run("iptables", "--wait", "--delete", "FORWARD", *rule)


def exists(bridge: str) -> bool:
    """Tell whether the interface is there."""
    return Path(f"/sys/class/net/{bridge}").exists()


def _filtered() -> bool:
    """Tell whether traffic inside a bridge passes the machine's packet filter, as with Docker."""
    return BRIDGE_FILTER.exists() and BRIDGE_FILTER.read_text().strip() == "1"


def _rules(bridge: str) -> list[list[str]]:
    return [["-i", bridge, "-o", bridge, "-j", "ACCEPT"]]


def _free_subnet() -> ipaddress.IPv4Network:
    """Return a subnet that overlaps with no address and no route of this machine."""
    taken = []
    for link in json.loads(run("ip", "-4", "-json", "address")):
        for address in link.get("addr_info", []):
            text = f"{address['local']}/{address['prefixlen']}"
            taken.append(ipaddress.IPv4Network(text, strict=False))
    for route in json.loads(run("ip", "-4", "-json", "route", "show", "table", "all")):
        if route["dst"] != "default":
            taken.append(ipaddress.IPv4Network(route["dst"], strict=False))
    choices = [ipaddress.IPv4Network(f"10.{100 + n // 256}.{n % 256}.0/24") for n in range(25600)]
    random.shuffle(choices)
    for choice in choices:
        if not any(choice.overlaps(other) for other in taken):
            return choice
    raise ClusterError("No free subnet in 10.100.0.0 to 10.199.255.0")
