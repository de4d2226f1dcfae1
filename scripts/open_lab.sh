#!/bin/sh
# Open JupyterLab in a working folder with the examples. LAB_ARGS is passed on to it; with
# ENGINE=kubernetes containers are pods of a Kubernetes on this machine.
#
# People work in a copy (./work, or JUPYTER_ELASTIC_WORK): what training writes there never
# shows up as a change of this repository. A file that was changed there is kept.
set -eu
repo=$(cd "$(dirname "$0")/.." && pwd)
engine=${ENGINE:-local}
case $engine in
local) work=${JUPYTER_ELASTIC_WORK:-$repo/work} ;;
# Pods are not root and see the same path, so it must not lie in somebody's home.
kubernetes) work=${JUPYTER_ELASTIC_WORK:-/var/tmp/jupyter-elastic-lab} ;;
*)
    echo "ENGINE is local or kubernetes, not $engine" >&2
    exit 2
    ;;
esac
mkdir -p "$work"
for file in "$repo"/examples/*; do
    target=$work/$(basename "$file")
    if [ -f "$file" ] && [ ! -e "$target" ]; then
        cp "$file" "$target"
    fi
done
set -- "$work/elastic_training.ipynb" --ip 127.0.0.1 --ServerApp.root_dir="$work"
if [ "$engine" = kubernetes ]; then
    config=$("$repo/.venv/bin/python" "$repo/scripts/lab_cluster.py" "$work")
    set -- "$@" --config "$config"
fi
if [ "$(id -u)" = 0 ]; then
    set -- "$@" --allow-root
fi
if [ "$(uname)" = Linux ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    # No screen here: the address is printed instead.
    set -- "$@" --no-browser
fi
PATH=$repo/.venv/bin:$PATH
export PATH
# LAB_ARGS is a list of words on purpose.
# shellcheck disable=SC2086
exec "$repo/.venv/bin/jupyter" lab "$@" ${LAB_ARGS:-}
