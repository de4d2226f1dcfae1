"""Whether this machine can carry a cluster: folders, addresses, programs, GPUs, shared memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from ..engines.local.folders import read_claim
from .check import Check

_KEEPER_FLOOR = (3, 8)
_SHM_FLOOR = 256 * 2**20  # bytes; containers often come with 64 MiB, too few for data loaders
_PATIENCE = 10.0  # seconds for a program that may hang on a broken driver


def checks(base_folder: str, shared_folder: str) -> list[Check]:
    """Check the machine.

    Parameters
    ----------
    base_folder
        Where clusters keep their host file when `shared_folder` is not theirs.
    shared_folder
        ``/etc/mpi``.
    """
    return [
        host_folder(base_folder, shared_folder),
        loopback(),
        keeper_python(),
        _shell(),
        gpus(),
        shared_memory(),
    ]


def host_folder(base_folder: str, shared_folder: str) -> Check:
    """Check where host files can be written."""
    name = "host file folder"
    own_it = f"sudo install -d -o {os.getuid()} {shared_folder}"
    claim = read_claim(Path(shared_folder))
    if claim is not None:
        text = (
            f"{shared_folder} belongs to the cluster {claim.cluster}, whose record is "
            f"{claim.state_file}; every other one uses {base_folder}/<cluster>"
        )
        remedy = f"Release {claim.cluster}. Where no panel shows it any more, remove its record."
        return Check(name, None, text, remedy)
    if _writable(shared_folder):
        return Check(name, True, f"{shared_folder} can be used by one cluster at a time")
    if not _writable(base_folder):
        text = f"neither {shared_folder} nor {base_folder} can be written"
        return Check(name, False, text, f"{own_it}, or set ElasticExtensionApp.base_folder")
    own = f"{base_folder}/<cluster>"
    text = f"{shared_folder} cannot be written: each cluster uses {own}, commands name it"
    return Check(name, True, text, f"To use {shared_folder}: {own_it}")


def _writable(folder: str) -> bool:
    """Whether `folder`, or the first of its parents that exists, can be written."""
    path = Path(folder)
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def loopback() -> Check:
    """Check that 127.0.0.2 exists: each local place has an address of its own."""
    name = "loopback addresses"
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.2", 0))
        except OSError as error:
            text = (
                f"127.0.0.2 cannot be used ({error.strerror}): places share one line of the host "
                "file, so a lost rank ends the whole run"
            )
            return Check(name, None, text, "On macOS: sudo ifconfig lo0 alias 127.0.0.2 up")
    return Check(name, True, "127.0.0.2 and above can be used")


def keeper_python() -> Check:
    """Check the ``python3`` that the keeper runs with."""
    name = "python3 for the keeper"
    floor = ".".join(str(part) for part in _KEEPER_FLOOR)
    fix = "Install it, e.g. sudo apt-get install -y python3"
    path = shutil.which("python3")
    if path is None:
        return Check(name, False, "python3 is not in PATH", fix)
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    said = _run([path, "-I", "-c", code])
    if said is None:
        return Check(name, False, f"{path} cannot be run", fix)
    version = tuple(int(part) for part in said.split(".") if part.isdigit())
    if version < _KEEPER_FLOOR:
        return Check(name, False, f"{path} is {said}, {floor} is needed", fix)
    return Check(name, True, f"{said}, {path}")


def _shell() -> Check:
    path = shutil.which("sh")
    if path is None:
        return Check("sh", False, "sh is not in PATH", "export PATH=/usr/bin:/bin:$PATH")
    return Check("sh", True, path)


def gpus() -> Check:
    """Ask ``nvidia-smi``; no GPU is a state, not a failure."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Check("GPUs", None, "no NVIDIA driver here: local places use CPU cores")
    said = _run([program, "--query-gpu=name,memory.total", "--format=csv,noheader"])
    if said is None:
        fix = "Run nvidia-smi; a driver that does not match its kernel module needs a reboot"
        return Check("GPUs", False, f"{program} fails or does not answer", fix)
    found = [line.strip() for line in said.splitlines() if line.strip()]
    if not found:
        return Check("GPUs", None, "the driver sees no GPU: local places use CPU cores")
    return Check("GPUs", True, f"{len(found)}: {'; '.join(found)}")


def shared_memory(folder: str = "/dev/shm") -> Check:  # noqa: S108 - looked at, not written
    """Check the size of the shared memory."""
    name = "shared memory"
    try:
        facts = os.statvfs(folder)
    except OSError:
        return Check(name, None, f"no {folder} on this machine")
    size = facts.f_frsize * facts.f_blocks
    text = f"{size / 2**20:.0f} MiB in {folder}"
    if size >= _SHM_FLOOR:
        return Check(name, True, text)
    fix = "mount -o remount,size=8g /dev/shm; in a container: docker run --shm-size=8g ..."
    return Check(name, False, f"{text}: data loaders and NCCL may fail", fix)


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
