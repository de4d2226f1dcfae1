"""Kubeconfig and pod account against a server that notes who asks, with kubectl as the judge."""

from __future__ import annotations

import logging
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_elastic.engines.kubernetes.connection import (
    ContextOption,
    connect,
    contexts,
    has_account,
)
from jupyter_elastic.engines.kubernetes.proxies import environment_proxy
from jupyter_elastic.errors import BadInput

from .conftest import Write, ask, both, encoded, environ
from .recorder import Certificates, Proxy, Recorder, serving


def test_token(recorder: Recorder, write: Write) -> None:
    seen = both(recorder, write({"token": "tok-9"}))
    assert seen.headers == [("authorization", "Bearer tok-9")]
    assert seen.subject is None


def test_a_new_token_in_the_kubeconfig_is_taken_after_a_refusal(
    write: Write, certificates: Certificates
) -> None:
    path = write({"token": "old"})
    access = connect(kubeconfig=str(path), environ={})
    write({"token": "new"})
    assert access.headers() == {"Authorization": "Bearer old"}, "not read while it serves"
    access.reload()
    assert access.headers() == {"Authorization": "Bearer new"}
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    access.reload()
    assert access.headers() == {"Authorization": "Bearer new"}, "half written"
    write({"client-certificate-data": encoded(certificates.read("ann.crt"))})
    access.reload()
    assert access.headers() == {"Authorization": "Bearer new"}, "a certificate without its key"
    write({"username": "ann", "password": "pa:ss"})
    access.reload()
    assert access.headers() == {"Authorization": "Basic " + encoded("ann:pa:ss")}


def test_password(recorder: Recorder, write: Write) -> None:
    seen = both(recorder, write({"username": "ann", "password": "pa:ss"}))
    assert seen.headers == [("authorization", "Basic " + encoded("ann:pa:ss"))]


def test_token_file_is_relative_and_wins_over_a_token(
    recorder: Recorder, write: Write, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "tok").write_text("from-file\n")
    path = write({"token": "old", "tokenFile": "tok"}, name="sub/config")
    assert both(recorder, path).headers == [("authorization", "Bearer from-file")]


def test_client_certificate_as_data(
    recorder: Recorder, write: Write, certificates: Certificates
) -> None:
    user = {
        "client-certificate-data": encoded(certificates.read("ann.crt")),
        "client-key-data": encoded(certificates.read("ann.key")),
    }
    seen = both(recorder, write(user))
    assert seen.subject == "ann"
    assert seen.headers == []


