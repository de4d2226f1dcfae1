"""The keeper: one small program per cluster that outlives Jupyter.

Standard library only, Python 3.8 or newer; imports nothing of the package above it.
``docs/developer/keeper.md`` is its contract.
"""

__all__ = ["VERSION"]

#: Of the channel and of the files; the server shows it.
VERSION = "1"
