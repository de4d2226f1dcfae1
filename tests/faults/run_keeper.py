"""Runs the keeper of one cluster with killable file writes: ``run_keeper.py serve FOLDER``."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tests.faults.killpoints import install_in_files
from tests.faults.mutants import install_in_keeper

install_in_files("keeper")
install_in_keeper()

import runpy  # noqa: E402 - only now may the program be loaded

pyz = sys.argv[1]
sys.argv = sys.argv[1:]
runpy.run_path(pyz, run_name="__main__")
