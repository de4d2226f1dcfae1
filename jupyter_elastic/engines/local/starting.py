"""Starts a cluster's keeper where it does not live: its folder, its configuration, its program.

Blocks.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import Unreachable
from ...keeper import build, files
from .layout import Layout
from .processes import keeper_of
from .records import Record
from .store import Records, Store

START_SECONDS = 8.0
GRACE_SECONDS = 10.0
# What a launch shell gets of the keeper's environment, beside the values a person chose to pass.
ALLOWED_ENV = (
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
    "COLORTERM", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "NVIDIA_*", "NCCL_*",
    "GLOO_*", "HOROVOD_*", "OMP_*", "MKL_*", "TF_*", "CONDA_*", "MAMBA_*", "VIRTUAL_ENV", "XDG_*",
    "HF_HOME", "TORCH_HOME",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
)  # fmt: skip
_SECRET = re.compile(
    r"^(JUPYTERHUB_|JPY_)|TOKEN(?!IZERS)|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL"
)


class KeeperStarter:
    """Starts keepers, under the store's lock: none is started for a cluster that is being released.

    Parameters
    ----------
    command
        Words before ``keeper.pyz serve FOLDER``.
    programs
        Launcher programs for which the keeper holds a starter.
    """

    def __init__(
        self, layout: Layout, store: Store, command: tuple[str, ...], programs: tuple[str, ...]
    ) -> None:
        self._layout = layout
        self._store = store
        self._command = command
        self._programs = programs

    def ensure(self, cluster: str, boot: str) -> bool:
        """Start the keeper when it does not live.

        Returns
        -------
        bool
            False when the cluster is to have none: it is gone, ended or being released.

        Raises
        ------
        Unreachable
            It cannot be started; the message has the end of its log.
        """
        record = self._store.load().records.get(cluster)
        if not _wanted(record, boot):
            return False
        if keeper_of(self._layout.cluster(cluster)):
            return True

        def start(records: Records) -> bool:
            record = records.get(cluster)
            if record is None or not _wanted(record, boot):
                return False
            if not keeper_of(self._layout.cluster(cluster)):
                self._start(record)
            return True

        return self._store.transact(start)

    def _start(self, record: Record) -> None:
        config = {
            "cluster": record.id,
            "name": record.spec.name,
            "host_folder": record.host_folder,
            "programs": list(self._programs),
            "allow_env": list(ALLOWED_ENV),
            "grace_seconds": GRACE_SECONDS,
            "state_file": str(self._store.path(record.id)),
            "lock_file": str(self._store.lock_file),
        }
        start_keeper(self._layout.cluster(record.id), self._command, config)


def start_keeper(folder: Path, command: tuple[str, ...], config: Mapping[str, Any]) -> None:
    """Start a keeper on this machine; it outlives this process.

    Parameters
    ----------
    folder
        Its own folder.
    command
        Words before ``keeper.pyz serve FOLDER``.
    config
        What goes into its ``config.json``.

    Raises
    ------
    Unreachable
        It cannot be started; the message has the end of its log.
    """
    log = folder / "keeper.log"
    try:
        program = _prepare(folder, config)
    except OSError as error:
        raise _failed(f"Its folder cannot be used: {error}.", log) from None
    with log.open("ab") as output:
        try:
            done = subprocess.run(
                [*command, str(program), "serve", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=scrubbed(os.environ),
                start_new_session=True,
                timeout=START_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _failed(f"It did not start within {START_SECONDS:g} s.", log) from None
        except OSError as error:
            raise _failed(f"{command[0]}: {error.strerror}.", log) from None
    if done.returncode != 0:
        raise _failed(f"It ended with {done.returncode}.", log)


def _prepare(folder: Path, config: Mapping[str, Any]) -> Path:
    """Write the keeper's configuration and program."""
    files.make_private(str(folder))
    with contextlib.suppress(OSError):  # the keeper says what it cannot write, and since when
        os.makedirs(config["host_folder"], mode=0o755, exist_ok=True)
    text = json.dumps(config, indent=1).encode() + b"\n"
    files.write_atomic(str(folder / "config.json"), text, mode=0o600)
    program = folder / "keeper.pyz"
    build.build(str(program))
    return program


def _wanted(record: Record | None, boot: str) -> bool:
    return record is not None and not record.releasing and record.boot == boot


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without secrets: the keeper outlives the server and its tokens."""
    return {name: value for name, value in environment.items() if not _SECRET.search(name.upper())}


def _failed(cause: str, log: Path) -> Unreachable:
    try:
        said = log.read_text(errors="replace").strip().splitlines()[-1:]
    except OSError:
        said = []
    return Unreachable(
        f"The keeper of the cluster cannot be started. {cause}",
        hint=" ".join([*said, f"Its log is {log}."])[:500],
        code="keeper_not_started",
    )
