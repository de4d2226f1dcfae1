"""The fake engine: a scripted cluster for tests, demos and pictures."""

from .engine import FakeEngine
from .scenario import Scenario, read_scenario

__all__ = ["FakeEngine", "Scenario", "read_scenario"]
