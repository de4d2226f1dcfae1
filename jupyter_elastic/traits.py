"""What an administrator can set: traits of ``ElasticExtensionApp``."""

from __future__ import annotations

import getpass
import os
from typing import Any

from traitlets import (
    Bool,
    CaselessStrEnum,
    Dict,
    Float,
    Int,
    TraitError,
    Unicode,
    default,
    validate,
)
from traitlets import List as ListTrait

from .kubernetes_traits import KubernetesTraits
from .manager import ManagerConfig

KNOWN_ENGINES = ("local", "fake", "kubernetes")


class ElasticTraits(KubernetesTraits):
    """The settings and how they become a :class:`~jupyter_elastic.manager.ManagerConfig`."""

    engines = ListTrait(
        Unicode(),
        default_value=["local"],
        help="Engines to offer, by name: local (places of this machine), "
        "kubernetes (pods of one namespace), fake (a scripted cluster for demos).",
    ).tag(config=True)
    default_engine = Unicode(
        "", help="The engine that the create form shows first; empty: the first of `engines`."
    ).tag(config=True)
    max_size = Int(
        None,
        allow_none=True,
        min=1,
        help="Most containers of one cluster, launcher included. None: what the engine can hold.",
    ).tag(config=True)
    local_places = Int(
        None,
        allow_none=True,
        min=1,
        help="CPU places of this machine on the engine `local`. None: at least 4, else the cores.",
    ).tag(config=True)
    form_min_size = Int(
        2, min=1, help="Fewest containers of a new cluster. A living one may shrink to 1."
    ).tag(config=True)
    allowed_frameworks = ListTrait(
        Unicode(),
        default_value=None,
        allow_none=True,
        help="Frameworks that may be used, by name. None: all.",
    ).tag(config=True)
    allowed_images = ListTrait(
        Unicode(),
        default_value=None,
        allow_none=True,
        help="Images that may be used on engines that have images. None: any.",
    ).tag(config=True)
    base_folder = Unicode(
        "",
        help="Absolute folder for host files of clusters that do not own `shared_folder`. "
        "Empty: inside the machine-local runtime folder.",
    ).tag(config=True)
    shared_folder = Unicode(
        "/etc/mpi",
        help="Absolute folder whose host file belongs to one cluster of a machine at a time. "
        "Empty: none.",
    ).tag(config=True)
    drain_grace = Float(
        30.0, min=0, help="Seconds a leaving container may take for its rank without a live run."
    ).tag(config=True)
    drain_grace_with_run = Float(
        600.0, min=0, help="Seconds a leaving container may take for its rank while a run lives."
    ).tag(config=True)
    drain_answer = Float(
        60.0,
        min=0,
        help="Seconds the offer to wait, delete or keep stays open after the grace, "
        "before the container is deleted.",
    ).tag(config=True)
    join_batch = Float(
        0.0,
        min=0,
        help="Seconds that newcomers of a live elastic run wait for others that are about to be "
        "ready: each change of the list interrupts training for seconds.",
    ).tag(config=True)
    release_policy = CaselessStrEnum(
        ["ask", "release", "keep"],
        default_value="ask",
        help="What happens to a new cluster when its run ended: ask, release or keep.",
    ).tag(config=True)
    release_after = Float(
        60.0, min=0, help="Seconds between the end of a run and the release, where it is released."
    ).tag(config=True)
    idle_release = Float(
        None,
        allow_none=True,
        min=1,
        help="Seconds without a run and without an open terminal until a cluster is released. "
        "None: never.",
    ).tag(config=True)
    max_lifetime = Float(
        None, allow_none=True, min=1, help="Seconds after which a cluster is released. None: never."
    ).tag(config=True)
    keep_alive_while_training = Bool(
        True, help="Whether a live run counts as activity, so that the server is not culled."
    ).tag(config=True)
    max_clusters_per_user = Int(
        None, allow_none=True, min=0, help="Most clusters of one user. None: no limit."
    ).tag(config=True)
    events_per_second = Float(
        4.0, min=0.1, max=50, help="Most events a second that are sent for one cluster."
    ).tag(config=True)
    fake_scenario = Dict(
        help="What the engine `fake` plays: delays, failures, quota and GPUs."
    ).tag(config=True)
    keeper_command = ListTrait(
        Unicode(),
        default_value=[],
        help="Words that start Python for the keeper, e.g. ['/usr/bin/python3']. "
        "Empty: this server's Python.",
    ).tag(config=True)

    @validate("engines")
    def _validate_engines(self, proposal: Any) -> list[str]:
        names: list[str] = list(dict.fromkeys(proposal["value"]))
        unknown = [name for name in names if name not in KNOWN_ENGINES]
        if unknown or not names:
            raise TraitError(
                f"ElasticExtensionApp.engines must name some of {KNOWN_ENGINES}, not {names}."
            )
        return names

    @validate("base_folder", "shared_folder")
    def _validate_folder(self, proposal: Any) -> str:
        value: str = proposal["value"]
        if value and not os.path.isabs(os.path.expanduser(value)):
            raise TraitError(f"{proposal['trait'].name} must be an absolute path, not {value!r}.")
        return os.path.expanduser(value)

    @default("default_engine")
    def _default_engine(self) -> str:
        return str(self.engines[0])

    def manager_config(self, root_folder: str, version: str) -> ManagerConfig:
        """Return the values as the manager takes them.

        Raises
        ------
        TraitError
            When the default engine is not one of the engines.
        """
        first = self.default_engine or self.engines[0]
        if first not in self.engines:
            raise TraitError(f"default_engine {first!r} is not one of the engines {self.engines}.")
        return ManagerConfig(
            engines=tuple(self.engines),
            default_engine=first,
            max_size=self.max_size,
            local_places=self.local_places,
            form_min_size=self.form_min_size,
            allowed_frameworks=_tuple(self.allowed_frameworks),
            allowed_images=_tuple(self.allowed_images),
            base_folder=self.base_folder,
            shared_folder=self.shared_folder,
            drain_grace=self.drain_grace,
            drain_grace_with_run=self.drain_grace_with_run,
            drain_answer=self.drain_answer,
            join_batch=self.join_batch,
            release_policy=self.release_policy,
            release_after=self.release_after,
            idle_release=self.idle_release,
            max_lifetime=self.max_lifetime,
            keep_alive_while_training=self.keep_alive_while_training,
            max_clusters_per_user=self.max_clusters_per_user,
            events_per_second=self.events_per_second,
            fake_scenario=dict(self.fake_scenario),
            kubernetes=self.kubernetes_settings(),
            keeper_command=tuple(self.keeper_command),
            root_folder=root_folder,
            owner=owner(),
            version=version,
        )


def owner() -> str:
    """Return whose server this is: the hub's user, else the machine's.

    Not the name of a request's user: a server without a hub gives each browser a name of its own.
    """
    hub = os.environ.get("JUPYTERHUB_USER")
    if hub:
        return hub
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)
