"""The cluster's own certificate authority, and the certificates it signs."""

from __future__ import annotations

from pathlib import Path

from testcluster.run import run

DAYS = "30"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def create(folder: Path, addresses: list[str]) -> None:
    """Write the authority, the API server's two certificates and the key of service accounts.

    Parameters
    ----------
    folder : pathlib.Path
        Gets ca, server and kubelet-client, each as .crt and .key, and accounts.key.
    addresses : list of str
        IP addresses that the server's certificate has to cover.
    """
    folder.mkdir(mode=0o700)
    _authority(folder)
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    listed = [*(f"DNS:{name}" for name in names), *(f"IP:{address}" for address in addresses)]
    server = f"extendedKeyUsage=serverAuth\nsubjectAltName={','.join(listed)}\n"
    _sign(folder, "server", "/CN=kube-apiserver", server)
    client = "extendedKeyUsage=clientAuth\n"
    _sign(folder, "kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", client)
    run("openssl", "genrsa", "-out", str(folder / "accounts.key"), "2048")


def _authority(folder: Path) -> None:
    command = ["openssl", "req", "-x509", *KEY, "-days", DAYS, "-subj", "/CN=test-cluster-ca"]
    command += ["-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"]
    run(*command, "-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt"))


def _sign(folder: Path, name: str, subject: str, extensions: str) -> None:
    """Write a key and a certificate as strict verifiers want it."""
    request, key, settings = (folder / f"{name}{end}" for end in (".csr", ".key", ".cnf"))
    run("openssl", "req", "-new", *KEY, "-subj", subject, "-keyout", str(key), "-out", str(request))
    common = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
    common += "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
    settings.write_text(common + extensions, encoding="utf-8")
    command = ["openssl", "x509", "-req", "-in", str(request), "-days", DAYS, "-CAcreateserial"]
    command += ["-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key")]
    run(*command, "-extfile", str(settings), "-out", str(folder / f"{name}.crt"))
