"""A strict reading of Pod Security `restricted`: everything that is not allowed is an offence."""

from __future__ import annotations

from typing import Any

_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
}  # fmt: skip
_SECCOMP = ("RuntimeDefault", "Localhost")


def offences(spec: dict[str, Any]) -> list[str]:
    """Return what the level `restricted` would refuse of a pod."""
    found = [f"host: {key}" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    found += _context("pod", spec.get("securityContext") or {})
    if spec.get("hostUsers") is True:
        found.append("hostUsers")
    for volume in spec.get("volumes") or []:
        kinds = set(volume) - {"name"}
        if len(kinds) != 1 or not kinds <= _VOLUMES:
            found.append(f"volume {volume}")
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(group) or []:
            found += _container(container, spec.get("securityContext") or {})
    return found


def _context(where: str, context: dict[str, Any]) -> list[str]:
    found = []
    if context.get("runAsUser") == 0:
        found.append(f"{where}: runAsUser 0")
    if context.get("runAsNonRoot") is False:
        found.append(f"{where}: runAsNonRoot false")
    if "seccompProfile" in context and context["seccompProfile"].get("type") not in _SECCOMP:
        found.append(f"{where}: seccomp")
    for key in ("sysctls", "windowsOptions", "seLinuxOptions", "appArmorProfile", "procMount"):
        if context.get(key):
            found.append(f"{where}: {key}")
    return found


def _container(container: dict[str, Any], pod: dict[str, Any]) -> list[str]:
    own = container.get("securityContext") or {}
    where = container["name"]
    found = _context(where, own)
    if own.get("privileged"):
        found.append(f"{where}: privileged")
    if own.get("allowPrivilegeEscalation") is not False:
        found.append(f"{where}: allowPrivilegeEscalation")
    if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        found.append(f"{where}: runAsNonRoot")
    if (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type") not in _SECCOMP:
        found.append(f"{where}: seccompProfile")
    capabilities = own.get("capabilities") or {}
    if "ALL" not in capabilities.get("drop", []):
        found.append(f"{where}: capabilities.drop")
    if set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}:
        found.append(f"{where}: capabilities.add")
    found += [f"{where}: hostPort" for port in container.get("ports") or [] if port.get("hostPort")]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        handler = container.get(probe) or {}
        for kind in ("httpGet", "tcpSocket"):
            if (handler.get(kind) or {}).get("host"):
                found.append(f"{where}: {probe} host")
    return found
