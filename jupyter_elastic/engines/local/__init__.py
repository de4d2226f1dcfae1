"""The local engine: places of this machine."""

from .engine import LocalEngine

__all__ = ["LocalEngine"]
