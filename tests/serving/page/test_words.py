"""Words of a translation, against tokens whose places and probabilities are written by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dragoman.serving.page.words import sentence_table
from dragoman.text.guidance import Match
from dragoman.translation.search.alignment import Alignment
from dragoman.translation.translation import Translation

SOURCE, TEXT = "A dog runs.", "Ein Hündchen läuft."
TARGET_SPANS = ((0, 3), (4, 8), (8, 12), (13, 18), (18, 19))  # Ein Hünd chen läuft .


def translation(**changes: Any) -> Translation:
    alignment = Alignment(
        SOURCE, TEXT, ((0, 1), (2, 5), (6, 10), (10, 11)), TARGET_SPANS, ((0, 0), (1, 1), (1, 2), (3, 4))
    )
    logps = tuple(math.log(p) for p in (0.9, 0.5, 0.8, 0.1, 1.0, 0.3))
    fields = {"alignment": alignment, "token_logp": logps, "match": None, "truncated": False, **changes}
    return Translation(source=SOURCE, text=TEXT, score=-1.0, tokens=("",) * 5, **fields)


def test_the_probability_of_a_word_is_that_of_its_tokens() -> None:
    table = sentence_table(SOURCE, TEXT, translation())

    words = [(TEXT[one["start"] : one["end"]], one["confidence"]) for one in table["words"]]
    assert words == [("Ein", 0.9), ("Hündchen", 0.4), ("läuft", 0.1), (".", 1.0)]
    assert [SOURCE[start:end] for start, end in table["source_words"]] == ["A", "dog", "runs", "."]
    assert table["links"] == [(0, 0), (1, 1), (3, 3)]
    assert (table["source"], table["text"], table["remembered"]) == (SOURCE, TEXT, False)
    assert sentence_table(SOURCE, TEXT, translation(truncated=True))["truncated"]


def test_bytes_of_a_character_belong_to_its_word() -> None:
    alignment = Alignment("Hi", "Haß!", ((0, 2),), ((0, 2), (2, 3), (2, 3), (3, 4)), ((0, 0),))
    logps = tuple(math.log(p) for p in (0.5, 0.5, 0.8, 0.9, 1.0))
    table = sentence_table("Hi", "Haß!", translation(alignment=alignment, token_logp=logps))

    assert table["words"] == [
        {"start": 0, "end": 3, "confidence": 0.2},
        {"start": 3, "end": 4, "confidence": 0.9},
    ]


@pytest.mark.parametrize(
    "known", [None, translation(alignment=None), translation(token_logp=())], ids=["pivot", "no", "memory"]
)
def test_without_probabilities_the_words_have_none(known: Translation | None) -> None:
    table = sentence_table(SOURCE, TEXT, known)

    words = [(TEXT[one["start"] : one["end"]], one["confidence"]) for one in table["words"]]
    assert words == [("Ein", None), ("Hündchen", None), ("läuft", None), (".", None)]
    assert [SOURCE[start:end] for start, end in table["source_words"]] == ["A", "dog", "runs", "."]


def test_what_the_memory_has_is_remembered() -> None:
    assert sentence_table(SOURCE, TEXT, None, Match(SOURCE, TEXT, 100.0))["remembered"]
    assert not sentence_table(SOURCE, TEXT, translation(), Match("A dog ran.", TEXT, 80.0))["remembered"]
