"""Driving a service in tests."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from jupyter_elastic.manager import ElasticService, ManagerConfig

CONFIG = ManagerConfig(engines=("scripted",), default_engine="scripted", owner="me")


async def create(service: ElasticService, **fields: Any) -> str:
    body = {"name": "t", "framework": "horovod-elastic", "size": 3, **fields}
    return (await service.creating.create(body, "me")).id


async def until(service: ElasticService, cid: str, true: Any, seconds: float = 5.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        view = service.manager.cluster(cid)
        if true(view):
            return view
        await asyncio.sleep(0.005)
    raise AssertionError(service.manager.cluster(cid))


def ready(view: Any) -> bool:
    return bool(view.state == "ready")
