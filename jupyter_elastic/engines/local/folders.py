"""The folder of the host file: the machine's shared one for who claims it first, else an own one.

The claim is a file in the shared folder that names cluster, user and boot. It is made and taken
over under a lock on the folder itself. Blocks: call it in a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ...errors import BadInput
from ...keeper.hostfile import HOSTFILE, META, SCRIPT

CLAIM = ".jupyter-elastic.json"
HOST_FILES = (SCRIPT, META, HOSTFILE)  # in the order of removal: the host file goes last
BASE_SETTING = "ElasticExtensionApp.base_folder"
SETTLE_SECONDS = 30.0
LOCK_SECONDS = 2.0


@dataclass(frozen=True)
class Claim:
    """Who has the shared folder, and since when.

    ``made_folder``: it did not exist before, so it goes with the cluster.
    """

    cluster: str
    uid: int
    boot: str
    state_file: str
    at: float
    made_folder: bool = False


def claim_shared(folder: Path, claim: Claim) -> bool:
    """Take the shared folder for a cluster.

    Returns
    -------
    bool
        False when it cannot be written, another cluster has it, or it holds a host file that is not
        ours.
    """
    made = False
    try:
        folder.mkdir(mode=0o755)
        made = True
    except FileExistsError:
        pass
    except OSError:
        return False
    try:
        with _locked(folder):
            return _claim_locked(folder, Claim(**{**asdict(claim), "made_folder": made}))
    except OSError:
        return False


def _claim_locked(folder: Path, claim: Claim) -> bool:
    before = read_claim(folder)
    if before is not None and before.cluster == claim.cluster:
        return before.uid == claim.uid
    present = [name for name in HOST_FILES if os.path.lexists(folder / name)]
    if before is None:
        if present or os.path.lexists(folder / CLAIM):
            return False
    elif not _stale(before, claim):
        return False
    for name in present:  # left by the cluster whose claim is void
        os.unlink(folder / name)
    made = claim.made_folder or (before is not None and before.made_folder)
    _write(folder, Claim(**{**asdict(claim), "made_folder": made}))
    return True


def _stale(before: Claim, claim: Claim) -> bool:
    """Whether the cluster of a claim is known to be gone.

    Another user's is only when the machine was restarted.
    """
    if before.boot != claim.boot:
        return True
    if before.uid != claim.uid or os.path.lexists(before.state_file):
        return False
    # A claim comes just before its state file. Ours cannot be between the two: we hold the lock of
    # that folder.
    same_store = os.path.dirname(before.state_file) == os.path.dirname(claim.state_file)
    return same_store or claim.at - before.at > SETTLE_SECONDS


def read_claim(folder: Path) -> Claim | None:
    """Return the claim of a shared folder, or None when there is none that can be read."""
    try:
        return Claim(**json.loads((folder / CLAIM).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _write(folder: Path, claim: Claim) -> None:
    temporary = folder / f"{CLAIM}.{os.getpid()}"
    # Not the keeper's own writer: this file must be readable by other users, who decide by it.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        with os.fdopen(handle, "w") as stream:
            json.dump(asdict(claim), stream)
        os.replace(temporary, folder / CLAIM)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def give_back_shared(folder: Path, cluster: str) -> None:
    """Remove the host files and the claim of a cluster; another one's are left alone."""
    try:
        with _locked(folder):
            claim = read_claim(folder)
            if claim is None or claim.cluster != cluster:
                return
            for name in HOST_FILES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(folder / name)
            os.unlink(folder / CLAIM)
            if claim.made_folder:
                with contextlib.suppress(OSError):  # somebody else put something there
                    os.rmdir(folder)
    except FileNotFoundError:
        return


def make_own(base: Path, cluster: str) -> Path:
    """Make the folder of one cluster below `base`.

    Raises
    ------
    BadInput
        It cannot be made or written; the message names the folder and the setting.
    """
    folder = base / cluster
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise BadInput(
            f"The folder for host files cannot be written: {folder} ({error.strerror}).",
            hint=f"Make it writable, or set {BASE_SETTING} to a folder that is.",
            detail={"field": "base_folder", "folder": str(folder)},
        ) from None
    return folder


def remove_own(folder: Path) -> None:
    """Remove the host files of one cluster and its folder, when nothing else is in it."""
    for name in HOST_FILES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / name)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder itself; OSError when it was removed meanwhile."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _wait_for(handle)
        now = os.stat(folder)
        held = os.fstat(handle)
        if (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino):
            raise FileNotFoundError(str(folder))
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int) -> None:
    """Take the lock; BlockingIOError when somebody holds it too long.

    Anyone who can read the folder could.
    """
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
