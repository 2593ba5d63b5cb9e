from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

from dragoman.text.corpora.reservoir import draw_sample


def test_a_short_stream_is_taken_whole() -> None:
    assert draw_sample("ab", 3, random.Random(1)) == ["a", "b"]
    assert draw_sample("", 3, random.Random(1)) == []


def test_every_sample_is_equally_likely() -> None:
    chance, rounds = random.Random(1), 6000

    found = Counter(tuple(sorted(draw_sample(range(4), 2, chance))) for _ in range(rounds))

    assert set(found) == set(combinations(range(4), 2))
    expected = rounds / 6
    # Chi-squared with 5 degrees of freedom exceeds 20.5 once in a thousand.
    assert sum((count - expected) ** 2 / expected for count in found.values()) < 20.5
