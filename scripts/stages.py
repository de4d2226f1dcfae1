"""What ``make test`` runs: each stage, its commands, and how to count the tests it ran."""

from __future__ import annotations

import json
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from steps import REPO, VENV

RESULTS = REPO / "test-results"
BIN = VENV / "bin"


@dataclass(frozen=True)
class Stage:
    """One stage of the tests.

    Attributes
    ----------
    name : str
        Short name, also the argument that selects it.
    commands : list of list of str
        Run in order; all of them run even if one fails, so that one look shows everything.
    folder : pathlib.Path
        Must exist: a stage without its tests has not passed.
    count : callable, optional
        Returns how many tests passed, and how many were skipped; without it each command that
        succeeds counts as one.
    minutes : float
        Longest time it may take before it is stopped as hanging.
    cwd : pathlib.Path
        Where the commands run.
    environment : dict
        Variables added to the runner's own.
    """

    name: str
    commands: list[list[str]]
    folder: Path
    count: Callable[[], tuple[int, int]] | None = None
    minutes: float = 10
    cwd: Path = REPO
    environment: dict[str, str] = field(default_factory=dict)


def junit_count(report: Path) -> tuple[int, int]:
    """Return passed and skipped tests of a pytest report."""
    if not report.exists():
        return 0, 0
    suites = ElementTree.parse(report).getroot().iter("testsuite")  # noqa: S314 (our own file)
    total = bad = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return total - bad - skipped, skipped


def jest_count(report: Path) -> tuple[int, int]:
    """Return passed and skipped tests of a jest report."""
    if not report.exists():
        return 0, 0
    result = json.loads(report.read_text(encoding="utf-8"))
    return result["numPassedTests"], result["numPendingTests"] + result["numTodoTests"]


def playwright_count(report: Path) -> tuple[int, int]:
    """Return passed and skipped tests of a Playwright report; one that passed late counts."""
    if not report.exists():
        return 0, 0
    stats = json.loads(report.read_text(encoding="utf-8"))["stats"]
    return stats["expected"] + stats["flaky"], stats["skipped"]


def pytest_stage(name: str, minutes: float) -> Stage:
    """Return the stage that runs one folder below ``tests``."""
    folder, report = REPO / "tests" / name, RESULTS / f"{name}.xml"
    command = [str(BIN / "python"), "-m", "pytest", str(folder), f"--junit-xml={report}"]
    return Stage(name, [command], folder, lambda: junit_count(report), minutes)


def cluster_stage() -> Stage:
    """Return the stage that runs real pods on a real API server and kubelet."""
    folder, report, seen = REPO / "tests" / "cluster", RESULTS / "cluster.xml", "cluster-ui.json"
    scripts, python = REPO / "scripts", str(BIN / "python")
    commands = [
        # Minutes of building once per machine; a test would run into its time limit.
        [sys.executable, str(scripts / "cluster.py"), "build", "--kwok-nodes=1"],
        [python, "-m", "pytest", str(folder), f"--junit-xml={report}"],
        [sys.executable, str(scripts / "cluster_ui.py")],
    ]

    def count() -> tuple[int, int]:
        parts = (junit_count(report), playwright_count(RESULTS / seen))
        # Neither may be missing: what did not run has not passed.
        return (
            (sum(one[0] for one in parts), sum(one[1] for one in parts))
            if all(one[0] for one in parts)
            else (0, 0)
        )

    return Stage("cluster", commands, folder, count, 50, environment=browser(seen))


def browser(report: str) -> dict[str, str]:
    """Return the variables of Playwright: the system's Chromium, and where the report goes."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    chromium = os.environ.get("CHROMIUM_PATH") or next(filter(None, map(shutil.which, names)), "")
    return {
        "CHROMIUM_PATH": chromium,
        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
        "PLAYWRIGHT_HTML_OPEN": "never",
        "PLAYWRIGHT_JSON_OUTPUT_NAME": str(RESULTS / report),
    }


def lint_stage() -> Stage:
    """Return the stage of linters and type checks."""
    jlpm = str(BIN / "jlpm")
    commands = [
        [str(BIN / "ruff"), "check", "."],
        [str(BIN / "ruff"), "format", "--check", "."],
        [str(BIN / "mypy")],
        [str(BIN / "interrogate"), "jupyter_elastic"],
        [jlpm, "eslint:check"],
        [jlpm, "prettier:check"],
        [jlpm, "stylelint:check"],
        [jlpm, "tsc", "--project", "tsconfig.test.json"],
    ]
    return Stage("lint", commands, REPO / "src")


def jest_stage() -> Stage:
    """Return the stage of the front end's own tests."""
    report = RESULTS / "jest.json"
    command = [str(BIN / "jlpm"), "jest", "--ci", "--json", f"--outputFile={report}"]
    # Two workers would only fight for the cores of a small machine.
    command.append("--maxWorkers=2")
    return Stage("jest", [command], REPO / "src", lambda: jest_count(report))


def wheel_stage() -> Stage:
    """Return the stage that installs the wheel where there is no Node.js."""
    command = [str(BIN / "python"), str(REPO / "scripts" / "check_wheel.py")]
    report = RESULTS / "wheel.json"

    def count() -> tuple[int, int]:
        return (json.loads(report.read_text(encoding="utf-8")), 0) if report.exists() else (0, 0)

    return Stage("wheel", [command], REPO / "jupyter_elastic", count)


def ui_stage() -> Stage:
    """Return the stage that drives a real JupyterLab in the system's Chromium."""
    folder, report = REPO / "ui-tests", RESULTS / "ui.json"
    jlpm = str(BIN / "jlpm")
    commands = [
        [jlpm, "install", "--immutable"],
        [jlpm, "playwright", "test", "--reporter=list,json"],
    ]
    return Stage(
        "ui", commands, folder, lambda: playwright_count(report), 30, folder, browser("ui.json")
    )


def all_stages() -> list[Stage]:
    """Return the stages in order: what fails soonest comes first."""
    return [
        lint_stage(),
        pytest_stage("unit", 10),
        pytest_stage("keeper", 10),
        pytest_stage("server", 10),
        pytest_stage("kernel", 10),
        jest_stage(),
        # Before the story: its clean environment is what the unprivileged user runs.
        wheel_stage(),
        pytest_stage("faults", 20),
        pytest_stage("story", 20),
        cluster_stage(),
        ui_stage(),
    ]
