"""The most similar other line, against comparing all lines."""

from random import Random

import pytest
from rapidfuzz.distance import Levenshtein

from dragoman.text.lexicon.similar import Similar, similar

LINES = [
    "Click OK to close the dialog.",
    "Click Cancel to close the dialog.",
    "A dog sleeps.",
    "Click OK to close the dialog.",
    "Nothing is like this one, whatever else may come",
    "",
]


def by_words(one: str, other: str, least: float) -> float:
    return 100 * Levenshtein.normalized_similarity(one.split(), other.split())


def test_the_most_similar_other_line() -> None:
    found = list(similar(LINES, likeness=by_words))
    assert found[:4] == [
        Similar(1, pytest.approx(500 / 6)),
        Similar(0, pytest.approx(500 / 6)),
        None,
        found[0],
    ]
    assert found[4:] == [None, None]


def test_least() -> None:
    assert list(similar(LINES, likeness=by_words, least=90)) == [None] * 6


def test_a_block_is_searched_within_itself() -> None:
    lines = [*LINES[:2], *LINES[:2]]
    assert [one and one.number for one in similar(lines, likeness=by_words, block=2)] == [1, 0, 3, 2]
    assert [one and one.number for one in similar(lines, likeness=by_words)] == [1, 0, 1, 0]


def test_likeness_is_a_parameter() -> None:
    def by_length(one: str, other: str, least: float) -> float:
        return 100 - abs(len(one) - len(other))

    assert next(similar(LINES, likeness=by_length)) == Similar(1, 96)


def test_it_finds_what_comparing_all_lines_finds() -> None:
    random = Random(1)
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in "aeiou"]
    lines = [" ".join(random.choices(words, k=random.randint(4, 9))) for _ in range(150)]
    for line in lines[:100]:  # variants of each other
        changed = line.split()
        changed[random.randrange(len(changed))] = random.choice(words)
        lines.append(" ".join(changed))
    found = list(similar(lines, likeness=by_words))
    best = []
    for line in lines:
        scores = [
            100
            * (
                1
                - Levenshtein.distance(line.split(), other.split())
                / max(len(line.split()), len(other.split()))
            )
            for other in lines
            if other != line
        ]
        best.append(max(scores) if max(scores) >= 50 else None)
    assert sum(one is not None for one in best) > 190
    agreeing = [
        (one is None and score is None) or (one is not None and one.score == pytest.approx(score))
        for one, score in zip(found, best, strict=True)
    ]
    assert sum(agreeing) >= 0.97 * len(lines)
