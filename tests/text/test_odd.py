"""What makes models stumble, and what shows it."""

from __future__ import annotations

import pytest

from dragoman.text.odd import has_language, is_invention, is_shouted, loops


@pytest.mark.parametrize("text", ["", " ", "42", "3.14 - 2", "😀 !!", "...", "§ 5", "_1_"])
def test_what_has_no_word_is_no_language(text: str) -> None:
    assert not has_language(text)


def test_protected_words_are_no_language() -> None:
    assert has_language("a {b}")
    assert not has_language("1 {b}", [(2, 5)])


@pytest.mark.parametrize(
    ("text", "shouted"),
    [("DELETE IT", True), ("PDF", False), ("NATO HQ", False), ("Delete", False), ("123", False)],
)
def test_capitals_are_shouted_unless_they_abbreviate(text: str, shouted: bool) -> None:
    assert is_shouted(text) is shouted


@pytest.mark.parametrize(
    ("text", "source", "characters"),
    [
        ("der der der der Hund", "the dog", 9),
        ("ein Hund, ein Hund, ein Hund", "a dog", 14),
        ("ha ha ha", "laughter", 0),
        ("nein nein nein nein", "no no no no", 0),
        ("nein " * 8, "no no no no", 28),
        ("好" * 5, "good", 4),
        ("ein Po-Ko-Ko-Ko-Ko-Ko", "a file", 13),
        ("=========", "=========", 0),
        ("abcabcabcabcabcabcabcabcabcabc", "x", 27),
        ("A man and a dog and a cat.", "x", 0),
        ("", "", 0),
    ],
)
def test_loops_are_counted_unless_the_source_has_them(text: str, source: str, characters: int) -> None:
    assert loops(text, source) == characters


def test_a_long_answer_to_a_short_question_is_invented() -> None:
    assert is_invention("Ein Mann fährt mit einem Fahrrad durch die Stadt.", "Man")
    assert not is_invention("Geschwindigkeitsbegrenzung", "Limit")
    assert not is_invention("好的，我们现在就走吧。", "好的，走吧。")
