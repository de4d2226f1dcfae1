"""What a person may set, and the environment a training gets."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_elastic.errors import BadInput, TooLarge
from jupyter_elastic.manager.environment import (
    Environments,
    check_names,
    is_refused,
    passable,
    values,
)
from jupyter_elastic.manager.options import _numbers, example_path, old_releases
from jupyter_elastic.manager.settings import check_arguments, no_control, resolve_script


@pytest.mark.parametrize(
    "name",
    [
        "JUPYTERHUB_API_TOKEN",
        "JUPYTER_TOKEN",
        "JPY_API_TOKEN",
        "jpy_session_name",
        "LD_PRELOAD",
        "PATH",
        "PYTHONPATH",
        "BASH_ENV",
        "CUDA_VISIBLE_DEVICES",
        "KUBECONFIG",
        "CONFIGPROXY_AUTH_TOKEN",
    ],
)
def test_refused_names(name):
    assert is_refused(name)
    with pytest.raises(BadInput, match="never passed"):
        check_names([name])
    assert values([name], {name: "x"}) == ()


@pytest.mark.parametrize("name", ["", "A B", "1A", "A=B", "A\n", "Ä", "A" * 129])
def test_names_that_are_none(name):
    with pytest.raises(BadInput):
        check_names([name])


def test_names():
    assert check_names(["HF_TOKEN", "WANDB_API_KEY", "HF_TOKEN"]) == ("HF_TOKEN", "WANDB_API_KEY")
    with pytest.raises(BadInput):
        check_names([f"N{n}" for n in range(51)])
    environment = {"HF_TOKEN": "x", "PATH": "/bin", "JPY_X": "y"}
    assert passable(environment) == ("HF_TOKEN",)
    assert values(("HF_TOKEN", "GONE"), environment) == (("HF_TOKEN", "x"),)


@pytest.mark.parametrize(
    "text", ["a\nb", "a\rb", "\x1b[31m", "a\x00", "\x7f", "\u2028", "\u202e", "\ud800", "\x85"]
)
def test_characters_that_act(text):
    with pytest.raises(BadInput):
        no_control(text, "script")


@given(st.text(max_size=40))
def test_arguments_survive_or_are_refused(text):
    try:
        words = check_arguments([text])
    except BadInput:
        return
    assert words == (text,)
    assert not any(ord(character) < 32 for character in text)


def test_arguments_as_a_line():
    assert check_arguments("--epochs 3 'a b'") == ("--epochs", "3", "a b")
    with pytest.raises(BadInput):
        check_arguments("'open")
    with pytest.raises(TooLarge):
        check_arguments(["x" * 1025])
    with pytest.raises(TooLarge):
        check_arguments(["x"] * 201)


def test_scripts(tmp_path):
    script = tmp_path / "tr ain.py"
    script.write_text("")
    assert resolve_script("tr ain.py", str(tmp_path)) == str(script)
    assert resolve_script(str(script), "/") == str(script)
    assert resolve_script(f"./x/../{script.name}", str(tmp_path)) == str(script)
    os.mkfifo(tmp_path / "pipe")
    for bad in ("missing.py", str(tmp_path), "a\nb", " ", "pipe"):
        with pytest.raises(BadInput) as caught:
            resolve_script(bad, str(tmp_path))
        assert caught.value.detail["field"] == "script"
    with pytest.raises(TooLarge):
        resolve_script("x" * 2000, "/")


class Specs:
    """A kernel spec manager."""

    def __init__(self, specs, asynchronous=False):
        self._specs = {name: {"spec": spec} for name, spec in specs.items()}
        self._asynchronous = asynchronous

    def get_all_specs(self):
        async def later():
            return self._specs

        return later() if self._asynchronous else self._specs


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_kernels(tmp_path, asynchronous):
    (tmp_path / "horovodrun").write_text("")
    (tmp_path / "horovodrun").chmod(0o755)
    specs = Specs(
        {
            "a": {"argv": ["python3", "-m", "x"], "language": "python", "display_name": "A"},
            "b": {"argv": [str(tmp_path / "python")], "language": "python"},
            "r": {"argv": ["/usr/bin/R"], "language": "R"},
            "odd": {"argv": ["uv", "run"], "language": "python"},
            "empty": {"argv": [], "language": "python"},
        },
        asynchronous,
    )
    environments = Environments(specs)
    assert [item.name for item in await environments.all()] == ["a", "b"]
    assert await environments.folder("b") == str(tmp_path)
    assert await environments.folder(None) is None
    assert await environments.default("horovodrun") == "b"
    assert await environments.default("nothing-of-this-name") is None
    with pytest.raises(BadInput) as caught:
        await environments.folder("r")
    assert caught.value.detail["kernels"] == ["a", "b"]
    assert await Environments(None).all() == ()


def test_old_releases_are_named(monkeypatch):
    versions = {"jupyterlab": "4.6.1", "jupyter_server": "2.21.0"}
    monkeypatch.setattr("jupyter_elastic.manager.options.version", versions.__getitem__)
    assert len(old_releases()) == 1
    assert "4.6.2" in old_releases()[0]
    assert _numbers("4.6.2rc1") == (4, 6, 2)
    assert _numbers("4.10.0") > (4, 6, 2)


def test_example_is_found_below_the_servers_folder(tmp_path):
    (tmp_path / "tensorflow2_mnist.py").write_text("")
    assert example_path(str(tmp_path)) == str(tmp_path / "tensorflow2_mnist.py")
