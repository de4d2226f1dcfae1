"""Traits: every one has help, bad values are refused, and the config follows them."""

from __future__ import annotations

import dataclasses

import pytest
from traitlets import TraitError

from jupyter_elastic.engine_choice import make_engines
from jupyter_elastic.errors import BadInput
from jupyter_elastic.manager import ManagerConfig
from jupyter_elastic.traits import ElasticTraits, owner


def test_every_trait_has_help_and_is_configurable():
    own = ElasticTraits.class_own_traits()
    assert own
    for name, trait in own.items():
        assert trait.metadata.get("config"), name
        assert trait.help.endswith("."), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engines", []),
        ("engines", ["moon"]),
        ("max_size", 0),
        ("max_size", "8"),
        ("form_min_size", 0),
        ("drain_grace", -1.0),
        ("release_policy", "maybe"),
        ("idle_release", 0.0),
        ("base_folder", "relative"),
        ("shared_folder", "etc/mpi"),
        ("events_per_second", 0.0),
        ("max_clusters_per_user", -1),
    ],
)
def test_bad_values(name, value):
    with pytest.raises(TraitError):
        ElasticTraits(**{name: value})


def test_default_engine_must_be_one_of_the_engines():
    with pytest.raises(TraitError):
        ElasticTraits(default_engine="fake").manager_config("/", "1")


def test_config_follows_the_traits():
    traits = ElasticTraits(engines=["fake", "local"], max_size=4, shared_folder="")
    config = traits.manager_config("/root", "1.2")
    assert (config.engines, config.default_engine) == (("fake", "local"), "fake")
    assert (config.max_size, config.root_folder, config.version) == (4, "/root", "1.2")
    names = {field.name for field in dataclasses.fields(ManagerConfig)}
    assert set(ElasticTraits.class_own_traits()) <= names


def test_owner_is_the_servers_user_not_the_browsers(monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    assert owner()
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    assert owner() == "ada"


def test_engines_by_name():
    engines = make_engines(ManagerConfig(engines=("local", "fake"), default_engine="local"))
    assert list(engines) == ["local", "fake"]
    # Nothing is connected and nothing heavy imported before it is used.
    assert list(make_engines(ManagerConfig(engines=("kubernetes",)))) == ["kubernetes"]
    with pytest.raises(BadInput, match="no engine 'moon'"):
        make_engines(ManagerConfig(engines=("moon",)))
