"""Ensembles of the native engine: those of the PyTorch engine, and the average by definition."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from tests.translation.native.models import VOCAB, answers_of, lines, native, random_model, shape
from tests.translation.native.test_native import GREEDY, assert_same, requests_for

from dragoman.base.errors import ModelError
from dragoman.models.ensemble import Ensemble
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.native import build
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Average, Beam, Sample
from dragoman.translation.search.rules import Banned, MinimumLength, NoRepeatedNgram, Prefix

pytestmark = pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")

AVERAGES: tuple[Average, ...] = ("log-probabilities", "probabilities")


@pytest.fixture(scope="module")
def models() -> list[AnySeq2Seq]:
    """Three models of different shapes with one vocabulary."""
    others: list[dict[str, Any]] = [
        {"d_model": 24, "heads": 2, "decoder_layers": 1, "positions": "rotary", "norm": "pre"},
        {"ssru": True, "output_bias": True, "d_model": 48},
    ]
    shapes = [shape(output_bias=True), *(shape(**one) for one in others)]
    return [random_model(one, seed, end=1.0) for seed, one in enumerate(shapes, 1)]


def ensembles(models: list[AnySeq2Seq], average: Average) -> tuple[NativeEngine, PyTorchEngine]:
    """The same ensemble in both engines, the reference in float64."""
    ours = NativeEngine.ensemble([native(model) for model in models], average)
    return ours, PyTorchEngine(Ensemble([copy.deepcopy(model).double() for model in models], average))


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(
    ("how", "options"),
    [
        (GREEDY, {}),
        (Beam(size=4, n_best=4), {}),
        (Beam(size=3, stop="exact", renormalize=True), {}),
        (Beam(size=3), {"rules": (MinimumLength(5), NoRepeatedNgram(2), Banned((9, 11)), Prefix((8, 12)))}),
        (Beam(size=3), {"shortlist": tuple(range(0, VOCAB, 2))}),
        (Sample(n_best=3, seed=5, top_k=20), {}),
        (Beam(size=2), {"attention": AttentionOf(2, head=1)}),
    ],
)
def test_both_engines_agree(
    models: list[AnySeq2Seq], average: Average, how: Beam | Sample, options: dict[str, Any]
) -> None:
    ours, theirs = ensembles(models, average)
    requests = requests_for(lines(24), how, **options)
    assert_same(answers_of(ours, requests), answers_of(theirs, requests))


@pytest.mark.parametrize("average", AVERAGES)
def test_token_by_token_it_is_the_mean_of_the_distributions(
    models: list[AnySeq2Seq], average: Average
) -> None:
    ours, _ = ensembles(models, average)
    for request, [found] in zip(requests := requests_for(lines(6)), answers_of(ours, requests), strict=True):
        expected = _by_definition(models, average, request, found)
        assert found.token_logp == pytest.approx(expected, abs=1e-4)


def _by_definition(
    models: list[AnySeq2Seq], average: Average, request: Request, found: Hypothesis
) -> list[float]:
    """The log-probability of each token and of the end, from whole passes of each model."""
    p_MTV = []
    for model in models:
        config, double = model.config, copy.deepcopy(model).double()
        source = torch.tensor([[*request.source, config.end_id]])
        target = torch.tensor([[config.start_id, *found.tokens]])
        with torch.no_grad():
            logits = double.decode(target, double.encode(source, torch.tensor([source.shape[1]])))
        p_MTV.append(logits[0].softmax(-1))
    p = torch.stack(p_MTV)
    mean = p.mean(0) if average == "probabilities" else p.prod(0) ** (1 / len(models))
    mean = mean / mean.sum(-1, keepdim=True)
    ids = [*found.tokens, models[0].config.end_id]
    return [float(mean[t, one].log()) for t, one in enumerate(ids)]


@pytest.mark.parametrize("average", AVERAGES)
def test_copies_of_a_model_are_that_model(models: list[AnySeq2Seq], average: Average) -> None:
    one = native(models[0])
    together = NativeEngine.ensemble([one, one, one], average)
    requests = requests_for(lines(12), Beam(size=3, n_best=3))
    assert_same(answers_of(together, requests), answers_of(one, requests))


def test_scores_are_those_of_the_search(models: list[AnySeq2Seq]) -> None:
    ours, _ = ensembles(models, "probabilities")
    requests = requests_for(lines(12), how := Beam(size=3))
    found = [one for [one, *_] in answers_of(ours, requests)]
    pairs = [(request.source, one.tokens) for request, one in zip(requests, found, strict=True)]
    scored = dict(ours.score(pairs, how))
    for number, one in enumerate(found):
        if not one.truncated:
            assert scored[number].score == pytest.approx(one.score, abs=1e-5)


def test_an_ensemble_outlives_its_engines(models: list[AnySeq2Seq]) -> None:
    alone = [native(model) for model in models]
    ours = NativeEngine.ensemble(alone)
    requests = requests_for(lines(6))
    before = answers_of(ours, requests)
    del alone
    assert answers_of(ours, requests) == before


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("broken", [0, 1])
def test_a_broken_member_is_an_error(models: list[AnySeq2Seq], average: Average, broken: int) -> None:
    members = copy.deepcopy([models[0], models[2]])
    with torch.no_grad():
        dict(members[broken].named_parameters())["logits.bias"][7] = math.nan
    for engine in ensembles(members, average):
        with pytest.raises(ModelError, match="no probabilities"):
            answers_of(engine, [Request(source=[5, 6, 7], how=Beam(size=2), max_tokens=6)])
