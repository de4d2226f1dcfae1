"""Plugins for all tests; pytest wants them at the root."""

from __future__ import annotations

import signal

pytest_plugins = ("pytest_jupyter.jupyter_server",)


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also where the tests run in the background.

    A shell makes background jobs ignore it, and every program they start inherits that.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
