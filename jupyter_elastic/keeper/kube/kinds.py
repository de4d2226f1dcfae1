"""The kinds of objects we speak of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of namespaced objects, by the words of a URL."""

    group: str
    version: str
    plural: str

    @property
    def root(self) -> str:
        """The path before ``/namespaces``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


PODS = Kind("", "v1", "pods")
CONFIGMAPS = Kind("", "v1", "configmaps")
SECRETS = Kind("", "v1", "secrets")
EVENTS = Kind("", "v1", "events")
PVCS = Kind("", "v1", "persistentvolumeclaims")
QUOTAS = Kind("", "v1", "resourcequotas")
LIMITRANGES = Kind("", "v1", "limitranges")
SERVICES = Kind("", "v1", "services")
REPLICASETS = Kind("apps", "v1", "replicasets")
JOBS = Kind("batch", "v1", "jobs")
NETWORKPOLICIES = Kind("networking.k8s.io", "v1", "networkpolicies")
