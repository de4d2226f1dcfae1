#!/usr/bin/env python3
"""Run the stages of ``make test`` in order and say at the end what passed and how long it took.

    scripts/test_stages.py [STAGE ...]

A stage fails if a command fails, if its folder is missing, if it ran no test, or if it takes
too long. The last line is ``N passed, N failed``, counting stages; the exit code follows it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from stages import RESULTS, Stage, all_stages
from steps import REPO, VENV, path_with
from training_env import cache_root

# These need the environment with a real Horovod.
NEED_TRAINING = {"story", "cluster", "ui"}


@dataclass(frozen=True)
class Outcome:
    """How one stage ended; ``problem`` is empty if it passed."""

    name: str
    minutes: float
    passed: int
    skipped: int
    problem: str


def banner(text: str) -> None:
    """Print a line that stands out of the output of the stages."""
    print(f"\n=== {text} {'=' * max(3, 90 - len(text))}", flush=True)


def run(command: list[str], stage: Stage, environment: dict[str, str], limit: float) -> str:
    """Run one command of a stage with its output shown; return the problem, or nothing."""
    shown = " ".join(command).replace(f"{REPO}/", "")
    print(f"--- {shown}", flush=True)
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd=stage.cwd,
            env={**environment, **stage.environment},
            # A group of its own, so that a hanging stage ends with all it has started.
            start_new_session=True,
        )
    except OSError as error:
        return f"could not run {shown}: {error}"
    try:
        code = child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"stopped after {stage.minutes:.0f} min: {shown}"
    except KeyboardInterrupt:
        os.killpg(child.pid, signal.SIGTERM)
        raise
    return f"exit code {code}: {shown}" if code else ""


def run_stage(stage: Stage, environment: dict[str, str]) -> Outcome:
    """Run one stage to its end and judge it."""
    banner(f"{stage.name}")
    started = time.monotonic()
    if not stage.folder.is_dir():
        problem = f"COULD NOT RUN: the folder {stage.folder.relative_to(REPO)} is missing"
        return Outcome(stage.name, 0.0, 0, 0, problem)
    results = []
    for command in stage.commands:
        left = stage.minutes * 60 - (time.monotonic() - started)
        results.append(run(command, stage, environment, max(1.0, left)))
    problems = [problem for problem in results if problem]
    passed, skipped = stage.count() if stage.count else (results.count(""), 0)
    if not problems and passed == 0:
        problems.append("NO TEST RAN")
    minutes = (time.monotonic() - started) / 60
    return Outcome(stage.name, minutes, passed, skipped, "; ".join(problems))


def prepare() -> Outcome:
    """Bring the lab environment up to date; nothing can run without it."""
    banner("environment")
    started = time.monotonic()
    command = [sys.executable, str(REPO / "scripts" / "lab_env.py")]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    problem = f"COULD NOT RUN: the lab environment, exit code {code}" if code else ""
    return Outcome("environment", (time.monotonic() - started) / 60, 0 if code else 1, 0, problem)


def training(environment: dict[str, str]) -> Outcome:
    """Bring the training environment up to date and tell the tests where it is."""
    banner("training")
    started = time.monotonic()
    scripts = REPO / "scripts"
    build = [sys.executable, str(scripts / "training_env.py")]
    done = subprocess.run(
        build, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False
    )
    problem = f"COULD NOT RUN: the training environment, exit code {done.returncode}"
    if done.returncode == 0:
        folder = done.stdout.strip().splitlines()[-1]
        environment["JUPYTER_ELASTIC_TRAINING_ENV"] = folder
        kernel = [str(scripts / "register_kernel.sh"), folder]
        code = subprocess.run(kernel, stdin=subprocess.DEVNULL, check=False).returncode
        problem = f"the kernel of the training environment, exit code {code}" if code else ""
    minutes = (time.monotonic() - started) / 60
    return Outcome("training", minutes, 0 if problem else 1, 0, problem)


def report(outcomes: list[Outcome]) -> int:
    """Print the table and the last line; return the exit code."""
    banner("summary")
    for one in outcomes:
        counted = f"{one.passed} passed" + (f", {one.skipped} SKIPPED" if one.skipped else "")
        verdict = f"FAILED  {one.problem}" if one.problem else "ok"
        print(f"{one.name:<12} {one.minutes:6.1f} min  {counted:<24} {verdict}")
    print(f"{'all':<12} {sum(one.minutes for one in outcomes):6.1f} min")
    failed = sum(1 for one in outcomes if one.problem)
    last = f"{len(outcomes) - failed} passed, {failed} failed"
    (RESULTS / "summary.txt").write_text(f"{last}\n", encoding="utf-8")
    print(last, flush=True)
    return 1 if failed or not outcomes else 0


def chosen(names: list[str]) -> list[Stage]:
    """Return the stages that were asked for; if none was named, all."""
    stages = all_stages()
    unknown = set(names) - {stage.name for stage in stages}
    if unknown:
        known = ", ".join(stage.name for stage in stages)
        raise SystemExit(f"unknown stage {', '.join(sorted(unknown))}; there are: {known}")
    return [stage for stage in stages if stage.name in names] if names else stages


def main(names: list[str]) -> int:
    """Run the stages and report."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    stages = chosen(names)
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir()
    environment = {**os.environ, "PATH": path_with(VENV / "bin"), "VIRTUAL_ENV": str(VENV)}
    environment["JUPYTER_ELASTIC_CLEAN_ENV"] = str(clean_env())
    outcomes = [prepare()]
    if not outcomes[0].problem:
        if NEED_TRAINING & {stage.name for stage in stages}:
            outcomes.append(training(environment))
        outcomes += [run_stage(stage, environment) for stage in stages]
    return report(outcomes)


def clean_env() -> Path:
    """Return where the wheel stage installs the wheel; other users can reach it."""
    return Path(os.environ.get("JUPYTER_ELASTIC_CLEAN_ENV") or cache_root() / "clean-env")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
