"""The package as a kernel's environment sees it."""

from __future__ import annotations

import json
import subprocess
import sys

import jupyter_elastic

HEAVY = ("tornado", "kubernetes", "IPython", "jupyter_server", "jsonschema", "psutil", "traitlets")
PROBE = f"""
import json, sys, time
begin = time.perf_counter()
import jupyter_elastic
took = time.perf_counter() - begin
print(json.dumps([took, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def test_import_is_light():
    found = []
    for _ in range(3):
        output = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
        ).stdout
        took, heavy = json.loads(output)
        assert heavy == []
        found.append(took)
    assert min(found) < 0.05


def test_version_and_entry_functions():
    assert jupyter_elastic.__version__
    points = jupyter_elastic._jupyter_server_extension_points()
    assert points[0]["module"] == "jupyter_elastic"
    assert jupyter_elastic._jupyter_labextension_paths()[0]["dest"] == "jupyter-elastic"
    assert not hasattr(jupyter_elastic, "nothing_of_this_name")
