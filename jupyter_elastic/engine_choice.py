"""Makes the engines that the administrator named; each is imported only when it is used."""

from __future__ import annotations

from .engines.base import Engine
from .errors import BadInput
from .frameworks import known_frameworks
from .manager import ManagerConfig


def make_engines(config: ManagerConfig) -> dict[str, Engine]:
    """Return the engines by name, not started.

    Raises
    ------
    BadInput
        For a name that this version does not have.
    """
    makers = {"local": _local, "fake": _fake}
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

    programs = dict.fromkeys(
        program
        for framework in known_frameworks().values()
        for program in (framework.program, *framework.programs)
    )
    return LocalEngine(
        base_folder=config.base_folder or None,
        shared_folder=config.shared_folder or None,
        keeper_command=config.keeper_command,
        programs=tuple(programs),
        places=config.local_places,
    )


def _fake(config: ManagerConfig) -> Engine:
    from .engines.fake import FakeEngine

    return FakeEngine(config.fake_scenario)
