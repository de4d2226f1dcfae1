"""Names: valid for every text, never the same for two."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_elastic import naming
from jupyter_elastic.errors import BadInput

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
TEXTS = st.text(st.characters(), max_size=300)


@given(TEXTS)
@example("")
@example("tthvd")
@example("-")
@example("a--b")
@example("1st")
@example("Ä" * 300)
@example("\ud800")
@example("x" * 33)
@example("x" * 34)
@example("-" * 40)
def test_ids_are_labels_with_room_for_suffixes(text: str) -> None:
    made = naming.cluster_id(text, naming.nonce())
    assert LABEL.fullmatch(made)
    assert len(made) <= naming.ID_LIMIT
    for name in (naming.launcher_name(text), naming.worker_name(text, made, 3)):
        assert LABEL.fullmatch(name)
        assert len(name) <= 63


@given(TEXTS, TEXTS)
@example("Ab", "ab")
@example("a b", "a-b")
@example("ä", "ö")
@example("x" * 33, "x" * 34)
def test_two_texts_have_two_slugs(one: str, other: str) -> None:
    assert (naming.slug(one) == naming.slug(other)) == (one == other)


@given(TEXTS)
def test_no_text_takes_the_slug_of_an_altered_one(text: str) -> None:
    slug = naming.slug(text)
    if slug != text:
        # Somebody may type what was made for another text; it must become something else.
        assert naming.slug(slug) != slug


def test_a_name_that_fits_stays_readable() -> None:
    assert naming.slug("tthvd") == "tthvd"
    assert naming.launcher_name("tthvd") == "tthvd-0"
    assert naming.cluster_id("my-run-2", "abc234") == "my-run-2-abc234"


def test_workers_of_a_cluster_never_share_a_name() -> None:
    names = {naming.worker_name("tthvd", "tthvd-abc234", number) for number in range(2, 20_000)}
    assert len(names) == 20_000 - 2
    assert all(re.fullmatch(rf"tthvd-[{naming.ALPHABET}]{{5}}", name) for name in names)


def test_the_suffix_visits_every_value_once() -> None:
    space = len(naming.ALPHABET) ** naming.SUFFIX_LENGTH
    assert naming._STEP % 3 != 0  # 27 ** 5 has no other prime
    assert space == 27**5


def test_nonces_differ() -> None:
    assert len({naming.nonce() for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  tthvd ", "tthvd"),
        ("ü" * 64, "ü" * 64),
        ("👩\u200d💻 run", "👩\u200d💻 run"),
        ("عنقود", "عنقود"),
    ],
)
def test_display_names_of_every_language_are_kept(text: str, kept: str) -> None:
    assert naming.check_name(text) == kept


@pytest.mark.parametrize(
    "value",
    ["", "   ", "x" * 65, "a\nb", "a\x00b", "a\u202eb", "\u200d", "\ud800", 3, None, True, ["a"]],
)
def test_bad_display_names_say_field_and_limit(value: object) -> None:
    with pytest.raises(BadInput) as caught:
        naming.check_name(value, "name")
    assert caught.value.detail == {"field": "name", "limit": 64}
