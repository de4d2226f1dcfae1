"""Configuration of a server under test; servers.js says which one it is."""

import json
import os
import tempfile

from jupyterlab.galata import configure_jupyter_server

c = get_config()  # noqa: F821 - defined where this file is executed
kind = os.environ["ELASTIC_UI_KIND"]

# What it makes goes with the server's own folder, which the runner removes.
tempfile.tempdir = os.path.dirname(os.environ["JUPYTERLAB_GALATA_ROOT_DIR"])
configure_jupyter_server(c)
tempfile.tempdir = None
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = int(os.environ["ELASTIC_UI_PORT"])
c.ServerApp.allow_root = hasattr(os, "getuid") and os.getuid() == 0
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"

PHASES = [
    {"state": "pending", "seconds": 0.4, "code": "pulling", "text": "pulling image"},
    {"state": "starting", "seconds": 0.4},
]
# Six GPUs can be had, quota lets seven containers be created, the slider goes to ten.
CLUSTER = {
    "title": "Scripted cluster",
    "max_size": 10,
    "nodes": [
        {"name": "gpu-1", "gpus": 4},
        {"name": "gpu-2", "gpus": 2},
        {"name": "gpu-3", "gpus": 4, "taint": "gpu=a"},
    ],
    "quota": {"containers": 7},
    "phases": PHASES,
    "images": ["tensorflow-horovod:2.15", "pytorch-horovod:2.1"],
    "storage": ["datasets", "scratch"],
    "shared_memory": True,
    "pod_fields": True,
    "shells": True,
    "run": {"seconds": 4.0, "output": "epoch 1/3: loss 0.41\n"},
}
# The cluster is out of reach for a while, again and again for each new one.
TROUBLE = {
    "title": "Scripted cluster",
    "phases": [],
    "events": [{"at": 3.0, "kind": "unreachable", "seconds": 6.0}],
}

elastic = c.ElasticExtensionApp
if kind == "kubernetes":
    elastic.update(json.loads(os.environ["ELASTIC_UI_TRAITS"]))
elif kind == "local":
    elastic.shared_folder = os.environ["ELASTIC_UI_HOST_FOLDER"]
else:
    elastic.engines = ["fake"]
    elastic.fake_scenario = TROUBLE if kind == "trouble" else CLUSTER
    elastic.shared_folder = ""
if kind == "trouble":
    c.ServerApp.terminals_enabled = False
