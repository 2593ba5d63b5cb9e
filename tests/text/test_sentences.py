"""Sentences: nothing lost, abbreviations and numbers whole, protected spans whole."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text import sentences as module
from dragoman.text.sentences import LONGEST, split_sentences


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "One dog. Two dogs!  Three?", ["One dog. ", "Two dogs!  ", "Three?"]),
        ("en", "Dr. Smith is here. He waits.", ["Dr. Smith is here. ", "He waits."]),
        ("en", "1. Open it. 2. Close it.", ["1. Open it. ", "2. Close it."]),
        ("en", "See foo.bar and baz.qux. Then go.", ["See foo.bar and baz.qux. ", "Then go."]),
        ("en", "A line\nand another", ["A line\n", "and another"]),
        ("en", "Windows\r\n\r\nlines", ["Windows\r\n\r\n", "lines"]),
        ("en", "A page\f\u2028and another", ["A page\f\u2028", "and another"]),
        ("de-AT", "Am 3. Oktober z. B. war er da. Gut.", ["Am 3. Oktober z. B. war er da. ", "Gut."]),
        ("zh_Hans", "你好。今天很好！", ["你好。", "今天很好！"]),
        ("xx", "No such language. But two.", ["No such language. ", "But two."]),
        ("en", "  ", ["  "]),
        ("en", "", []),
    ],
)
def test_texts_end_where_sentences_do(language: str, text: str, sentences: list[str]) -> None:
    assert split_sentences(text, language) == sentences


def test_no_sentence_ends_inside_a_protected_span() -> None:
    text = "Use here. There now. Go."
    assert split_sentences(text, "en", kept=[(4, 15)]) == ["Use here. There now. ", "Go."]
    assert len(split_sentences(text, "en")) > 2


@pytest.mark.parametrize("language", ["en", "de", "fr", "ru", "ja", "zh"])
@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u2009", "\u2003", "\u3000", "\x85", "\u2028"])
def test_wide_spaces_before_marks(language: str, space: str) -> None:
    text = f"The man eats vitamin C{space}. Two{space}! Three."
    pieces = split_sentences(text, language)
    assert "".join(pieces) == text
    assert pieces[-1] == "Three."  # it was cut


def test_a_text_that_sentencex_fails_for_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def failing(*_: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(module, "_sentencex", lambda: failing)
    assert split_sentences("One. Two.\nThree.", "en") == ["One. Two.\n", "Three."]


def test_long_sentences_are_cut_at_clauses_else_between_words() -> None:
    clauses = "one two, three four; five six"
    assert split_sentences(clauses, "en", longest=22) == ["one two, three four; ", "five six"]
    assert split_sentences("one two three four", "en", longest=9) == ["one two ", "three ", "four"]
    assert split_sentences(clauses, "en", longest=None) == [clauses]


def test_a_long_word_is_cut_but_not_a_protected_one() -> None:
    assert split_sentences("x" * 25, "en", longest=10) == ["x" * 10, "x" * 10, "x" * 5]
    assert split_sentences("x" * 25, "en", longest=10, kept=[(0, 25)]) == ["x" * 25]


@given(st.text(alphabet='aA .!?\n\r。\ud800é1)"“'), st.integers(1, 20))
def test_nothing_is_lost(text: str, longest: int) -> None:
    assert "".join(split_sentences(text, "en", longest=longest)) == text


def test_the_time_grows_with_the_text_and_not_with_its_square() -> None:
    began = time.process_time()
    assert len(split_sentences("a" * 1_600_000, "xx")) == 1_600_000 // LONGEST
    assert time.process_time() - began < 10  # about one second; 30 with the square


def test_a_cut_is_only_made_within_a_word_if_no_space_is_left() -> None:
    assert split_sentences("a" * 25 + " b", "xx", longest=10) == ["a" * 25 + " b"]
    assert split_sentences("a " + "b" * 25, "xx", longest=10) == ["a " + "b" * 25]
    assert split_sentences("a" * 25 + " ", "xx", longest=10) == ["a" * 10, "a" * 10, "aaaaa "]


@pytest.mark.parametrize("unit", ["The dog sleeps. ", "`", "<?", "word "])
def test_a_long_line_is_read_in_parts(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of sentencex grows with the square of some lines, in which no other thread runs."""
    segment, sizes = module._sentencex(), []

    def watched(language: str, text: str) -> list[str]:
        sizes.append(len(text))
        return segment(language, text)

    monkeypatch.setattr(module, "_sentencex", lambda: watched)
    text = unit * (50_000 // len(unit))
    found = split_sentences(text, "en", longest=None)

    assert "".join(found) == text
    assert found == [unit] * len(found) if "." in unit else [text]
    assert max(sizes) <= 4000
