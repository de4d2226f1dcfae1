"""Ways to log in without a plugin, and kubeconfig files that cannot work."""

from __future__ import annotations

import base64
import json
import os
import ssl
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_elastic.engines.kubernetes.connection import (
    connect,
    contexts,
)
from jupyter_elastic.engines.kubernetes.login import IdTokenLogin
from jupyter_elastic.errors import BadInput
from jupyter_elastic.keeper.kube.errors import Unauthenticated

from .conftest import SECRET, Write, ask, both, encoded, environ
from .recorder import Certificates, Recorder


def id_token(seconds: float) -> str:
    """A token that ends so many seconds from now."""
    parts = [{"alg": "none"}, {"exp": time.time() + seconds}]
    coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*coded, "c2ln"])


def provider(token: str, name: str = "oidc") -> dict[str, Any]:
    """A user of the old kind."""
    config = {"id-token": token, "client-id": "x", "idp-issuer-url": "https://127.0.0.1:1"}
    return {"auth-provider": {"name": name, "config": config}}


def test_id_token_is_used_as_long_as_it_lasts(recorder: Recorder, write: Write) -> None:
    token = id_token(600)
    seen = both(recorder, write(provider(token)))
    assert seen.headers == [("authorization", f"Bearer {token}")]
    late = IdTokenLogin(token, clock=lambda: time.time() + 601)
    with pytest.raises(Unauthenticated, match="exec plugin"):
        late.authorization()


@pytest.mark.parametrize("token", [id_token(-1), "not.a.token", "", "a.e30.b"])
def test_id_token_that_cannot_be_used(recorder: Recorder, write: Write, token: str) -> None:
    with pytest.raises(Unauthenticated, match="exec plugin"):
        ask(connect(environ=environ(write(provider(token)))))
    assert recorder.seen == []


def test_other_providers_are_refused_with_advice(write: Write) -> None:
    with pytest.raises(BadInput, match="'gcp'") as caught:
        connect(environ=environ(write(provider("x", "gcp"))))
    assert "exec plugin" in caught.value.hint


def test_no_credentials_is_an_error_and_no_anonymous_request(
    recorder: Recorder, write: Write
) -> None:
    with pytest.raises(Unauthenticated, match="no credentials"):
        ask(connect(environ=environ(write({}))))
    with pytest.raises(Unauthenticated, match="no credentials"):
        ask(connect(environ=environ(write({"as": "root"}))))
    assert recorder.seen == []


def test_local_proxy_of_kubectl_needs_none_and_gets_none(write: Write) -> None:
    local = {"server": "http://127.0.0.1:8001", "certificate-authority-data": None}
    access = connect(environ=environ(write(cluster=local)))
    assert (access.context(), access.headers()) == (None, {})
    remote = {"server": "http://10.0.0.1:8001", "certificate-authority-data": None}
    with pytest.raises(BadInput, match="another machine"):
        connect(environ=environ(write(cluster=remote)))


def test_files_are_read_again(
    recorder: Recorder, write: Write, certificates: Certificates, tmp_path: Path
) -> None:
    token = tmp_path / "tok"
    token.write_text("one")
    names = {"ann": "ann", "client": "ann"}
    for kind in ("crt", "key"):
        (tmp_path / f"me.{kind}").write_text(certificates.read(f"{names['ann']}.{kind}"))
    user = {"tokenFile": "tok", "client-certificate": "me.crt", "client-key": "me.key"}
    access = connect(environ=environ(write(user)))
    ask(access)
    context = access.context()
    assert access.context() is context
    token.write_text("two")
    (tmp_path / "me.crt").write_text(certificates.read("bob.crt"))
    assert access.context() is context  # certificate and key are not of each other: half replaced
    (tmp_path / "me.key").write_text(certificates.read("bob.key"))
    ask(access)
    assert [(s.subject, s.headers[0][1]) for s in recorder.seen] == [
        ("ann", "Bearer one"),
        ("bob", "Bearer two"),
    ]
    token.unlink()
    assert access.headers() == {"Authorization": "Bearer two"}


def test_token_file_that_is_missing_empty_or_damaged(write: Write, tmp_path: Path) -> None:
    access = connect(environ=environ(write({"tokenFile": "tok"})))
    with pytest.raises(Unauthenticated, match="tok cannot be read"):
        access.headers()
    for content, words in ((b"", "is empty"), (b"\xff", "not text"), (b"a b", "characters")):
        (tmp_path / "tok").write_bytes(content)
        access = connect(environ=environ(write({"tokenFile": "tok"})))
        with pytest.raises(Unauthenticated, match=words):
            access.headers()


