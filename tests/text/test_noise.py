"""Noise against its definition: shares within their binomial bounds, and how far words move."""

from __future__ import annotations

from collections import Counter
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.noise import BLANK, BLANKED, DROPPED, FARTHEST, scrambled

WORDS = [f"w{number}" for number in range(40)]
TEXT = " ".join(WORDS)
MANY = [scrambled(TEXT, f"1 {number} 0").split(" ") for number in range(500)]


def bounds(share: float, trials: int) -> float:
    """Five standard deviations of a share: one seed in a million would leave them."""
    return 5 * sqrt(share * (1 - share) / trials)


def test_the_share_of_words_that_are_left_out() -> None:
    trials = len(MANY) * len(WORDS)
    dropped = 1 - sum(map(len, MANY)) / trials

    assert dropped == pytest.approx(0.1, abs=bounds(0.1, trials))
    assert (DROPPED, BLANKED, FARTHEST) == (0.1, 0.1, 3)  # Edunov et al. 2018


def test_the_share_of_words_that_are_blank() -> None:
    words = Counter(word for line in MANY for word in line)
    kept = words.total()

    assert words[BLANK] / kept == pytest.approx(0.1, abs=bounds(0.1, kept))
    assert set(words) == {*WORDS, BLANK}


def test_no_word_moves_farther_than_three_places() -> None:
    moves: Counter[int] = Counter()
    for number in range(300):
        line = scrambled(TEXT, f"{number}", dropped=0.0, blanked=0.0).split(" ")
        assert sorted(line) == sorted(WORDS)
        moves.update(place - int(word[1:]) for place, word in enumerate(line))

    assert set(moves) == set(range(-3, 4))
    assert moves[0] < 0.5 * moves.total()


def test_where_everything_may_move_farther() -> None:
    line = scrambled(TEXT, "1", dropped=0.0, blanked=0.0, farthest=20).split(" ")

    assert max(abs(place - int(word[1:])) for place, word in enumerate(line)) > 3
    assert scrambled(TEXT, "1", dropped=0.0, blanked=0.0, farthest=0) == TEXT


def test_each_word_has_the_same_chance() -> None:
    words = Counter(word for line in MANY for word in line)

    for word in WORDS:
        assert words[word] / len(MANY) == pytest.approx(0.81, abs=bounds(0.81, len(MANY)))


def test_noise_is_a_function_of_its_key() -> None:
    assert scrambled(TEXT, "1 2 3") == scrambled(TEXT, "1 2 3")
    assert len({scrambled(TEXT, f"{seed} {number}") for seed in (1, 2) for number in (1, 2)}) == 4


@given(st.text(max_size=60), st.integers(0, 3))
def test_any_text_keeps_a_word(text: str, seed: int) -> None:
    once = scrambled(text, f"{seed}", dropped=0.9)

    assert bool(once.strip()) == bool(text.strip())
    assert "\n" not in once
    assert (
        scrambled(text, "1", dropped=0.0, blanked=0.0, farthest=0).split() == text.split() or not text.isascii()
    )


def test_characters_are_the_words_of_scripts_without_spaces() -> None:
    text = "狗在温暖的房子里睡觉"
    assert scrambled(text, "1", dropped=0.0, blanked=0.0, farthest=0) == text
    assert sorted(scrambled(text, "1", dropped=0.0, blanked=0.0)) == sorted(text)
    assert scrambled(text, "1", dropped=0.0, blanked=0.0) != text
    assert set(scrambled(text, "2", dropped=0.0, blanked=1.0)) == {BLANK}
    assert scrambled("a 狗 b", "1", dropped=0.0, blanked=0.0, farthest=0) == "a狗b"
