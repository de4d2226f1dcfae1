"""Makes the engines that the administrator named; each is imported only when it is used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .checks.kubernetes import Target
from .engines.base import Engine
from .errors import BadInput
from .frameworks import known_frameworks
from .kubernetes_traits import KubernetesTraits
from .manager import ManagerConfig

if TYPE_CHECKING:
    from .keeper.kube.access import Access


def make_engines(config: ManagerConfig) -> dict[str, Engine]:
    """Return the engines by name, not started.

    Raises
    ------
    BadInput
        For a name that this version does not have.
    """
    makers = {"local": _local, "fake": _fake, "kubernetes": _kubernetes}
    engines: dict[str, Engine] = {}
    for name in config.engines:
        if name not in makers:
            raise BadInput(
                f"This version has no engine {name!r}.",
                hint="ElasticExtensionApp.engines may name: " + ", ".join(makers) + ".",
                detail={"field": "engines"},
            )
        engines[name] = makers[name](config)
    return engines


def _local(config: ManagerConfig) -> Engine:
    from .engines.local import LocalEngine

    return LocalEngine(
        base_folder=config.base_folder or None,
        shared_folder=config.shared_folder or None,
        keeper_command=config.keeper_command,
        programs=_programs(),
        places=config.local_places,
    )


def _programs() -> tuple[str, ...]:
    """Return the programs for which a keeper holds a starter."""
    return tuple(
        dict.fromkeys(
            program
            for framework in known_frameworks().values()
            for program in (framework.program, *framework.programs)
        )
    )


def _kubernetes(config: ManagerConfig) -> Engine:
    from .engines.kubernetes import KubernetesEngine
    from .engines.kubernetes.settings import from_settings
    from .keeper.paths import runtime_dir

    settings = {**KubernetesTraits().kubernetes_settings(), **config.kubernetes}

    def connect() -> Access:
        from .engines.kubernetes.connection import connect

        return connect(
            context=settings["context"] or None,
            kubeconfig=settings["kubeconfig"] or None,
            namespace=settings["namespace"] or None,
        )

    return KubernetesEngine(
        from_settings(settings, config.max_lifetime),
        connect=connect,
        folder=Path(runtime_dir()) / "bridges",
        programs=_programs(),
    )


def kubernetes_target(config: ManagerConfig) -> Target:
    """Return what the doctor looks at: the same server and namespace as the engine."""
    settings = {**KubernetesTraits().kubernetes_settings(), **config.kubernetes}
    gpus = tuple(
        (str(one["resource"]), str(one.get("label") or ""))
        for one in settings["gpus"]
        if one.get("resource")
    )
    target = Target(
        context=settings["context"],
        kubeconfig=settings["kubeconfig"],
        namespace=settings["namespace"],
        wanted="kubernetes" in config.engines,
    )
    return replace(target, gpus=gpus) if gpus else target


def _fake(config: ManagerConfig) -> Engine:
    from .engines.fake import FakeEngine

    return FakeEngine(config.fake_scenario)
