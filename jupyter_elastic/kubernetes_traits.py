"""What an administrator can set about the engine `kubernetes`."""

from __future__ import annotations

from typing import Any

from traitlets import Bool, Dict, Float, HasTraits, Int, TraitError, Unicode, validate
from traitlets import List as ListTrait

PREFIX = "kubernetes_"


class KubernetesTraits(HasTraits):
    """Traits named ``kubernetes_*``; they have no effect where that engine is not offered."""

    kubernetes_namespace = Unicode(
        "", help="Namespace of the clusters. Empty: that of this pod's account or of the context."
    ).tag(config=True)
    kubernetes_context = Unicode(
        "",
        help="Context of the kubeconfig. Empty: this pod's account, else the current one.",
    ).tag(config=True)
    kubernetes_kubeconfig = Unicode(
        "",
        help="Path of a kubeconfig. Empty: this pod's account, else KUBECONFIG or ~/.kube/config.",
    ).tag(config=True)
    kubernetes_images = Dict(
        help="Images to offer, by name of the framework: lists of references, the default first."
    ).tag(config=True)
    kubernetes_default_image = Unicode(
        "", help="Image of frameworks that `kubernetes_images` does not name. Empty: none."
    ).tag(config=True)
    kubernetes_pull_policy = Unicode(
        "", help="Always, IfNotPresent or Never. Empty: what Kubernetes does by itself."
    ).tag(config=True)
    kubernetes_pull_secrets = ListTrait(
        Unicode(), default_value=[], help="Names of Secrets with which images are pulled."
    ).tag(config=True)
    kubernetes_gpus = ListTrait(
        Dict(),
        default_value=[],
        help="Kinds of GPUs: dictionaries with `resource`, and where wanted the node `label` that "
        "names the model, and a `title`. Empty: nvidia.com/gpu and amd.com/gpu.",
    ).tag(config=True)
    kubernetes_run_as_user = Int(
        1000, allow_none=True, help="User of all containers, above 0. None: that of the image."
    ).tag(config=True)
    kubernetes_run_as_group = Int(
        1000, allow_none=True, help="Group of all containers and of storage. None: of the image."
    ).tag(config=True)
    kubernetes_pod_template = Dict(
        help="Part of a pod (metadata, spec) that is merged last into every pod: priority, queue "
        "and cost labels, scheduler, account."
    ).tag(config=True)
    kubernetes_keeper_account = Unicode(
        "", help="Service account of launchers, as in `deploy/`. Empty: they get no token."
    ).tag(config=True)
    kubernetes_idle_seconds = Float(
        1800.0,
        allow_none=True,
        min=1,
        help="Seconds without a run and without an open terminal until a launcher gives its "
        "cluster back, also with no server alive. None: never.",
    ).tag(config=True)
    kubernetes_storage = ListTrait(
        Dict(),
        default_value=[],
        help="Claims mounted into every cluster: dictionaries with `claim` and `path`, and where "
        "wanted `read_only` and `sub_path`.",
    ).tag(config=True)
    kubernetes_host_folder = Unicode(
        "/etc/mpi", help="Folder of the host file in a launcher of its own."
    ).tag(config=True)
    kubernetes_here = Bool(
        True, help="Whether the pod that runs Jupyter may be the launcher of clusters."
    ).tag(config=True)
    kubernetes_pod_name = Unicode(
        "", help="Name of the pod that runs Jupyter. Empty: POD_NAME, else its host name."
    ).tag(config=True)
    kubernetes_cpu_limit = Bool(
        True, help="Whether the cores asked for are also the most that a container gets."
    ).tag(config=True)

    @validate("kubernetes_pull_policy")
    def _validate_pull_policy(self, proposal: Any) -> str:
        value: str = proposal["value"]
        if value not in ("", "Always", "IfNotPresent", "Never"):
            raise TraitError(
                f"kubernetes_pull_policy must be Always, IfNotPresent or Never, not {value!r}."
            )
        return value

    @validate("kubernetes_run_as_user", "kubernetes_run_as_group")
    def _validate_not_root(self, proposal: Any) -> int | None:
        value: int | None = proposal["value"]
        if value is not None and value < 1:
            raise TraitError(f"{proposal['trait'].name} must be above 0: containers are not root.")
        return value

    def kubernetes_settings(self) -> dict[str, Any]:
        """Return the values by their names without the prefix."""
        return {
            name[len(PREFIX) :]: getattr(self, name)
            for name in self.trait_names(config=True)
            if name.startswith(PREFIX)
        }
