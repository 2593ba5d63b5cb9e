"""Words, the spaces before them, and what becomes of those never seen."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.sentences import DELICATE, SOURCES, TARGETS

from dragoman.base.errors import DataError
from dragoman.text.tokenizers.words import Words, split, train


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        (" ", [" ", " "]),
        ("Don't  go!", [" Don", "'", "t", " ", " go", "!"]),
        ("(7,50 €)", [" (", "7", ",", "50", " €", ")"]),
        ("snake_case größer", [" snake_case", " größer"]),
        ("你好啊。Ja", [" 你", "好", "啊", "。", "Ja"]),
        ("カタカナ x", [" カ", "タ", "カ", "ナ", " x"]),
        ("नमस्ते दुनिया", [" नमस्ते", " दुनिया"]),  # vowel signs belong to their word
        ("مرحباً بك", [" مرحباً", " بك"]),
        ("می‌خواهم", [" می‌خواهم"]),  # so does the zero-width non-joiner
        ("e\u0301te\u0301", [" e\u0301te\u0301"]),
        ("안녕 세상", [" 안녕", " 세상"]),
        ("a\tb\u00a0c", [" a", "\t", "b", "\u00a0", "c"]),
    ],
)
def test_where_words_begin_and_end(line: str, words: list[str]) -> None:
    assert split(line) == words


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_character_is_lost(line: str) -> None:
    assert "".join(split(line)).removeprefix(" ") == line


@pytest.mark.parametrize("text", [*DELICATE, *SOURCES, "a▁b"])
def test_known_words_come_back(text: str) -> None:
    vocabulary = train([text, "another"], vocab_size=200)

    assert vocabulary.decode(vocabulary.encode([text])[0]) == text


def test_words_unknown_are_shown_as_such() -> None:
    vocabulary = train(["the baker opens the shop"], vocab_size=100)
    [ids] = vocabulary.encode(["the butcher opens the shop"])

    assert ids.count(3) == 1
    assert vocabulary.decode(ids) == "the ⁇ opens the shop"
    assert vocabulary.pieces(ids) == ["▁the", "<unk>", "▁opens", "▁the", "▁shop"]


def test_the_most_frequent_words_are_kept_and_ties_are_settled() -> None:
    lines = ["b a c", "b d", "b a"]
    vocabulary = train(lines, vocab_size=7)

    assert vocabulary.pieces(range(7)) == ["<pad>", "<s>", "</s>", "<unk>", "▁b", "▁a", "▁c"]
    assert train(lines[::-1], vocab_size=7).to_bytes() == vocabulary.to_bytes()


def test_special_ids_are_silent() -> None:
    vocabulary = train(["a b"], vocab_size=10)

    assert vocabulary.decode([1, *vocabulary.encode(["a b"])[0], 2, 0, 0]) == "a b"


def test_fewer_words_than_asked_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert len(train(["a b"], vocab_size=10)) == 6
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.WARNING,
        "a vocabulary of 6, not 10: the text has too few different words",
    )


def test_no_text() -> None:
    with pytest.raises(DataError, match="no text"):
        train(["", ""], vocab_size=10)


def test_bytes_and_back() -> None:
    vocabulary = train(TARGETS + DELICATE, vocab_size=500)
    again = Words.from_bytes(vocabulary.to_bytes())

    assert again.pieces(range(len(again))) == vocabulary.pieces(range(len(vocabulary)))
    bad = {b"{}": "not a list", b"[1]": "not a list", b"[": "Expecting", b"\xff": "codec"}
    bad[b'["a", "a"]'] = "twice"
    for data, message in bad.items():
        with pytest.raises(ValueError, match=message):
            Words.from_bytes(data)
