"""The launcher of mode `here`: a keeper on this machine, with the keys to the workers. Blocks.

What it needs lives in the private runtime folder of this pod, as long as the pod's container does:
a folder per cluster, and beside it a state file that says that the cluster is held here. A keeper
that gives its cluster back by its own rules removes that file; then the objects go too.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import Unreachable
from ...keeper import files, identity
from ..local import folders
from ..local.layout import Layout
from ..local.processes import end, everything_of, keeper_of
from ..local.starting import ALLOWED_ENV, start_keeper
from . import layout, objects
from .keys import ClusterKeys
from .ownpod import OwnPod
from .pod import Build
from .site import Site

LOCK_SECONDS = 10.0
END_SECONDS = 5.0
YOUNG_SECONDS = 120.0  # the objects of a cluster that is only being made are not seen yet
COMMAND = (sys.executable, "-I")


class Here:
    """Clusters whose launcher is this pod.

    Parameters
    ----------
    own_pod
        Finds it.
    folders
        Where the files of this user on this machine are.
    programs
        Launcher programs for which a keeper holds a starter.
    """

    def __init__(self, own_pod: OwnPod, folders: Layout, programs: tuple[str, ...]) -> None:
        self._own_pod = own_pod
        self.layout = folders
        self._states = folders.runtime / "here"
        self._programs = programs
        self._boot = identity.boot_id()

    def site(self) -> Site:
        """Return what is known of this pod, and the clusters it holds now."""
        known = self._own_pod.site()
        if known.notebook is None:
            return known
        return replace(known, held=frozenset(self._held()))

    def _held(self) -> list[str]:
        try:
            names = os.listdir(self._states)
        except FileNotFoundError:
            return []
        return [name[:-5] for name in names if name.endswith(".json") and name[0] != "."]

    def _path(self, cluster: str) -> Path:
        return self._states / f"{cluster}.json"

    def _state(self, cluster: str) -> dict[str, Any]:
        return files.read_json(str(self._path(cluster))) or {}

    def folder(self, cluster: str) -> Path:
        """Return the keeper's own folder."""
        return self.layout.cluster(cluster)

    # -- making -------------------------------------------------------------------------------

    def prepare(self, build: Build, keys: ClusterKeys) -> str:
        """Write what the keeper will need, and return the folder of the host file.

        Raises
        ------
        Unreachable
            It cannot be written here.
        """
        try:
            self.layout.prepare()
            files.make_private(str(self._states))
            with files.locked(str(self.layout.lock), timeout=LOCK_SECONDS):
                return self._prepare(build, keys)
        except (OSError, TimeoutError) as error:
            raise Unreachable(
                f"The files of the launcher cannot be written here: {error}",
                hint="Make room, or name another folder in JUPYTER_ELASTIC_RUNTIME_DIR.",
                code="folders",
            ) from error

    def _prepare(self, build: Build, keys: ClusterKeys) -> str:
        folder = self.folder(build.id)
        ssh = folder / "ssh"
        files.make_private(str(folder))
        files.make_private(str(ssh))
        files.write_atomic(str(ssh / layout.CLIENT_KEY), keys.client.private, 0o600)
        known = keys.known_hosts(build.id).encode()
        files.write_atomic(str(ssh / layout.KNOWN_HOSTS), known, 0o600)
        files.write_json(str(folder / layout.RULES), objects.rules(build))
        hosts, shared = self._host_folder(build)
        config = objects.keeper_config(
            build, self._programs, allow_env=ALLOWED_ENV, ssh_folder=str(ssh)
        )
        config["host_folder"] = hosts
        config["state_file"] = str(self._path(build.id))
        config["lock_file"] = str(self.layout.lock)
        state = {"boot": self._boot, "shared": shared, "created": time.time(), "config": config}
        files.write_json(str(self._path(build.id)), state)
        return hosts

    def _host_folder(self, build: Build) -> tuple[str, bool]:
        """Take the folder that launchers usually have, when it is free and can be written."""
        shared = Path(build.config.host_folder)
        claim = folders.Claim(
            cluster=build.id,
            uid=os.geteuid(),
            boot=self._boot,
            state_file=str(self._path(build.id)),
            at=time.time(),
        )
        if folders.claim_shared(shared, claim):
            return str(shared), True
        return str(folders.make_own(self.layout.runtime, build.id)), False

    # -- the keeper ---------------------------------------------------------------------------

    def ensure(self, cluster: str) -> bool:
        """Start the keeper when it does not live.

        Returns
        -------
        bool
            False when the cluster is to have none here.

        Raises
        ------
        Unreachable
            It cannot be started; the message has the end of its log.
        """
        try:
            with files.locked(str(self.layout.lock), timeout=LOCK_SECONDS):
                state = self._state(cluster)
                if state.get("boot") != self._boot or state.get("releasing"):
                    return False
                if not keeper_of(self.folder(cluster)):
                    start_keeper(self.folder(cluster), COMMAND, state["config"])
                return True
        except (OSError, TimeoutError) as error:
            raise Unreachable(
                f"The keeper cannot be started: {error}", code="keeper_not_started"
            ) from error

    def keeper_runs(self, cluster: str) -> bool:
        """Whether a keeper of the cluster lives on this machine, wherever its files are or were.

        A state file may also be missing because a cleaner took it, or because another server here
        has another runtime folder.
        """
        import psutil

        program = f"/{cluster}/keeper.pyz"
        return any(
            word.endswith(program)
            for process in psutil.process_iter(["cmdline"])
            for word in process.info["cmdline"] or ()
        )

    # -- giving back --------------------------------------------------------------------------

    def begin_release(self, cluster: str) -> None:
        """Let no keeper be started for it any more."""
        if not self._state(cluster):
            return
        with files.locked(str(self.layout.lock), timeout=LOCK_SECONDS):
            state = self._state(cluster)
            if state:  # a keeper may have removed it meanwhile
                files.write_json(str(self._path(cluster)), {**state, "releasing": True})

    def clean(self, cluster: str) -> None:
        """End what runs and remove all files; may be repeated.

        Raises
        ------
        Unreachable
            Some processes do not end.
        """
        self.begin_release(cluster)
        state, folder = self._state(cluster), self.folder(cluster)
        if state.get("boot", self._boot) == self._boot:  # pids of an earlier start name nobody
            ended = end(everything_of(folder), END_SECONDS)
            ended = end(keeper_of(folder), END_SECONDS) and ended
            if not (end(everything_of(folder), END_SECONDS) and ended):
                raise Unreachable(
                    "Some processes of the cluster do not end.",
                    hint="They wait for a device or a file system; the release is tried again.",
                    code="processes_left",
                )
        if state.get("shared"):
            folders.give_back_shared(Path(state["config"]["host_folder"]), cluster)
        shutil.rmtree(folder, ignore_errors=True)
        files.remove(str(self._path(cluster)))

    def forget(self, known: Iterable[str]) -> None:
        """Clean up after clusters that somebody else gave back: their objects are gone.

        Parameters
        ----------
        known
            All clusters there are; must come from a complete reading.
        """
        for cluster in set(self._held()) - set(known):
            if time.time() - float(self._state(cluster).get("created") or 0.0) > YOUNG_SECONDS:
                self.clean(cluster)
