"""A lexicon of a text finds its pairs that do not belong together."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from tests.training.runs.students import NOUNS, VERBS, WHEN

from dragoman.data import lexical
from dragoman.data.lexical import LexiconScorer

EN_DE = ("en", "de")


def text(size: int, seed: int = 1) -> list[tuple[str, str]]:
    chance = random.Random(seed)

    def clause() -> tuple[str, str]:
        words = [chance.choice(list(table.items())) for table in (NOUNS, VERBS, WHEN)]
        source, target = zip(*words, strict=True)
        return f"the {source[0]} {source[1]} {source[2]}", f"der {target[0]} {target[1]} {target[2]}"

    pairs = []
    for _ in range(size):
        clauses = [clause() for _ in range(2)]
        pairs.append((f"{clauses[0][0]} and {clauses[1][0]}", f"{clauses[0][1]} und {clauses[1][1]}"))
    return pairs


def test_shifted_pairs_have_the_lowest_scores() -> None:
    pairs = text(500)
    shifted = range(0, 100, 10)
    mixed = [(one, pairs[n + 1][1]) if n in shifted else (one, other) for n, (one, other) in enumerate(pairs)]

    scores = np.array([one.score for one in LexiconScorer(mixed, EN_DE).scores(mixed)])

    assert sorted(np.argsort(scores)[: len(shifted)].tolist()) == list(shifted)
    assert ((scores > 0) & (scores < 1)).all()


def test_the_score_is_from_both_log_ratios() -> None:
    pairs = text(100)
    (found,) = LexiconScorer(pairs, EN_DE).scores([("the dog sleeps now", "der Hund schläft jetzt")])

    assert len(found.entropies) == 2
    assert min(found.entropies) > 0
    assert found.score == pytest.approx(1 / (1 + math.exp(-sum(found.entropies) / 2)))


def test_the_ratio_is_of_model_1() -> None:
    """Against the definition: for each word, the mean over the given words and NULL."""
    pairs = text(100)
    way = LexiconScorer(pairs, EN_DE).ways[0]
    given, other = [3, 1], [0, 2, 1]

    logs = []
    for word in other:
        share = way.share_V[word]
        parts = [share]
        for one in given:
            known = zip(way.table.candidates_VN[one], way.table.probability_VN[one], strict=True)
            parts.append(sum(p for candidate, p in known if candidate == word) + way.open_V[one] * share)
        logs.append(math.log(sum(parts) / len(parts) / share))

    expected = sum(logs) / (len(other) + lexical._SPARE)
    assert way.ratio(np.array(given), np.array(other)) == pytest.approx(expected, rel=1e-5)


def test_text_without_known_words_has_an_even_score() -> None:
    scorer = LexiconScorer(text(50), EN_DE)

    assert [one.score for one in scorer.scores([("", ""), ("xyzzy", "plugh")])] == [0.5, 0.5]
    assert LexiconScorer([], (None, None)).scores([("a", "b")])[0].score == 0.5


def test_a_large_text_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "_LINES", 4)
    pairs = [(str(n), str(n)) for n in range(11)]

    assert len(LexiconScorer(pairs, EN_DE).sides[0].number) == 4
    assert LexiconScorer(pairs, EN_DE).sides[0].number == LexiconScorer(pairs, EN_DE).sides[0].number
