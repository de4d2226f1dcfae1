#!/usr/bin/env python3
"""Build, once per machine and set of versions, the environment that trains with Horovod.

Prints the environment's folder on standard output; everything else goes to standard error.
The environment is built under a private name and becomes visible by one atomic rename of a
symbolic link, so a half-built one is never used; a lock keeps two builds apart.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from steps import path_with, say, step

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "training-requirements.txt"
HOROVOD = "0.28.1"
# Only what the example needs: a build that finds a stray MPI or torch would differ by machine.
BUILD_FLAGS = {
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_PYTORCH": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "MAKEFLAGS": f"-j{os.cpu_count() or 2}",
}
VERIFY = (
    "import horovod.tensorflow as hvd, tensorflow as tf, sklearn, ipykernel;"
    "hvd.init(); assert hvd.size() == 1 and hvd.gloo_built();"
    "print('tensorflow', tf.__version__)"
)


def cache_root() -> Path:
    """Return the folder that holds environments and wheels."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base and os.geteuid() == 0:
        # Root's home is closed to others, and the tests run the story as another user too.
        base = "/var/cache"
    return Path(base or Path.home() / ".cache") / "jupyter-elastic"


def asked_of(python: str, expression: str) -> str:
    """Return what an expression gives in another Python."""
    code = f"import sys; print({expression})"
    command = [python, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def requirements() -> list[str]:
    """Return the requirements without comments."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def fingerprint(python: str) -> str:
    """Return a short hash of everything that decides what the environment contains."""
    base = asked_of(python, "sys.version_info[:2], sys.base_prefix")
    flags = [f"{key}={value}" for key, value in BUILD_FLAGS.items() if key != "MAKEFLAGS"]
    parts = [*requirements(), HOROVOD, base, platform.machine(), platform.system(), *flags]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def wheel_folder(python: str, root: Path) -> Path:
    """Return where the Horovod wheel lives: what its binary depends on is in the name."""
    tensorflow = next(line for line in requirements() if line.startswith("tensorflow"))
    version = asked_of(python, "'cp%d%d' % sys.version_info[:2]")
    tag = f"{tensorflow.replace('==', '-')}-{version}-{platform.machine()}"
    return root / "wheels" / f"horovod-{HOROVOD}-{tag}"


def horovod_wheel(python: Path, wheels: Path, log: Path) -> Path:
    """Return the Horovod wheel for this environment, building it if it is not in the cache."""
    ready = sorted(wheels.glob("horovod-*.whl"))
    if ready:
        say(f"  Horovod {HOROVOD}: wheel from the cache")
        return ready[0]
    wheels.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheels, prefix="build-") as scratch:
        # pip's own wheel cache does not know the flags, and once served a wheel built for
        # another framework: hence no cache here.
        command = [str(python), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
        command += ["--no-cache-dir", "--no-binary", "horovod", "--wheel-dir", scratch]
        # The environment's own cmake must win over a newer one of the machine.
        environment = {"PATH": path_with(python.parent), **BUILD_FLAGS}
        title = f"building Horovod {HOROVOD} for TensorFlow (2 to 6 minutes)"
        step(title, [*command, f"horovod=={HOROVOD}"], log, environment=environment)
        built = next(Path(scratch).glob("horovod-*.whl"))
        return built.replace(wheels / built.name)


def build(python: str, root: Path, name: str) -> None:
    """Build the environment and publish it under its name."""
    folder = Path(tempfile.mkdtemp(dir=root, prefix=f"{name}.build-"))
    folder.chmod(0o755)  # mkdtemp makes it private; another user may train with it
    log = root / f"{name}.log"
    log.write_bytes(b"")
    try:
        step("creating the environment", [python, "-m", "venv", str(folder)], log)
        inside = folder / "bin" / "python"
        pip = [str(inside), "-m", "pip", "install", "--no-input"]
        step("installing TensorFlow (about 1 minute)", [*pip, "-r", str(REQUIREMENTS)], log)
        wheel = horovod_wheel(inside, wheel_folder(python, root), log)
        step("installing Horovod", [*pip, "--no-deps", str(wheel)], log)
        step("checking that it imports", [str(inside), "-c", VERIFY], log)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    link = folder.with_suffix(".link")
    link.symlink_to(folder.name)
    link.replace(root / name)


def default_python() -> str:
    """Return the interpreter that find_python.py chooses; it explains itself when there is none."""
    found = subprocess.run(
        [sys.executable, str(HERE / "find_python.py")], stdout=subprocess.PIPE, text=True
    )
    if found.returncode:
        raise SystemExit(found.returncode)
    return found.stdout.strip()


def remove_leftovers(root: Path, name: str) -> None:
    """Remove what an interrupted build left; called under the lock, so nobody is building."""
    used = (root / name).resolve()
    for path in root.glob(f"{name}.build-*"):
        if path.is_symlink():
            path.unlink()
        elif path != used:
            shutil.rmtree(path, ignore_errors=True)


def main() -> int:
    """Ensure the environment exists and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", help="Python 3.10 or 3.11 to build with; found if not given")
    parser.add_argument("--where", action="store_true", help="only print the folder; 1 if absent")
    options = parser.parse_args()
    python = options.python or default_python()
    name = f"training-{fingerprint(python)}"
    root = cache_root()
    target = root / name
    if options.where:
        print(target)
        return 0 if target.exists() else 1
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is building the training environment; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        remove_leftovers(root, name)
        if not (target / "bin" / "horovodrun").exists():
            say(f"Training environment: TensorFlow and Horovod, in {target}")
            started = time.monotonic()
            build(python, root, name)
            say(f"Training environment ready after {(time.monotonic() - started) / 60:.1f} min")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
