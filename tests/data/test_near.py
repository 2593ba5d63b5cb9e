"""Near-duplicates: the estimate against exact sets, and candidates against all pairs."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest

from dragoman.data.near import HASHES, SHINGLE, band_keys, normalised, signatures, similarity

WORDS = "the old harbour lies quiet under a red morning sky while small boats carry salt and bread".split()


def jaccard(one: str, other: str) -> float:
    """By its definition, on runs of four characters of the padded text."""
    sets = []
    for text in (one, other):
        padded = f" {text} " + " " * max(0, SHINGLE - len(text) - 2)
        sets.append({padded[i : i + SHINGLE] for i in range(len(padded) - SHINGLE + 1)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def varied(chance: Random, text: str) -> str:
    """The text with one to four words replaced."""
    words = text.split()
    for _ in range(chance.randint(1, 4)):
        words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  A  dog, a CAT!", "a dog a cat"),
        ("Ｆｕｌｌ width ①", "full width 1"),
        ("Straße_9", "strasse 9"),
        ("…", ""),
        ("狗，猫", "狗 猫"),
        ("वह जाती है।", "वह जाती है"),  # vowel signs are letters
        ("I use C++, not C#.", "i use c++ not c#"),
        ("It is -5, not 3-5: 5 €!", "it is −5 not 3 5 5 €"),
        ("Good 👍", "good 👍"),
    ],
)
def test_normal_forms(text: str, expected: str) -> None:
    assert normalised(text) == expected


def test_similarity_is_that_of_the_sets() -> None:
    chance = Random(3)
    for _ in range(50):
        one = " ".join(chance.choices(WORDS, k=12))
        other = varied(chance, one)
        assert similarity(one, other) == pytest.approx(jaccard(one, other))
    assert similarity("", "") == 1.0
    assert similarity("", "abc") == 0.0


def test_signatures_estimate_the_similarity() -> None:
    chance = Random(5)
    ones = [" ".join(chance.choices(WORDS, k=14)) for _ in range(400)]
    others = [varied(chance, one) for one in ones]
    equal = (signatures(ones) == signatures(others)).mean(axis=1)
    exact = np.array([jaccard(one, other) for one, other in zip(ones, others, strict=True)])
    assert abs((equal - exact).mean()) < 0.02
    assert np.abs(equal - exact).max() < 5 * np.sqrt(0.25 / HASHES)


def test_a_signature_does_not_depend_on_its_neighbours() -> None:
    texts = ["", "a", "ab", "a dog", "狗", "𝄞 clef", " ".join(WORDS)]
    together = signatures(texts)
    for text, row in zip(texts, together, strict=True):
        assert (signatures([text])[0] == row).all()
    assert signatures([]).shape == (0, HASHES)


def test_candidates_are_the_pairs_that_are_alike() -> None:
    chance = Random(7)
    texts = [" ".join(chance.choices(WORDS, k=14)) for _ in range(60)]
    texts += [varied(chance, text) for text in texts]
    keys = band_keys(signatures(texts))
    close = far = found = false = 0
    for one, other in combinations(range(len(texts)), 2):
        candidate = bool((keys[one] == keys[other]).any())
        if (exact := jaccard(texts[one], texts[other])) >= 0.8:
            close, found = close + 1, found + candidate
        elif exact < 0.2:
            far, false = far + 1, false + candidate
    assert close >= 10
    assert found / close > 0.95
    assert false / far < 0.05
