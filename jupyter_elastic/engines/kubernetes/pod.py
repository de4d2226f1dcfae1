"""The pod that launcher and workers have in common, built from checked values as plain data.

It passes Pod Security `restricted`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...models import ClusterSpec, Mount, Role, Toleration
from . import labels, layout, quantities, template
from .config import KubernetesConfig
from .notebook import Notebook

SHM_SHARE = 2  # where the form says nothing, /dev/shm gets at most this part of the memory
_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_READABLE = 0o444  # nobody else is in a pod; our copies are 0600


@dataclass(frozen=True)
class Build:
    """Everything that the objects of one cluster are made of.

    ``notebook`` is Jupyter's own pod in mode `here`.
    """

    id: str
    spec: ClusterSpec
    config: KubernetesConfig
    operation: str = ""
    notebook: Notebook | None = None

    @property
    def image(self) -> str | None:
        """The image of its containers."""
        copied = self.notebook.image if self.notebook is not None else None
        return self.spec.image or copied or self.config.image(self.spec)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The form's claims, then those of the notebook and the administrator at other paths."""
        copied = self.notebook.mounts if self.notebook is not None else ()
        found: dict[str, Mount] = {}
        for mount in (*self.spec.storage, *copied, *self.config.storage):
            found.setdefault(mount.path.rstrip("/"), mount)
        return tuple(found.values())


def shared_memory(spec: ClusterSpec, config: KubernetesConfig) -> int:
    """Return the size of ``/dev/shm`` in bytes; it counts as the container's memory."""
    if spec.shared_memory is not None:
        return spec.shared_memory
    if spec.memory is None:
        return config.shared_memory
    return min(config.shared_memory, spec.memory // SHM_SHARE)


def pod_template(
    build: Build,
    role: Role,
    *,
    command: Sequence[str],
    ready: Sequence[str],
    stop: Sequence[str] | None = None,
    keys: Sequence[str],
    given: Sequence[tuple[str, str, dict[str, Any]]] = (),
) -> dict[str, Any]:
    """Return ``metadata`` and ``spec`` of a pod, the administrator's template merged last.

    Parameters
    ----------
    command
        The main process: an argument list.
    ready
        Command that says whether it can take a rank.
    stop
        Command that runs before it is told to end.
    keys
        Files of the Secret that it may see.
    given
        Read-only volumes beyond those that every pod has: name, path and source.
    """
    config, spec = build.config, build.spec
    own = [
        ("shm", layout.SHARED_MEMORY, _memory(shared_memory(spec, config))),
        ("run", layout.OWN, {"emptyDir": {}}),
        ("hosts", config.host_folder, {"emptyDir": {}}),
    ]
    secret = {"secretName": layout.secret(build.id), "defaultMode": _READABLE}
    secret["items"] = [{"key": key, "path": key} for key in keys]
    given = [("ssh", layout.KEYS, {"secret": secret}), *given]
    claims = _claims(build.mounts)
    container = {
        "name": layout.CONTAINER,
        "image": build.image,
        "command": list(command),
        "env": [*_own_environment(spec), *_environment(spec)],
        "ports": [{"name": "ssh", "containerPort": layout.SSH_PORT, "protocol": "TCP"}],
        "resources": _resources(spec, config),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "privileged": False,
            "runAsNonRoot": True,
        },
        **_probes(ready),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            *({"name": name, "mountPath": path} for name, path, _ in own),
            *({"name": name, "mountPath": path, "readOnly": True} for name, path, _ in given),
            *_claim_mounts(build.mounts, claims),
        ],
    }
    if config.pull_policy is not None:
        container["imagePullPolicy"] = config.pull_policy
    if build.notebook is not None and build.notebook.working_folder:
        container["workingDir"] = build.notebook.working_folder
    if stop is not None:
        container["lifecycle"] = {"preStop": {"exec": {"command": list(stop)}}}
    pod = {
        "metadata": {
            "labels": labels.of_pod(build.id, role),
            "annotations": {labels.OPERATION: build.operation},
        },
        "spec": {
            "containers": [container],
            "volumes": [
                *({"name": name, **source} for name, _, source in (*own, *given)),
                *claims.values(),
            ],
            **_pod_settings(build, role),
        },
    }
    return template.pod(pod, config.pod_template)


def _memory(size: int) -> dict[str, Any]:
    return {"emptyDir": {"medium": "Memory", "sizeLimit": quantities.memory(size)}}


