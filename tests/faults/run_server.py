"""Runs a Jupyter server whose engine calls and file writes can kill it."""

from tests.faults.killpoints import install_in_server

install_in_server()

from jupyter_server.serverapp import main  # noqa: E402 - the wrappers must be in place first

main()
