"""The manager on the scripted engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from jupyter_elastic.manager import ElasticService, ManagerConfig

from ...scripted_engine import ScriptedEngine
from .driving import CONFIG


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def config() -> ManagerConfig:
    return CONFIG


@pytest_asyncio.fixture
async def service(engine: ScriptedEngine, config: ManagerConfig) -> AsyncIterator[ElasticService]:
    service = ElasticService({"scripted": engine}, config)
    await service.start()
    await service.manager.first_look()
    yield service
    await service.stop()
