"""Login plugins: what they are told, when they run, and what becomes of their faults."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines.kubernetes.connection import (
    connect,
)
from jupyter_elastic.errors import BadInput
from jupyter_elastic.keeper.kube.errors import Unauthenticated

from .conftest import SECRET, Write, ask, both, environ
from .recorder import Certificates, Recorder


def script(folder: Path, text: str, name: str = "plugin") -> Path:
    """Write a program of a plugin."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def credential(version: str = "v1", **status: Any) -> str:
    """The text of a program that prints a credential and counts its runs."""
    answer = {
        "kind": "ExecCredential",
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "status": status,
    }
    return (
        "import os, json\n"
        "open(os.environ['COUNT'], 'a').write(os.environ['KUBERNETES_EXEC_INFO'].strip() + '\\n')\n"
        f"print({json.dumps(answer)!r})\n"
    )


def entry(command: Path | str, folder: Path, version: str = "v1", **more: Any) -> dict[str, Any]:
    """A user with a plugin."""
    return {
        "exec": {
            "apiVersion": f"client.authentication.k8s.io/{version}",
            "command": str(command),
            "interactiveMode": "Never",
            "env": [{"name": "COUNT", "value": str(folder / "count")}],
            **more,
        }
    }


def runs(folder: Path) -> list[dict[str, Any]]:
    """What the plugin was told, run by run."""
    path = folder / "count"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def stamp(seconds: float) -> str:
    """A time from now as plugins write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_plugin_token(recorder: Recorder, write: Write, tmp_path: Path, version: str) -> None:
    script(tmp_path, credential(version, token="from-plugin"))
    seen = both(recorder, write(entry("./plugin", tmp_path, version)))
    assert seen.headers == [("authorization", "Bearer from-plugin")]
    told = runs(tmp_path)
    assert all(item["spec"] == {"interactive": False} for item in told)
    assert told == told[:1] * len(told)


def test_plugin_certificate(
    recorder: Recorder, write: Write, tmp_path: Path, certificates: Certificates
) -> None:
    pair = {
        "clientCertificateData": certificates.read("ann.crt"),
        "clientKeyData": certificates.read("ann.key"),
    }
    script(tmp_path, credential(**pair))
    seen = both(recorder, write(entry("./plugin", tmp_path)))
    assert (seen.subject, seen.headers) == ("ann", [])


def test_plugin_is_told_about_the_cluster_as_kubectl_tells_it(
    recorder: Recorder, write: Write, tmp_path: Path
) -> None:
    script(tmp_path, credential(token="t"))
    cluster = {
        "tls-server-name": "localhost",
        "extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
        ],
    }
    both(recorder, write(entry("./plugin", tmp_path, provideClusterInfo=True), cluster))
    told = runs(tmp_path)
    assert told[0]["spec"]["cluster"]["config"] == {"audience": "x"}
    assert told == told[:1] * len(told)


def test_plugin_runs_once_for_many_threads_and_again_when_its_token_expires(
    write: Write, tmp_path: Path
) -> None:
    script(tmp_path, credential(token="t", expirationTimestamp=stamp(300)))
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    assert runs(tmp_path) == []  # connecting runs nothing
    threads = [threading.Thread(target=access.headers) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs(tmp_path)) == 1
    access._login._clock = lambda: time.time() + 280  # type: ignore[attr-defined]
    access.headers()
    assert len(runs(tmp_path)) == 1
    script(tmp_path, credential(token="t2", expirationTimestamp=stamp(900)))
    access._login._clock = lambda: time.time() + 291  # type: ignore[attr-defined]
    assert access.headers()["Authorization"] == "Bearer t2"
    assert len(runs(tmp_path)) == 2


def test_plugin_runs_again_after_a_refusal_but_once(write: Write, tmp_path: Path) -> None:
    script(tmp_path, credential(token="t"))
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    access.headers()
    access.reload()  # a request from before the run
    access.headers()
    assert len(runs(tmp_path)) == 1
    access._login._clock = lambda: time.time() + 2  # type: ignore[attr-defined]
    access.reload()
    access.headers()
    access.reload()
    access.headers()
    assert len(runs(tmp_path)) == 2


FAULTS = {
    "fails": (f"import sys; sys.stderr.write('{SECRET}'); sys.exit(3)", "ended with 3"),
    "noise": (f"print('{SECRET}')", "not an ExecCredential"),
    "nothing": (credential(), "neither a token"),
    "half": (credential(clientCertificateData=SECRET), "without its key"),
    "other version": (credential("v1beta1", token=SECRET), "another version"),
    "stale": (credential(token=SECRET, expirationTimestamp=stamp(-5)), "expired already"),
    "no time": (credential(token=SECRET, expirationTimestamp="soon"), "not a time"),
    "newline": (credential(token=f"{SECRET}\nX-Other: 1"), "characters that no token has"),
    "number": (credential(token=5), "not a text"),
    "endless": ("import sys\nwhile 1: sys.stdout.write('x' * 65536)", "more than 1024 KiB"),
    "not a pem": (
        credential(clientCertificateData=SECRET, clientKeyData=SECRET),
        "cannot be used",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_plugin_faults_are_one_line_without_its_output_and_never_anonymous(
    recorder: Recorder,
    write: Write,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fault: str,
) -> None:
    text, expected = FAULTS[fault]
    script(tmp_path, text)
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    with caplog.at_level(logging.DEBUG), pytest.raises(Unauthenticated) as caught:
        ask(access)
    said = str(caught.value)
    assert expected in said
    assert "\n" not in said
    assert SECRET not in said + repr(caught.value) + caplog.text + repr(access.__dict__)
    assert recorder.seen == []


def test_plugin_that_is_missing_or_cannot_start(write: Write, tmp_path: Path) -> None:
    access = connect(environ=environ(write(entry("no-such-plugin", tmp_path))))
    with pytest.raises(Unauthenticated, match="not installed"):
        access.headers()
    script(tmp_path, "").chmod(0o644)
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    with pytest.raises(Unauthenticated, match="could not be started"):
        access.headers()


def test_plugin_that_floods_its_errors_still_works(write: Write, tmp_path: Path) -> None:
    flood = "import sys; sys.stderr.write('e' * 3_000_000); sys.stderr.flush()\n"
    script(tmp_path, flood + credential(token="t"))
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    assert access.headers()["Authorization"] == "Bearer t"


def test_plugin_that_hangs_is_ended_with_its_children(write: Write, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script(
        tmp_path,
        "import subprocess, time, os\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n",
    )
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    access._login._seconds = 0.5  # type: ignore[attr-defined]
    started = time.monotonic()
    with pytest.raises(Unauthenticated, match=r"did not end within 0\.5 s"):
        access.headers()
    with pytest.raises(Unauthenticated, match=r"did not end within 0\.5 s"):
        access.headers()  # shared: nobody waits for a second run right after
    assert time.monotonic() - started < 5
    if pid.exists():
        assert _gone(int(pid.read_text()))


def _gone(pid: int) -> bool:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True).stdout
        if not state.strip() or state.strip().startswith(b"Z"):
            return True
        time.sleep(0.05)
    return False


def test_plugin_whose_child_keeps_the_pipe_is_not_waited_for(write: Write, tmp_path: Path) -> None:
    lingering = "import subprocess; subprocess.Popen(['sleep', '8'])\n"
    script(tmp_path, lingering + credential(token="t"))
    access = connect(environ=environ(write(entry("./plugin", tmp_path))))
    started = time.monotonic()
    assert access.headers()["Authorization"] == "Bearer t"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1"),
        ({"interactiveMode": "Always"}, "terminal"),
        ({"command": None}, "no command"),
        ({"args": [1]}, "not texts"),
        ({"env": ["A=b"]}, "not a list"),
    ],
)
def test_plugin_entries_that_cannot_work(
    write: Write, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    user = entry("plugin", tmp_path)
    user["exec"].update(change)
    with pytest.raises(BadInput, match=words):
        connect(environ=environ(write(user)))
