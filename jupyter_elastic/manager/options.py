"""What the create form may offer now."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..engines.base import Engine
from ..engines.tasks import within
from ..frameworks import known_frameworks
from ..models import EngineOptions, FrameworkOption, Health, Limit, Options
from ..planning.limits import combined
from .core import Manager
from .environment import Environments, passable
from .launching import Launching

OPTIONS_SECONDS = 5.0
EXAMPLE = "tensorflow2_mnist.py"
# The first releases with every known security fix.
SAFE_RELEASES = {"jupyterlab": (4, 6, 2), "jupyter_server": (2, 21, 0)}


class OptionsReader:
    """Asks every engine, bounded in time, and adds what the server knows."""

    def __init__(
        self,
        manager: Manager,
        environments: Environments,
        launching: Launching,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._manager = manager
        self._environments = environments
        self._launching = launching
        self._environment = environment

    async def read(self) -> Options:
        """Return the options; an engine that does not answer is there with its health."""
        config = self._manager.config
        engines = await asyncio.gather(
            *(self._engine(engine) for engine in self._manager.engines.values())
        )
        return Options(
            version=config.version,
            engines=tuple(engines),
            default_engine=config.default_engine,
            frameworks=self._frameworks(),
            kernels=await self._environments.all(),
            default_kernel=await self._environments.default("horovodrun"),
            passable_env=passable(self._environment),
            terminals=self._launching.available,
            min_size=config.form_min_size,
            example=example_path(config.root_folder),
            root_folder=config.root_folder,
            notices=old_releases(),
        )

    async def _engine(self, engine: Engine) -> EngineOptions:
        try:
            options = await within(engine.options(), OPTIONS_SECONDS)
        except Exception as error:
            text = (
                "It does not answer."
                if isinstance(error, asyncio.TimeoutError)
                else str(error)[:200]
            )
            health = Health("failed", self._manager.health(engine.name).since, text)
            none = Limit(0, text)
            return EngineOptions(engine.name, engine.title, text, health, 0, none, ("here",))
        return self._limited(options)

    def _limited(self, options: EngineOptions) -> EngineOptions:
        config = self._manager.config
        changes: dict[str, object] = {}
        if config.max_size is not None and config.max_size < options.max_size:
            words = f"The administrator allows {config.max_size} (ElasticExtensionApp.max_size)."
            changes["max_size"] = config.max_size
            changes["capacity"] = combined(options.capacity, Limit(config.max_size, words))
        if options.images is not None and config.allowed_images is not None:
            changes["images"] = config.allowed_images
        return dataclasses.replace(options, **changes) if changes else options  # type: ignore[arg-type]

    def _frameworks(self) -> tuple[FrameworkOption, ...]:
        allowed = self._manager.config.allowed_frameworks
        return tuple(
            FrameworkOption(
                name=item.name,
                title=item.title,
                program=item.program,
                growth=item.growth,
                shrink=item.shrink,
                elastic=item.elastic,
                available=allowed is None or item.name in allowed,
                reason=""
                if allowed is None or item.name in allowed
                else "The administrator does not allow it (allowed_frameworks).",
            )
            for item in known_frameworks().values()
        )


def example_path(root: str) -> str | None:
    """Return the example script: below the server's folder, or of a source tree."""
    beside = Path(__file__).parents[2] / "examples" / EXAMPLE
    for path in (Path(root) / "examples" / EXAMPLE, Path(root) / EXAMPLE, beside):
        if path.is_file():
            return str(path.resolve())
    return None


def old_releases() -> tuple[str, ...]:
    """Name what is older than the first release with every known security fix."""
    notices = []
    for package, safe in SAFE_RELEASES.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            continue
        if _numbers(found) < safe:
            wanted = ".".join(map(str, safe))
            notices.append(f"{package} {found} is older than {wanted}, which has security fixes.")
    return tuple(notices)


def _numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for part in text.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits) if digits else 0)
    return tuple(numbers)
