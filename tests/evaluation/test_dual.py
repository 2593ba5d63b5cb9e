"""Scores of pairs against what the models say, computed by hand, and the choice of the best."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from sacrebleu.metrics.chrf import CHRF
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman import Translator
from dragoman.evaluation.dual import PairScorer, best_of, dual_score
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import pad
from dragoman.text.corpora.filter import FilterConfig
from dragoman.translation.native.build import unavailable

FORWARD, REVERSE = learnt_bundle(), learnt_bundle(reverse=True)
MIXED = [
    *PAIRS,
    (PAIRS[0][0], PAIRS[1][1]),
    ("The cat sleeps.", "Die Katze schläft."),
    ("Ein Bäcker wartet.", "A baker waits."),
]


def entropy(bundle: Bundle, source: str, target: str) -> float:
    """Nats a token, the end's included, in float64."""
    model, tokenizer = bundle.model.double(), bundle.tokenizer
    sources, targets = tokenizer.encode_source([source]), tokenizer.encode_target([target])
    source_BS, source_len_B = pad(sources, model.config.pad_id, model.config.end_id)
    tokens = [*targets[0], model.config.end_id]
    logits = model.decode(
        torch.tensor([[model.config.start_id, *targets[0]]]), model.encode(source_BS, source_len_B)
    )
    logp = logits.log_softmax(-1)[0, range(len(tokens)), tokens]
    return -float(logp.detach().mean())


@pytest.mark.parametrize("engine", ["pytorch", "native"])
def test_dual_scores_are_those_of_the_paper(engine: Any) -> None:
    if engine == "native" and (why := unavailable()):
        pytest.skip(why)
    forward, reverse = learnt_bundle(), learnt_bundle(reverse=True)
    scorer = PairScorer(
        forward=Translator.of(forward, engine=engine), reverse=Translator.of(reverse, engine=engine)
    )
    found = scorer.scores(MIXED)

    for (source, target), one in zip(MIXED, found, strict=True):
        there, back = entropy(FORWARD, source, target), entropy(REVERSE, target, source)
        assert one.entropies == pytest.approx((there, back), rel=1e-4, abs=1e-4)
        assert one.score == pytest.approx(math.exp(-(abs(there - back) + 0.5 * (there + back))), rel=1e-3)
    assert min(one.score for one in found[:4]) > max(one.score for one in found[4:])


def test_the_dual_score_punishes_both_disagreement_and_doubt() -> None:
    assert dual_score(0.0, 0.0) == 1.0
    assert dual_score(0.75, 0.5) == pytest.approx(math.exp(-0.875))
    assert dual_score(0.5, 0.75) == dual_score(0.75, 0.5)
    assert dual_score(1.0, 1.0) > dual_score(1.5, 0.5) > dual_score(3.0, 3.0)


def test_round_trips_are_scored_by_chrf() -> None:
    translator = Translator.of(learnt_bundle(), engine="pytorch")
    found = PairScorer(forward=translator).scores(MIXED)
    translations = translator.translate([source for source, _ in MIXED], beam=1)

    assert found[0].score == 1.0
    for (_, target), one, translation in zip(MIXED, found, translations, strict=True):
        expected = CHRF().sentence_score(translation.text, [target]).score / 100
        assert one.score == pytest.approx(expected, abs=1e-9)


def test_pairs_without_a_score_say_why() -> None:
    translator = Translator.of(learnt_bundle(), engine="pytorch")
    pairs = [("", "Ein Hund."), PAIRS[0], ("A dog.", " "), ("dog " * 40, "Hund " * 40), ("a", "Hund " * 9)]
    scorer = PairScorer(forward=translator, keep=FilterConfig(max_length=100, max_ratio=5))

    assert [one.reason for one in scorer.scores(pairs)] == [
        *("empty source", None, "empty target", "too long", "length ratio")
    ]
    assert scorer.scores(pairs)[1] == scorer.scores([PAIRS[0]])[0]
    assert scorer.scores([]) == []


SCORES = [0.5, math.nan, 0.2, 0.9, 0.5, 0.5, math.nan, 0.1]


@pytest.mark.parametrize(
    ("share", "least", "expected"),
    [
        (1.0, 0.0, [0, 2, 3, 4, 5, 7]),
        (0.5, 0.0, [0, 3, 4]),  # the first of equal ones
        (1 / 6, 0.0, [3]),
        (0.001, 0.0, [3]),
        (1.0, 0.5, [0, 3, 4, 5]),
        (0.5, 0.6, [3]),
        (1.0, 0.95, []),
    ],
)
def test_the_best(share: float, least: float, expected: list[int]) -> None:
    chosen = best_of(SCORES, share=share, least=least)
    assert [place for place, kept in enumerate(chosen) if kept] == expected


def test_the_best_equal_a_sort() -> None:
    scores = np.random.default_rng(1).integers(0, 40, 500) / 40
    for share in (0.1, 0.33, 0.8):
        best = sorted(range(500), key=lambda place: (-scores[place], place))[: round(share * 500)]
        chosen = best_of(scores.tolist(), share=share)
        assert [place for place, kept in enumerate(chosen) if kept] == sorted(best)


def test_without_scores_there_is_no_best() -> None:
    assert best_of([]) == []
    assert best_of([math.nan]) == [False]
