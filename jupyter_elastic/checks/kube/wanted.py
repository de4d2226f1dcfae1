"""The rights that the Kubernetes engine needs, in one place; ``deploy/role.yaml`` grants these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Right:
    """Verbs on one resource.

    Attributes
    ----------
    group, resource
        Words of a Role; a subresource stands behind a slash.
    verbs
        All of them are needed.
    stops
        What does not work without.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    stops: str

    @property
    def argument(self) -> str:
        """The resource as kubectl's ``--resource`` takes it."""
        name, slash, part = self.resource.partition("/")
        return (f"{name}.{self.group}" if self.group else name) + slash + part


@dataclass(frozen=True)
class Excess:
    """A right that nobody should have for training clusters.

    Attributes
    ----------
    wide
        Whether it is about all namespaces, or about objects outside of namespaces.
    means
        What its owner, and so every notebook, can do.
    """

    verb: str
    group: str
    resource: str
    means: str
    wide: bool = False


_OBJECT = ("get", "list", "watch", "create", "patch", "delete")

WANTED = (
    Right(
        "",
        "pods",
        (*_OBJECT, "deletecollection"),
        "containers cannot be seen, or cannot leave one by one and be released",
    ),
    Right("", "pods/log", ("get",), "logs of containers cannot be shown"),
    Right("", "pods/exec", ("get", "create"), "terminals, runs and the host file stop"),
    Right("", "events", ("list", "watch"), "why a container is not ready stays unknown"),
    Right("apps", "replicasets", _OBJECT, "workers cannot be made, scaled or released"),
    Right("batch", "jobs", _OBJECT, "launchers cannot be made, seen or released"),
    Right("", "configmaps", _OBJECT, "clusters cannot be found again, created or changed"),
    Right("", "secrets", ("create", "delete"), "a cluster gets no ssh keys, so none is created"),
    Right("", "persistentvolumeclaims", ("list",), "the form cannot offer storage"),
    Right("", "resourcequotas", ("list",), "the plan cannot say what the quota leaves"),
    Right("", "limitranges", ("list",), "limits of one container are seen only when refused"),
)

_RBAC = "rbac.authorization.k8s.io"

# `*` first: where it holds, the ones after it say nothing new.
EVERYTHING_WIDE = Excess("*", "*", "*", "do everything in the whole Kubernetes cluster", wide=True)
EVERYTHING = Excess("*", "*", "*", "do everything in this namespace")
EXCESS = (
    Excess("get", "", "secrets", "read the passwords and keys of all namespaces", True),
    Excess("list", "", "pods", "see the pods of all other namespaces", True),
    Excess("create", "", "pods", "start pods in all other namespaces, with their Secrets", True),
    Excess("impersonate", "", "users", "act as any other user", True),
    Excess("create", _RBAC, "clusterrolebindings", "give itself cluster-wide rights", True),
    Excess("get", "", "secrets", "read every Secret of this namespace"),
    Excess("list", "", "secrets", "read every Secret of this namespace"),
    Excess("create", _RBAC, "rolebindings", "pass rights on, or take those of a role"),
    Excess("escalate", _RBAC, "roles", "give itself any right in this namespace"),
    Excess("bind", _RBAC, "roles", "bind itself to any role of this namespace"),
    Excess("impersonate", "", "serviceaccounts", "act as another account of this namespace"),
    Excess("create", "", "serviceaccounts/token", "get a token of another account"),
)
