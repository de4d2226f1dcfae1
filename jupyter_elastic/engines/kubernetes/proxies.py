"""Which HTTP proxy stands before the API server: the rules of `kubectl`, which are Go's."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from ...errors import BadInput

_PORTS = {"http": 80, "https": 443}


def environment_proxy(server: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a server, or None.

    Parameters
    ----------
    server
        Address of the API server, with its scheme.
    environ
        Upper case wins over lower case.
    """
    parts = urlsplit(server)
    host = (parts.hostname or "").lower()
    name = f"{parts.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    if not proxy or _is_here(host):
        return None
    exempt = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    port = parts.port or _PORTS[parts.scheme]
    if any(_exempts(rule.strip().lower(), host, port) for rule in exempt.split(",")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def checked_proxy(proxy: str | None) -> str | None:
    """Return a proxy that can be used.

    Raises
    ------
    BadInput
        For any kind but ``http://``: TLS to the proxy, around the TLS to the API server, and SOCKS
        are not possible for the terminals in containers.
    """
    if not proxy:
        return None
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise BadInput(
            "The proxy before the Kubernetes API server is not an http:// address.",
            hint="Set proxy-url of the kubeconfig's cluster, or HTTPS_PROXY, to an http:// proxy, "
            "or list the API server in NO_PROXY.",
            detail={"field": "proxy-url"},
        )
    return proxy


def _is_here(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _exempts(rule: str, host: str, port: int) -> bool:
    """Whether one rule of NO_PROXY means this host and port."""
    if not rule:
        return False
    if rule == "*":
        return True
    address = _address(host)
    if "/" in rule:
        try:
            return address is not None and address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    name, wanted = _split_port(rule)
    if wanted is not None and wanted != port:
        return False
    if address is not None:
        return _address(name) == address
    name = name.removeprefix("*") if name.startswith("*.") else name
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _split_port(rule: str) -> tuple[str, int | None]:
    if rule.startswith("["):
        name, _, port = rule[1:].partition("]")
        port = port.removeprefix(":")
    elif rule.count(":") == 1:
        name, _, port = rule.partition(":")
    else:
        name, port = rule, ""
    return name, int(port) if port.isdigit() else None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
