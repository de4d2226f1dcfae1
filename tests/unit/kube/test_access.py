"""The service account of a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_elastic.keeper.kube.access import Access, in_cluster
from jupyter_elastic.keeper.kube.calls import PODS, Api
from jupyter_elastic.keeper.kube.errors import Unauthenticated

from ...fakes.kube import FakeKube
from .conftest import pod

HERE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("one\n")
    (tmp_path / "namespace").write_text("team\n")
    return tmp_path


@pytest.mark.parametrize(
    ("environ", "server"),
    [
        (HERE, "https://10.0.0.1:6443"),
        ({"KUBERNETES_SERVICE_HOST": "fd00::1"}, "https://[fd00::1]:443"),
    ],
)
def test_address(folder: Path, environ: dict[str, str], server: str) -> None:
    access = in_cluster(environ, str(folder))
    assert (access.server, access.namespace) == (server, "team")
    assert (access.proxy, access.server_name) == (None, None)


def test_not_a_pod(folder: Path) -> None:
    with pytest.raises(LookupError, match="KUBERNETES_SERVICE_HOST"):
        in_cluster({}, str(folder))


@pytest.mark.parametrize("name", ["token", "namespace"])
def test_pod_without_an_account(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(LookupError, match=name):
        in_cluster(HERE, str(folder))


def test_token_is_read_each_time(folder: Path) -> None:
    access = in_cluster(HERE, str(folder))
    assert access.headers() == {"Authorization": "Bearer one"}
    (folder / "token").write_text("two")
    assert access.headers() == {"Authorization": "Bearer two"}


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", None])
def test_token_that_is_away_for_a_moment(folder: Path, content: bytes | None) -> None:
    access = in_cluster(HERE, str(folder))

    def leave() -> None:
        if content is None:
            (folder / "token").unlink()
        else:
            (folder / "token").write_bytes(content)

    leave()
    with pytest.raises(Unauthenticated, match="token"):
        access.headers()
    (folder / "token").write_text("one")
    access.headers()
    leave()
    assert access.headers() == {"Authorization": "Bearer one"}


def test_authority_that_cannot_be_read_sends_nothing(folder: Path) -> None:
    with (
        Api(in_cluster(HERE, str(folder))) as api,
        pytest.raises(Unauthenticated, match=r"ca\.crt"),
    ):
        api.get(PODS, "x")


def test_plain_access_has_no_tls_for_http() -> None:
    assert Access("http://x", "team").context() is None
    assert Access("https://x", "team").context() is not None
    assert Access("https://x", "team").headers() == {}


def test_rotation_while_calls_go_on(folder: Path, kube: FakeKube) -> None:
    access = in_cluster(HERE, str(folder))
    access.server = kube.url
    kube.put(PODS, pod("x"))
    kube.tokens = {"one"}
    with Api(access) as api:
        api.get(PODS, "x")
        kube.tokens = {"two"}
        (folder / "token").write_text("two")
        api.get(PODS, "x")
    assert len(kube.requests) == 2
