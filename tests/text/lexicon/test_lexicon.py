from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from dragoman.base.errors import DataError
from dragoman.text.lexicon import lexicon
from dragoman.text.lexicon.lexicon import IdPairs, Lexicon, learn

NULL = "null"


def lines_of(pairs: list[tuple[list[int], list[int]]], most: int = 10**6) -> IdPairs:
    lines = IdPairs(most=most)
    for source, target in pairs:
        lines.add(source, target)
    return lines


def random_pairs(count: int = 60, vocab: int = 9, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    rng = random.Random(seed)
    words = range(3, vocab)
    return [
        (rng.choices(words, k=rng.randint(0, 6)), rng.choices(words, k=rng.randint(0, 6)))
        for _ in range(count)
    ]


def model_one(pairs: list[tuple[list[int], list[int]]], iterations: int) -> dict[tuple[object, int], float]:
    """p(target | source) as in Brown et al. 1993, one token at a time."""
    p: dict[tuple[object, int], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        count: dict[tuple[object, int], float] = defaultdict(float)
        total: dict[object, float] = defaultdict(float)
        for source, target in pairs:
            if not source:
                continue
            for word in target:
                causes = [*source, NULL]
                sum_of = sum(p[cause, word] for cause in causes)
                for cause in causes:
                    count[cause, word] += p[cause, word] / sum_of
                    total[cause] += p[cause, word] / sum_of
        p = defaultdict(float, {(cause, word): c / total[cause] for (cause, word), c in count.items()})
    return p


@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize("at_once", [1, 40, 10**6])
def test_the_probabilities_are_those_of_model_one(
    iterations: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "_PAIRS_AT_ONCE", at_once)
    pairs = random_pairs()
    expected = model_one(pairs, iterations)
    learnt = learn(lines_of(pairs), source_vocab=9, target_vocab=11, width=8, iterations=iterations)

    for source in range(9):
        own = {
            int(word): float(p)
            for word, p in zip(learnt.candidates_VN[source], learnt.probability_VN[source], strict=True)
            if word >= 0
        }
        assert own == pytest.approx(
            {w: p for (s, w), p in expected.items() if s == source and p > 0}, rel=1e-5
        )
        assert list(own.values()) == sorted(own.values(), reverse=True)
        assert (learnt.probability_VN[source][learnt.candidates_VN[source] < 0] == 0).all()


def test_only_the_likeliest_translations_are_kept() -> None:
    pairs = random_pairs()
    wide = learn(lines_of(pairs), source_vocab=9, target_vocab=9, width=9)
    narrow = learn(lines_of(pairs), source_vocab=9, target_vocab=9, width=2)

    assert (narrow.candidates_VN == wide.candidates_VN[:, :2]).all()
    assert (narrow.probability_VN == wide.probability_VN[:, :2]).all()
    assert narrow.candidates_VN.dtype == np.int32
    assert narrow.probability_VN.dtype == np.float32


def test_words_find_their_translations() -> None:
    rng = random.Random(2)
    pairs = []
    for _ in range(300):
        source = rng.sample(range(3, 40), 6)
        target = [word + 100 for word in source]
        rng.shuffle(target)
        pairs.append((source, [99, *target]))  # 99 is everywhere
    learnt = learn(lines_of(pairs), source_vocab=40, target_vocab=140, width=3)

    assert learnt.candidates_VN[3:, 0].tolist() == list(range(103, 140))
    assert learnt.frequent(1).tolist() == [99]
    assert (learnt.candidates_VN[:3] == -1).all()


def test_a_table_that_grows_too_large_loses_its_least_likely_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    pairs = []
    for _ in range(400):
        source = rng.sample(range(3, 40), 6)
        pairs.append((source, [word + 40 for word in source]))
    whole = learn(lines_of(pairs), source_vocab=40, target_vocab=80, width=80)
    monkeypatch.setattr(lexicon, "_PAIRS_AT_ONCE", 200)
    monkeypatch.setattr(lexicon, "_MOST_ENTRIES", 600)
    pruned = learn(lines_of(pairs), source_vocab=40, target_vocab=80, width=80)

    assert (whole.candidates_VN >= 0).sum() > 1200
    assert (pruned.candidates_VN >= 0).sum() <= 600
    assert (pruned.candidates_VN[3:, 0] == whole.candidates_VN[3:, 0]).mean() > 0.9


def test_more_lines_than_allowed_are_thinned_evenly() -> None:
    lines = lines_of([([n], [n]) for n in range(100)], most=10)

    kept = [line[0] for line in lines.source]
    assert lines.read == 100
    assert 5 <= len(kept) <= 10
    assert {b - a for a, b in pairwise(kept)} == {16}
    assert [line[0] for line in lines.target] == kept


def test_long_lines_are_cut() -> None:
    lines = lines_of([(list(range(5)) * 1000, [1] * 1000)])
    assert len(lines.source[0]) == len(lines.target[0]) == 100


def test_text_without_pairs_is_refused() -> None:
    for pairs in ([], [([3], [])], [([], [3])]):
        with pytest.raises(DataError, match="no line"):
            learn(lines_of(pairs), source_vocab=5, target_vocab=5, width=2)


def test_each_token_is_among_its_own_translations() -> None:
    learnt = Lexicon(
        candidates_VN=np.array([[1, 2], [1, 0], [-1, -1], [0, -1]], dtype=np.int32),
        probability_VN=np.array([[0.6, 0.4], [0.5, 0.5], [0, 0], [1, 0]], dtype=np.float32),
        count_W=np.array([0, 3, 5, 0]),
    )
    own = learnt.with_itself()
    assert own.candidates_VN.tolist() == [[1, 0], [1, 0], [2, -1], [0, 3]]
    assert own.probability_VN.tolist() == pytest.approx(np.array([[0.6, 0], [0.5, 0.5], [0, 0], [1, 0]]))
    assert learnt.candidates_VN[0].tolist() == [1, 2]
    assert learnt.frequent(9).tolist() == [2, 1]  # what never occurs is not frequent
