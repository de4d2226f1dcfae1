"""TLS: whom we trust, by which name, and what we show; with certificates made here."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from jupyter_elastic.keeper.kube.access import Access, in_cluster
from jupyter_elastic.keeper.kube.calls import PODS, Api
from jupyter_elastic.keeper.kube.errors import Unavailable
from jupyter_elastic.keeper.kube.reflector import Reflector

from ...fakes.kube import FakeKube
from ...fakes.proxy import ChaosProxy
from .conftest import FakeClock, eventually, names, pod


def openssl(*words: str, folder: Path) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path, name: str) -> None:
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"),
        folder=folder,
    )


def make_pair(folder: Path, name: str, authority: str, alt: str = "") -> None:
    openssl(
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"),
        folder=folder,
    )
    (folder / "ext").write_text(f"subjectAltName={alt}\n" if alt else "basicConstraints=CA:FALSE\n")
    openssl(
        *("x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", f"{authority}.crt"),
        *(
            "-CAkey",
            f"{authority}.key",
            "-CAcreateserial",
            "-extfile",
            "ext",
            "-out",
            f"{name}.crt",
        ),
        folder=folder,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    make_authority(folder, "authority")
    make_authority(folder, "stranger")
    make_pair(folder, "server", "authority", "DNS:kubernetes.test,IP:127.0.0.1")
    make_pair(folder, "named", "authority", "DNS:kubernetes.test")
    make_pair(folder, "client", "authority")
    make_pair(folder, "other", "stranger")
    return folder


def server_context(made: Path, name: str = "server", *, clients: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / f"{name}.crt", made / f"{name}.key")
    if clients:
        context.load_verify_locations(made / "authority.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class PairAccess(Access):
    """Trusts an authority, and shows a pair that a reload may change."""

    def __init__(
        self, server: str, made: Path, authority: str = "authority", pair: str = ""
    ) -> None:
        super().__init__(server, "team")
        self._made = made
        self._authority = authority
        self.pair = self.next_pair = pair

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._made / f"{self._authority}.crt"))
        if self.pair:
            context.load_cert_chain(
                self._made / f"{self.pair}.crt", self._made / f"{self.pair}.key"
            )
        return context

    def reload(self) -> None:
        self.pair = self.next_pair


def test_everything_over_tls(made: Path) -> None:
    with FakeKube(context=server_context(made)) as kube:
        with Api(PairAccess(kube.url, made)) as api:
            api.create(PODS, pod("a"))
            reflector = Reflector(api, PODS)
            reflector.start()
            eventually(lambda: names(reflector) == ["a"] and reflector.health.state == "live")
            kube.put(PODS, pod("b"))
            eventually(lambda: names(reflector) == ["a", "b"])
            kube.cut(reset=False)
            kube.put(PODS, pod("c"))
            eventually(lambda: names(reflector) == ["a", "b", "c"])
            reflector.stop()
            assert not reflector._thread.is_alive()
            assert api.list(PODS)[0]


def test_connections_are_kept_over_tls(made: Path) -> None:
    with FakeKube(context=server_context(made)) as kube, ChaosProxy(kube.port) as proxy:
        kube.put(PODS, pod("a"))
        url = kube.url.replace(str(kube.port), str(proxy.port))
        with Api(PairAccess(url, made)) as api:
            for _ in range(10):
                api.get(PODS, "a")
        assert proxy.accepted == 1


def test_in_cluster(made: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "namespace").write_text("team")
    (tmp_path / "ca.crt").write_bytes((made / "authority.crt").read_bytes())
    with FakeKube(context=server_context(made)) as kube:
        kube.tokens = {"secret"}
        kube.put(PODS, pod("a"))
        environ = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(kube.port),
        }
        access = in_cluster(environ, str(tmp_path))
        with Api(access, sleep=lambda _: None) as api:
            api.get(PODS, "a")
            assert access.context() is access.context()
            # Another authority counts from the next connection on.
            (tmp_path / "ca.crt").write_bytes((made / "stranger.crt").read_bytes())
            kube.cut()
            with pytest.raises(Unavailable, match="not trusted"):
                eventually(lambda: not api.get(PODS, "a"))


def test_strangers_are_not_trusted(made: Path, clock: FakeClock) -> None:
    with FakeKube(context=server_context(made)) as kube:
        access = PairAccess(kube.url, made, "stranger")
        with Api(access, clock=clock, sleep=clock.sleep) as api:
            with pytest.raises(Unavailable, match=r"certificate of .* is not trusted") as caught:
                api.create(PODS, pod("a"))
        assert caught.value.maybe_done is False
        assert kube.requests == []


def test_name_of_the_server(made: Path, clock: FakeClock) -> None:
    with FakeKube(context=server_context(made, "named")) as kube:
        kube.put(PODS, pod("a"))
        access = PairAccess(kube.url, made)
        with Api(access, clock=clock, sleep=clock.sleep) as api:
            with pytest.raises(Unavailable, match="not trusted: IP address mismatch"):
                api.get(PODS, "a")
            access.server_name = "kubernetes.test"
            assert api.get(PODS, "a")
            access.server_name = "other.test"
            kube.cut()
            with pytest.raises(Unavailable, match="not trusted: Hostname mismatch"):
                eventually(lambda: not api.get(PODS, "a"))


@pytest.mark.parametrize(("pair", "good"), [("client", True), ("other", False), ("", False)])
def test_client_certificates(made: Path, clock: FakeClock, pair: str, good: bool) -> None:
    with FakeKube(context=server_context(made, clients=True)) as kube:
        kube.put(PODS, pod("a"))
        with Api(PairAccess(kube.url, made, pair=pair), sleep=clock.sleep) as api:
            if good:
                assert api.get(PODS, "a")
            else:
                with pytest.raises(Unavailable):
                    api.get(PODS, "a")
                assert kube.requests == []


def test_new_client_certificate_after_a_401(made: Path) -> None:
    with (
        FakeKube(context=server_context(made, clients=True)) as kube,
        ChaosProxy(kube.port) as proxy,
    ):
        kube.put(PODS, pod("a"))
        access = PairAccess(kube.url.replace(str(kube.port), str(proxy.port)), made, pair="client")
        with Api(access) as api:
            api.get(PODS, "a")
            kube.fail(status=401)
            api.get(PODS, "a")
        # The connection stood for the old certificate.
        assert proxy.accepted == 2


def test_plain_http_where_tls_is_spoken(made: Path, clock: FakeClock) -> None:
    with FakeKube() as kube:
        access = PairAccess(kube.url.replace("http:", "https:"), made)
        with Api(access, timeout=1, sleep=clock.sleep) as api:
            with pytest.raises(Unavailable):
                api.get(PODS, "a")