def test_client_certificate_and_authority_as_files(
    recorder: Recorder, write: Write, certificates: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("bob.crt", "bob.key", "ca.crt"):
        (tmp_path / "sub" / name).write_text(certificates.read(name))
    path = write(
        {"client-certificate": "bob.crt", "client-key": "./bob.key", "token": "also"},
        {"certificate-authority-data": None, "certificate-authority": "ca.crt"},
        name="sub/config",
    )
    seen = both(recorder, path)
    assert seen.subject == "bob"
    assert seen.headers == [("authorization", "Bearer also")]


def test_empty_data_does_not_hide_a_file(
    recorder: Recorder, write: Write, certificates: Certificates
) -> None:
    authority = str(certificates.authority)
    path = write(cluster={"certificate-authority-data": "", "certificate-authority": authority})
    both(recorder, path)


def test_impersonation_with_groups_and_extra(recorder: Recorder, write: Write) -> None:
    user = {
        "token": "t",
        "as": "åsa",
        "as-uid": "u-1",
        "as-groups": ["dev", "ops", "all"],
        "as-user-extra": {"Scopes/x": ["one", "two"]},
    }
    seen = both(recorder, write(user))
    groups = [value for name, value in seen.headers if name == "impersonate-group"]
    assert groups == ["all", "dev", "ops"]
    extra = [value for name, value in seen.headers if name == "impersonate-extra-scopes%2fx"]
    assert extra == ["one", "two"]
    assert ("impersonate-uid", "u-1") in seen.headers
    assert len(seen.headers) == 8


def test_name_in_the_servers_certificate(write: Write, certificates: Certificates) -> None:
    recorder = Recorder(certificates, "elsewhere")
    with serving(recorder) as address:
        path = write(cluster={"server": address, "tls-server-name": "api.internal"})
        assert both(recorder, path).sni == "api.internal"
        wrong = write(cluster={"server": address})
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(connect(environ=environ(wrong)))


def test_unchecked_server_is_said_loudly(
    recorder: Recorder, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(cluster={"certificate-authority-data": None, "insecure-skip-tls-verify": True})
    with caplog.at_level(logging.WARNING):
        both(recorder, path)
    assert [r for r in caplog.records if "NOT CHECKED" in r.message and "'c'" in r.message]


def test_unknown_authority_is_refused(write: Write, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other")
    path = write(cluster={"certificate-authority-data": encoded(other.read("ca.crt"))})
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(connect(environ=environ(path)))


@pytest.mark.parametrize("by", ["proxy-url", "environment"])
def test_proxy(recorder: Recorder, write: Write, proxy: Proxy, api: str, by: str) -> None:
    address = f"http://127.0.0.1:{proxy.port}"
    if by == "proxy-url":
        both(recorder, write(cluster={"proxy-url": address}))
        assert proxy.asked[0][0] == api.removeprefix("https://")
        return
    # An address of this machine is never asked for through a proxy of the environment.
    variables = {"HTTPS_PROXY": address}
    assert connect(environ=environ(write(), **variables)).proxy is None
    elsewhere = write(cluster={"server": "https://10.0.0.1:6443"})
    assert connect(environ=environ(elsewhere, **variables)).proxy == address


@pytest.mark.parametrize(
    ("rules", "server", "through"),
    [
        ("", "https://10.96.0.1:443", True),
        ("10.96.0.0/12", "https://10.96.0.1", False),
        ("10.96.0.1", "https://10.96.0.1:6443", False),
        ("10.96.0.1:443", "https://10.96.0.1:6443", True),
        ("10.96.0.1:443", "https://10.96.0.1", False),
        ("example.org", "https://api.example.org", False),
        ("example.org", "https://notexample.org", True),
        (".example.org", "https://example.org", True),
        (" .example.org ,other", "https://api.example.org", False),
        ("*.example.org", "https://api.example.org", False),
        ("*", "https://anything", False),
        ("fd00::/8", "https://[fd00::1]:6443", False),
        ("[fd00::1]:6443", "https://[fd00::1]:6443", False),
        ("fd00::1", "https://[fd00::2]:6443", True),
        ("10.0.0.0/nonsense", "https://10.0.0.1", True),
    ],
)
def test_no_proxy(rules: str, server: str, through: bool) -> None:
    found = environment_proxy(server, {"https_proxy": "p:3128", "no_proxy": rules})
    assert found == ("http://p:3128" if through else None)


def test_files_are_merged_and_the_first_wins(
    recorder: Recorder, write: Write, tmp_path: Path, api: str
) -> None:
    first = write({"token": "one"}, name="first", **{"current-context": None})
    write({"token": "two"}, name="second", **{"current-context": "d"}, label="d")
    write({"token": "three"}, name="third", label="c")
    (tmp_path / "empty").write_text("")
    listed = os.pathsep.join(
        str(tmp_path / name) for name in ("none", "empty", "first", "second", "third")
    )
    assert first.exists()
    assert both(recorder, listed).headers == [("authorization", "Bearer two")]
    assert contexts(environ(listed)) == [
        ContextOption("c", "c", "default", False),
        ContextOption("d", "d", "default", True),
    ]
    recorder.seen.clear()
    assert both(recorder, listed, context="c").headers == [("authorization", "Bearer one")]


def test_namespaces(write: Write) -> None:
    path = write(context={"namespace": "team-a"})
    assert connect(environ=environ(path)).namespace == "team-a"
    assert connect(environ=environ(path), namespace="team-b").namespace == "team-b"
    assert connect(environ=environ(write())).namespace == "default"


def test_one_file_by_its_path(write: Write, tmp_path: Path) -> None:
    path = write(context={"namespace": "by-path"})
    assert connect(environ=environ("/nowhere"), kubeconfig=str(path)).namespace == "by-path"


# -- the account of a pod ----------------------------------------------------------------------------


def account(folder: Path, api: str, certificates: Certificates) -> dict[str, str]:
    """Lay out what a pod finds, and return its variables."""
    folder.mkdir()
    (folder / "token").write_text("pod-token")
    (folder / "ca.crt").write_text(certificates.read("ca.crt"))
    (folder / "namespace").write_text("team-a")
    host, _, port = api.removeprefix("https://").partition(":")
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


def test_account_of_a_pod(
    recorder: Recorder, api: str, certificates: Certificates, tmp_path: Path, write: Write
) -> None:
    folder = tmp_path / "account"
    variables = {**account(folder, api, certificates), **environ(write())}
    assert has_account(variables, str(folder))
    access = connect(environ=variables, folder=str(folder))
    assert access.namespace == "team-a"
    ask(access)
    (folder / "token").write_text("rotated")
    ask(access)
    assert [seen.headers for seen in recorder.seen] == [
        [("authorization", "Bearer pod-token")],
        [("authorization", "Bearer rotated")],
    ]
    # What is chosen by name wins over the account.
    chosen = connect(environ=variables, folder=str(folder), context="c")
    assert chosen.headers() == {"Authorization": "Bearer tok-1"}
    assert connect(environ=variables, folder=str(folder), in_cluster=False).namespace == "default"
    assert connect(environ=variables, folder=str(folder), namespace="b").namespace == "b"


def test_account_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no account of a pod"):
        connect(environ={}, folder=str(tmp_path), in_cluster=True)


def test_the_large_package_is_imported_late() -> None:
    code = (
        "import sys, jupyter_elastic.engines.kubernetes.connection as c\n"
        "assert not any(n.split('.')[0] == 'kubernetes' for n in sys.modules)\n"
        "print(c.contexts({'KUBECONFIG': '/nowhere'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