def test_private_key_is_on_disk_for_no_longer_than_it_takes(
    write: Write, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    modes = []
    load = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, path: str, **options: Any) -> None:
        modes.append(stat.S_IMODE(os.stat(path).st_mode))
        load(self, path, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    user = {
        "client-certificate-data": encoded(certificates.read("ann.crt")),
        "client-key-data": encoded(certificates.read("ann.key")),
    }
    connect(environ=environ(write(user))).context()
    assert modes == [0o600]
    assert list(folder.iterdir()) == []


# -- bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"users: [{SECRET}", "not YAML from line"),
        (f"- {SECRET}", "not a kubeconfig"),
        (SECRET, "not a kubeconfig"),
        (f"contexts: {{a: {SECRET}}}", "not a kubeconfig"),
        (f"users: [{{user: {SECRET}}}]", "not a kubeconfig"),
        (f"users: [{{name: a, user: {SECRET}}}]", "not a kubeconfig"),
        ("current-context: 5", "not a text"),
        ("# nothing", "not a kubeconfig"),
        ("apiVersion: v1", "No current context"),
    ],
)
def test_damaged_files_are_not_quoted(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(BadInput, match=words) as caught:
        connect(environ=environ(path))
    assert SECRET not in json.dumps(caught.value.to_json())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_missing_things_are_named(write: Write, tmp_path: Path) -> None:
    none = {"PATH": "", "HOME": str(tmp_path)}
    assert contexts(none) == []
    with pytest.raises(BadInput, match=r"no kubeconfig: looked for .*/\.kube/config"):
        connect(environ=none)
    with pytest.raises(BadInput, match="no kubeconfig /nowhere"):
        connect(environ=none, kubeconfig="/nowhere")
    with pytest.raises(BadInput, match="no context 'x'") as caught:
        connect(environ=environ(write()), context="x")
    assert caught.value.hint == "Known: c."
    with pytest.raises(BadInput, match="cluster of context 'c'"):
        connect(environ=environ(write(context={"cluster": "other"})))
    with pytest.raises(BadInput, match="user of context 'c'"):
        connect(environ=environ(write(context={"user": "other"})))
    with pytest.raises(BadInput, match="not the name of a namespace"):
        connect(environ=environ(write()), namespace="Team A")


@pytest.mark.parametrize(
    ("user", "cluster", "words"),
    [
        ({"token": 5}, {}, "'token' in the kubeconfig is not a text"),
        ({"client-certificate": "none.crt", "client-key": "none.key"}, {}, "none.crt"),
        ({"client-certificate-data": "!"}, {}, "not base64"),
        ({"client-certificate-data": "YQ=="}, {}, "without its key"),
        ({"client-certificate-data": "YQ==", "client-key-data": "YQ=="}, {}, "cannot be used"),
        ({"token": "t", "as-groups": ["g"]}, {}, "without as"),
        ({"token": "t", "as": "a\nX: b"}, {}, "control characters"),
        ({"token": "t"}, {"certificate-authority-data": "YQ=="}, "cannot be used"),
        ({"token": "t"}, {"insecure-skip-tls-verify": True}, "both a certificate authority"),
        ({"token": "t"}, {"insecure-skip-tls-verify": "yes"}, "neither true nor false"),
        ({"token": "t"}, {"server": None}, "not an https"),
        ({"token": "t"}, {"server": "https://h:99999"}, "not an https"),
        ({"token": "t"}, {"proxy-url": "socks5://127.0.0.1:1"}, "proxy"),
        ({"token": "t"}, {"proxy-url": "https://127.0.0.1:1"}, "proxy"),
    ],
)
def test_entries_that_cannot_work(
    write: Write, user: dict[str, Any], cluster: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        connect(environ=environ(write(user, cluster)))


def test_key_with_a_password_asks_nobody(
    write: Write, certificates: Certificates, tmp_path: Path
) -> None:
    key = tmp_path / "locked.key"
    words = ["openssl", "pkcs8", "-topk8", "-in", str(certificates.folder / "ann.key")]
    subprocess.run(
        [*words, "-out", str(key), "-passout", "pass:word"], check=True, capture_output=True
    )
    certificate = str(certificates.folder / "ann.crt")
    with pytest.raises(BadInput, match="password"):
        connect(environ=environ(write({"client-certificate": certificate, "client-key": str(key)})))
