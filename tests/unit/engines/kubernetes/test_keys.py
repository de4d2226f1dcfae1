from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jupyter_elastic.engines.kubernetes import keys


def test_a_pair_belongs_together() -> None:
    pair = keys.generate().client
    loaded = serialization.load_ssh_private_key(pair.private, password=None)
    assert isinstance(loaded, Ed25519PrivateKey)
    public = loaded.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    assert public.decode() == pair.public
    assert pair.public.startswith("ssh-ed25519 ")
    assert "\n" not in pair.public


def test_every_key_is_another_one() -> None:
    first, second = keys.generate(), keys.generate()
    found = {first.client.public, first.host.public, second.client.public, second.host.public}
    assert len(found) == 4


def test_the_files_name_the_right_halves() -> None:
    made = keys.generate()
    assert made.authorized_keys() == f"restrict,pty {made.client.public}\n"
    assert made.known_hosts("tthvd-1") == f"tthvd-1 {made.host.public}\n"


def test_the_private_half_is_not_shown() -> None:
    made = keys.generate()
    assert "PRIVATE" not in repr(made)
    assert made.client.private.splitlines()[1].decode() not in repr(made)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_openssh_reads_the_key(tmp_path: Path) -> None:
    pair = keys.generate().client
    path = tmp_path / "key"
    path.write_bytes(pair.private)
    path.chmod(0o600)
    done = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[:2] == pair.public.split()[:2]


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys\n"
        "from jupyter_elastic.engines.kubernetes import facts, keys, launcher, validation, workers\n"
        "print([one for one in ('cryptography', 'kubernetes') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
