"""Runs a Jupyter server whose engine calls and file writes can kill it."""

from tests.faults import killpoints, mutants

killpoints.install_in_server()
mutants.install_in_server()

from jupyter_server.serverapp import main  # noqa: E402 - the wrappers must be in place first

main()
