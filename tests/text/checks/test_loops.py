"""Loops and inventions are seen."""

from __future__ import annotations

import pytest

from dragoman.text.checks.loops import is_invention, loops


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
