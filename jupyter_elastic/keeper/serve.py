"""``serve``: the keeper's life as a process; ``status``: one question to it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

from . import VERSION, client, files, identity, install, paths
from .core import Keeper

LOG_LIMIT = 512 * 1024
LOCK_SECONDS = 10.0


def run(folder: str, *, foreground: bool = False) -> int:
    """Serve a cluster; returns at once, when the keeper is ready, unless `foreground`.

    Parameters
    ----------
    foreground
        Whether this is the main process of a container, which ends with it.

    Returns
    -------
    int
        0 when a keeper lives for this folder now, 1 with a line on standard error when none can. In
        the foreground: 0 only when the cluster was given back, 128 + n when signal n ended it.
    """
    folder = os.path.abspath(folder)
    try:
        if foreground:
            install.prepare(folder)
        paths.check_private(folder)
        config = read_config(folder)
        lock = _lock(folder, LOCK_SECONDS if foreground else 0.0)
    except (OSError, ValueError) as error:
        print(f"keeper: {error}", file=sys.stderr)
        return 1
    if lock is None:
        print("keeper: one lives for this folder already.", file=sys.stderr)
        return 1 if foreground else 0
    if foreground:
        return _serve(folder, config, None, main=True)
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        # The lock goes with the last process that has it open.
        with os.fdopen(ready, "rb") as stream:
            word = stream.read()
        return 0 if word == b"ready" else 1
    os.close(ready)
    os.setsid()
    if os.fork():
        os._exit(0)
    code = 1
    try:
        os.chdir("/")
        _redirect(folder)
        code = _serve(folder, config, tell)
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _lock(folder: str, seconds: float) -> int | None:
    """Take the lock of the one keeper, waiting for one that is about to end."""
    path = os.path.join(folder, "keeper.lock")
    end = time.monotonic() + seconds
    while True:
        handle = files.try_lock(path)
        if handle is not None or time.monotonic() >= end:
            return handle
        time.sleep(0.05)


def read_config(folder: str) -> dict[str, Any]:
    """Return the configuration.

    Raises
    ------
    ValueError
        It is missing or lacks a field.
    """
    path = os.path.join(folder, "config.json")
    config = files.read_json(path)
    if config is None:
        raise ValueError(f"{path} is missing or is not one whole object.")
    for name in ("cluster", "host_folder"):
        if not isinstance(config.get(name), str) or not config[name]:
            raise ValueError(f"{path}: {name} must be a text.")
    if not os.path.isabs(config["host_folder"]):
        raise ValueError(f"{path}: host_folder must be a full path.")
    return config


def _redirect(folder: str) -> None:
    path = os.path.join(folder, "keeper.log")
    with contextlib.suppress(OSError):
        if os.path.getsize(path) > LOG_LIMIT:
            os.truncate(path, 0)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    quiet = os.open(os.devnull, os.O_RDONLY)
    os.dup2(quiet, 0)
    for handle in (1, 2):
        os.dup2(log, handle)
    os.close(quiet)
    os.close(log)


def _serve(folder: str, config: dict[str, Any], tell: int | None, *, main: bool = False) -> int:
    path = os.path.join(folder, "keeper.json")
    try:
        keeper = Keeper(folder, config, main=main)
        files.write_json(path, {**identity.me(), "boot": identity.boot_id(), "version": VERSION})
    except OSError as error:
        print(f"keeper: {error}", file=sys.stderr)
        return 1
    if tell is not None:
        os.write(tell, b"ready")
        os.close(tell)
    code = keeper.serve()
    files.remove(path)
    return code


def status(folder: str) -> int:
    """Print the status of a folder's keeper as one line of JSON; 1 when none answers."""
    try:
        with client.Client(folder, timeout=5.0) as channel:
            print(json.dumps(channel.request("status")["status"]))
    except (OSError, client.KeeperError) as error:
        print(f"keeper: {error}", file=sys.stderr)
        return 1
    return 0