def _pod_settings(build: Build, role: Role) -> dict[str, Any]:
    config, spec, notebook = build.config, build.spec, build.notebook
    settings: dict[str, Any] = {
        "restartPolicy": "OnFailure" if role == "launcher" else "Always",
        "terminationGracePeriodSeconds": config.termination_seconds,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "securityContext": _security(build),
        "tolerations": list(_tolerations(build, role)),
    }
    if role == "launcher" and config.keeper_account:
        settings["serviceAccountName"] = config.keeper_account
        settings["automountServiceAccountToken"] = True
    secrets = (*config.pull_secrets, *(notebook.pull_secrets if notebook is not None else ()))
    if secrets:
        settings["imagePullSecrets"] = [{"name": name} for name in dict.fromkeys(secrets)]
    selector = dict(spec.node_selector)
    gpu = config.gpu(spec.gpu_kind)
    if spec.gpus_per_container and gpu is not None and gpu[1]:
        selector[gpu[0].label] = gpu[1]
    if selector:
        settings["nodeSelector"] = selector
    return settings


def _security(build: Build) -> dict[str, Any]:
    """Return the security context; a notebook that runs as root does not make its workers so."""
    config, copied = build.config, build.notebook
    user, group = config.run_as_user, config.run_as_group
    storage_group = group
    if copied is not None and copied.run_as_user != 0:
        if copied.run_as_user is not None:
            user, group = copied.run_as_user, copied.run_as_group
        storage_group = copied.fs_group
    context: dict[str, Any] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user is not None:
        context["runAsUser"] = user
    if group is not None:
        context["runAsGroup"] = group
    if storage_group is not None:
        context["fsGroup"] = storage_group
        context["fsGroupChangePolicy"] = "OnRootMismatch"
    return context


def _tolerations(build: Build, role: Role) -> Iterator[dict[str, Any]]:
    config = build.config
    seconds = config.launcher_loss_seconds if role == "launcher" else config.worker_loss_seconds
    for key in ("not-ready", "unreachable"):
        yield {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": seconds,
        }
    if build.notebook is not None:
        yield from (dict(item) for item in build.notebook.tolerations)
    yield from map(_toleration, build.spec.tolerations)


def _toleration(asked: Toleration) -> dict[str, Any]:
    result: dict[str, Any] = {"operator": asked.operator}
    for name, text in (("key", asked.key), ("value", asked.value), ("effect", asked.effect)):
        if text:
            result[name] = text
    if asked.seconds is not None:
        result["tolerationSeconds"] = asked.seconds
    return result


def _resources(spec: ClusterSpec, config: KubernetesConfig) -> dict[str, Any]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if spec.cpu is not None:
        requests["cpu"] = quantities.cores(spec.cpu)
        if config.cpu_limit:
            limits["cpu"] = requests["cpu"]
    if spec.memory is not None:
        requests["memory"] = limits["memory"] = quantities.memory(spec.memory)
    gpu = config.gpu(spec.gpu_kind)
    if spec.gpus_per_container and gpu is not None:
        requests[gpu[0].resource] = limits[gpu[0].resource] = str(spec.gpus_per_container)
    return {"requests": requests, "limits": limits}


def _own_environment(spec: ClusterSpec) -> Iterator[dict[str, Any]]:
    for name, path in (
        ("POD_IP", "status.podIP"),
        ("POD_UID", "metadata.uid"),
        ("POD_NAME", "metadata.name"),
    ):
        yield {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    chosen = {name for name, *_ in (*spec.env, *spec.secret_env)}
    if not spec.gpus_per_container and _DEVICES not in chosen:
        # Images for GPUs ask for all of them; without one of its own a pod would see everybody's.
        yield {"name": _DEVICES, "value": "void"}


def _environment(spec: ClusterSpec) -> Iterator[dict[str, Any]]:
    for name, value in spec.env:
        yield {
            "name": name,
            "value": value.replace("$", "$$"),
        }  # else $(X) would be another's value
    for name, secret, key in spec.secret_env:
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _probes(ready: Sequence[str]) -> dict[str, Any]:
    """Return the probes: quick while it starts, patient with a busy machine later."""
    probe = {"exec": {"command": list(ready)}, "timeoutSeconds": 5}
    return {
        "startupProbe": {**probe, "periodSeconds": 1, "failureThreshold": 120},
        "readinessProbe": {**probe, "periodSeconds": 5, "failureThreshold": 3},
    }


def _claims(mounts: Sequence[Mount]) -> dict[str, dict[str, Any]]:
    """Return one volume for each claim, read-only when none of its mounts writes."""
    volumes: dict[str, dict[str, Any]] = {}
    for mount in mounts:
        if mount.claim not in volumes:
            source = {"claimName": mount.claim, "readOnly": True}
            name = f"storage-{len(volumes)}"
            volumes[mount.claim] = {"name": name, "persistentVolumeClaim": source}
        if not mount.read_only:
            volumes[mount.claim]["persistentVolumeClaim"]["readOnly"] = False
    return volumes


def _claim_mounts(
    mounts: Sequence[Mount], volumes: dict[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for mount in mounts:
        result: dict[str, Any] = {"name": volumes[mount.claim]["name"], "mountPath": mount.path}
        if mount.read_only:
            result["readOnly"] = True
        if mount.sub_path:
            result["subPath"] = mount.sub_path
        yield result
