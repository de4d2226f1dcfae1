"""The page of settings names every setting there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from jupyter_elastic.traits import ElasticTraits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def test_every_setting_is_on_the_page_with_its_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` +\| .*? \| (.*?) +\|$", PAGE.read_text(), re.MULTILINE))
    traits = ElasticTraits.class_traits(config=True)
    assert rows == {name: " ".join(trait.help.split()) for name, trait in traits.items()}
