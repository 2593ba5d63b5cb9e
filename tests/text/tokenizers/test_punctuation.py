from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.tokenizers.punctuation import normalise_punctuation, places_of_punctuation

pytest.importorskip("sacremoses")

MARKS = st.text(st.sampled_from("aB1 ,.\"'`„“–—´‘’‚…«»\u00a0%:;?!()。．，º\r\u200b\n\t"), max_size=25)


@pytest.mark.parametrize("language", ["en", "de", "cs"])
@given(line=MARKS)
def test_every_character_has_a_place_in_order(language: str, line: str) -> None:
    text, places = normalise_punctuation(line, language), places_of_punctuation(line, language)
    assert len(places) == len(text)
    reached = (0, 0)
    for character, place in zip(text, places, strict=True):
        assert 0 <= place[0] <= place[1] <= len(line)
        assert place >= reached
        assert place[1] >= reached[1]
        reached = place
        if character.isalnum() and character.isascii():
            assert line[place[0] : place[1]] == character


def test_replaced_characters_have_the_place_of_what_they_replace() -> None:
    line = "Er sagte: „Hallo“, und … 10\u00a0%."
    text, places = normalise_punctuation(line, "de"), places_of_punctuation(line, "de")
    shown = [(character, line[a:b]) for character, (a, b) in zip(text, places, strict=True)]
    assert ('"', "„") in shown
    assert ('"', "“") in shown
    assert shown.count((".", "…")) == 3
    assert shown[-2:] == [("%", "%"), (".", ".")]
    assert shown[-3] == ("0", "0")
