"""Makes the objects of a new cluster whose launcher is Jupyter's own pod. Blocks."""

from __future__ import annotations

import logging
from typing import Any

from ...errors import BadInput, ElasticError
from ...keeper.kube.calls import CONFIGMAPS, PODS, REPLICASETS, SECRETS, Api
from ...keeper.kube.errors import ApiError, Missing
from ...models import ClusterSpec
from ...naming import cluster_id, nonce
from . import keys, labels
from .config import KubernetesConfig
from .creating import Creator, nobody, nonce_of
from .here import Here
from .notebook import Notebook
from .objects import about, anchor, owner, ssh_secret
from .pod import Build
from .validation import validate
from .workers import worker_set

Json = dict[str, Any]
_log = logging.getLogger(__name__)


class HereCreator(Creator):
    """Creates clusters of the launcher mode `here`.

    The anchor comes first and belongs to Jupyter's pod, so that everything goes with that.

    Parameters
    ----------
    here
        This pod.
    """

    def __init__(self, api: Api, config: KubernetesConfig, here: Here) -> None:
        super().__init__(api, config, ())
        self._here = here

    def create(self, spec: ClusterSpec, operation: str) -> str:
        """Create a cluster; see :class:`Creator`."""
        validate(spec, self._config)
        notebook = self._launcher(spec)
        unique = nonce_of(operation) if operation else nonce()
        build = Build(
            cluster_id(spec.name, unique), spec, self._config, operation or unique, notebook
        )
        if self._made_before(build):
            return build.id
        created = self._api.server_now()
        self._try_out_workers(build)
        made = keys.generate()
        try:
            host_folder = self._here.prepare(build, made)
            self._objects(build, notebook, made, created, host_folder)
        except BaseException:
            self._take_back_here(build)
            raise
        return build.id

    def plan(self, spec: ClusterSpec) -> None:
        """Check all that a creation would check, without making anything."""
        validate(spec, self._config)
        build = Build(
            cluster_id(spec.name, nonce()), spec, self._config, nonce(), self._launcher(spec)
        )
        self._try_out_workers(build)

    def _launcher(self, spec: ClusterSpec) -> Notebook:
        """Return Jupyter's pod.

        Raises
        ------
        BadInput
            It cannot be the launcher of this cluster.
        """
        site = self._here.site()
        if site.notebook is None:
            raise BadInput(
                site.note or "Jupyter does not run in a pod of this namespace.",
                hint="Choose the launcher mode `pod`.",
                detail={"field": "launcher_mode"},
            )
        resource = self._config.gpu(spec.gpu_kind)
        gpus = dict(site.notebook.gpus)
        there = gpus.get(resource[0].resource, 0) if resource is not None else 0
        if spec.gpus_per_container > there:
            raise BadInput(
                f"Jupyter's own pod has {there} of these GPUs, and each container is to have "
                f"{spec.gpus_per_container}.",
                hint="Choose the launcher mode `pod`, or fewer GPUs per container.",
                detail={"field": "gpus_per_container", "limit": there},
            )
        return site.notebook

    def _try_out_workers(self, build: Build) -> None:
        """Let the API server judge: quota and Pod Security look at pods only."""
        workers = worker_set(build, nobody(build))
        self._api.create(REPLICASETS, workers, dry_run=True)
        template = workers["spec"]["template"]
        metadata = {**template["metadata"], "generateName": f"{build.id}-"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        self._api.create(PODS, pod, dry_run=True)

    def _objects(
        self,
        build: Build,
        notebook: Notebook,
        made: keys.ClusterKeys,
        created: float,
        host_folder: str,
    ) -> None:
        pod, boot = notebook, self._here.site().boot
        top = owner({"metadata": {"name": pod.name, "uid": pod.uid}}, "Pod", "v1")
        body = anchor(build, about(build, created), top)
        body["metadata"]["annotations"].update({labels.BOOT: boot, labels.HOST_FOLDER: host_folder})
        below = owner(self._create(CONFIGMAPS, body, build), "ConfigMap", "v1")
        self._create(SECRETS, ssh_secret(build, below, made), build)
        self._create(REPLICASETS, worker_set(build, below), build)

    def _take_back_here(self, build: Build) -> None:
        """Leave nothing half made."""
        for kind in (REPLICASETS, CONFIGMAPS):
            try:
                # Only ours: the same name may be somebody else's, and the reason of the failure.
                if labels.cluster_of(self._api.get(kind, build.id)) == build.id:
                    self._api.delete(kind, build.id, propagation="Background")
            except Missing:
                continue
            except ApiError as error:
                _log.warning("Cluster %s is not all taken back: %s", build.id, error)
        try:
            self._here.clean(build.id)
        except (ElasticError, OSError) as error:
            _log.warning("The files of cluster %s are not all taken back: %s", build.id, error)
