"""Building the container image of the pods without any container engine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from steps import say, step

from testcluster import cache, packages
from testcluster.faults import ClusterError
from testcluster.versions import Recipe

MIRROR = "http://deb.debian.org/debian"
UID = 1000
# Read only by people.
PAGES = ("doc", "info", "lintian", "locale", "man")
# Filled by the container's runtime, or wanted only by apt.
LEFT_OUT = (
    "dev/",
    "proc/",
    "sys/",
    "var/cache/apt/",
    "var/lib/apt/lists/",
    *(f"usr/share/{name}/" for name in PAGES),
)


def ensure(recipe: Recipe) -> Path:
    """Return the image as a docker-archive, built if it is not in the cache.

    Parameters
    ----------
    recipe : Recipe
        What goes into it.

    Returns
    -------
    pathlib.Path
        A tar file that ``ctr images import`` takes.

    Raises
    ------
    ClusterError
        If we are not root, debootstrap is missing, or it fails.
    """
    root = cache.folder()
    name = f"image-{recipe.name.rpartition('/')[2]}-{recipe.version}"
    target = root / f"{name}.tar"
    if target.exists():
        return target
    with cache.locked(root / f"{name}.lock", "building the image"):
        for leftover in root.glob(f"{name}.build-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not target.exists():
            _build(recipe, root, name, target)
    return target


def _build(recipe: Recipe, root: Path, name: str, target: Path) -> None:
    """Build in a private folder; the finished archive appears by one rename."""
    debootstrap = packages.find("debootstrap")
    if debootstrap is None:
        raise ClusterError(f"debootstrap is missing: {packages.advice(['debootstrap'])}")
    if os.geteuid() != 0:
        raise ClusterError("The image is built with debootstrap, which has to run as root")
    say(f"Image {recipe.reference} (about 1 min)")
    log = root / f"{name}.log"
    log.write_bytes(b"")
    with tempfile.TemporaryDirectory(dir=root, prefix=f"{name}.build-") as scratch:
        system = Path(scratch) / "system"
        command = ["nice", "-n", "10", debootstrap, "--variant=minbase"]
        command += [f"--include={','.join(recipe.packages)}", recipe.suite, str(system), mirror()]
        # A private temporary folder of the caller does not exist inside the new system.
        environment = {"PATH": packages.SYSTEM_PATH, "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8"}  # noqa: S108
        try:
            step("debootstrap", command, log, environment=environment)
        except SystemExit as error:
            raise ClusterError(str(error)) from error
        _add_user(recipe, system)
        archive = Path(scratch) / "image.tar"
        _pack(recipe, system, archive)
        archive.chmod(0o644)
        archive.replace(target)


def mirror() -> str:
    """Return the Debian mirror: DEBIAN_MIRROR, else the one this machine's apt uses."""
    chosen = os.environ.get("DEBIAN_MIRROR")
    if chosen:
        return chosen
    folder = Path("/etc/apt")
    for path in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        pattern = r"^(?:deb .*?|URIs: *)(https?://\S*/debian)/?(?:\s|$)"
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return found[1]
    return MIRROR


def _add_user(recipe: Recipe, system: Path) -> None:
    """Give uid 1000 a name and a home, as notebook images do."""
    etc = system / "etc"
    name, home = recipe.user, f"/home/{recipe.user}"
    with (etc / "passwd").open("a") as file:
        file.write(f"{name}:x:{UID}:{UID}:{name}:{home}:/bin/bash\n")
    with (etc / "group").open("a") as file:
        file.write(f"{name}:x:{UID}:\n")
    with (etc / "shadow").open("a") as file:
        file.write(f"{name}:*:19000:0:99999:7:::\n")
    shutil.copytree(etc / "skel", system / home[1:])
    for path in (system / home[1:], *(system / home[1:]).rglob("*")):
        os.chown(path, UID, UID)
    for folder in recipe.extra_folders:
        (system / folder).mkdir(mode=0o755, parents=True, exist_ok=True)
    # Keys that everyone has prove nothing; sshd gets its own from who starts it.
    for key in (etc / "ssh").glob("ssh_host_*"):
        key.unlink()
    (etc / "hostname").unlink(missing_ok=True)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out what no container needs, and device files."""
    name = member.name.removeprefix("./")
    if member.ischr() or member.isblk() or any(name.startswith(prefix) for prefix in LEFT_OUT):
        return None
    return member


def _digest(path: Path) -> str:
    result = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            result.update(block)
    return result.hexdigest()


def _pack(recipe: Recipe, system: Path, archive: Path) -> None:
    """Write one layer, its configuration and the manifest into a docker-archive."""
    layer = archive.with_name("layer.tar")
    with tarfile.open(layer, "w") as tar:
        tar.add(system, arcname=".", filter=_kept)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    config = {
        "architecture": machine,
        "os": "linux",
        # Waiting for ever is what a pod's own sandbox does, and it uses this image too.
        "config": {"Cmd": ["sleep", "infinity"], "Env": [f"PATH={packages.SYSTEM_PATH}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [recipe.reference], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        for name, content in (("config.json", config), ("manifest.json", manifest)):
            path = archive.with_name(name)
            path.write_text(json.dumps(content), encoding="utf-8")
            tar.add(path, arcname=name)
        tar.add(layer, arcname="layer.tar")
