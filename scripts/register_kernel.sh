#!/bin/sh
# Offer the training environment as a kernel of the lab environment, so that the launch command
# can pick it: ./scripts/register_kernel.sh TRAINING_ENVIRONMENT
set -eu
training=$1
venv=$(cd "$(dirname "$0")/../.venv" && pwd)
# JUPYTER_PATH only keeps ipykernel from warning that it cannot see this folder by itself.
JUPYTER_PATH=$venv/share/jupyter "$training/bin/python" -m ipykernel install --prefix "$venv" --name elastic-training \
    --display-name "Python (elastic training)" >/dev/null
