"""The Debian packages that the cluster needs, and their installation on request."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from testcluster.faults import ClusterError

# Program, and the package that brings it.
WANTED = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "iptables": "iptables",
    "openssl": "openssl",
}
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
# Daemons and debootstrap are found there, also when the PATH is that of a plain user.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def find(program: str) -> str | None:
    """Return the path of a program of the system."""
    path = os.environ.get("PATH", "")
    return shutil.which(program, path=f"{path}{os.pathsep}{SYSTEM_PATH}")


def cni_folder() -> Path | None:
    """Return the folder with the network plugins, or None."""
    return next((path for path in CNI_FOLDERS if (path / "bridge").exists()), None)


def missing_packages() -> list[str]:
    """Return the packages whose programs are not on this machine."""
    missing = [package for program, package in WANTED.items() if find(program) is None]
    if cni_folder() is None:
        missing.append("containernetworking-plugins")
    return list(dict.fromkeys(missing))


def advice(missing: list[str]) -> str:
    """Return the command that installs these packages."""
    return f"apt-get install --no-install-recommends {' '.join(missing)}"


def install(missing: list[str]) -> None:
    """Install packages with apt-get, as root and without a question.

    Raises
    ------
    ClusterError
        If we are not root, or if it fails.
    """
    if not missing:
        return
    if os.geteuid() != 0:
        raise ClusterError(f"Only root can install packages: sudo {advice(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Stale lists may still do, so only the installation decides.
    _quietly(["apt-get", "update", "-qq"], environment)
    code, text = _quietly(
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *missing], environment
    )
    if code:
        raise ClusterError(f"{advice(missing)} failed: {text[-2000:]}")


def _quietly(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return done.returncode, done.stdout


def require() -> None:
    """Fail with the command to run when a package is missing.

    Raises
    ------
    ClusterError
        If one is missing.
    """
    missing = missing_packages()
    if missing:
        raise ClusterError(f"Missing programs; on Debian or Ubuntu:\n  {advice(missing)}")
