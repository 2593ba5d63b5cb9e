from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.translation.search.reference import History, memory_of, next_of, sources

from dragoman.base.errors import ModelError
from dragoman.models.search.beam import search
from dragoman.models.search.rule_masks import no_repeated_ngrams
from dragoman.models.search.scoring import score
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.translation.search.options import Beam, Sample

LENGTHS = (1, 4, 2, 9, 4, 3, 6)


def test_scores_are_the_products_of_the_probabilities() -> None:
    model = History(vocab=9, seed=4)
    lines, targets = sources((2, 5, 3), 9), [[3, 8, 3], [], [4]]
    source_BS = torch.tensor([[*line, *[0] * (5 - len(line))] for line in lines])
    how = Beam(length_penalty=1.0, normalization="power")
    found = score(model, source_BS, torch.tensor([2, 5, 3]), targets, how)

    for line, target, one in zip(lines, targets, found, strict=True):
        said = [next_of(model, line)(tuple(target[:i]))[t] for i, t in enumerate([*target, 2])]
        np.testing.assert_allclose(one.token_logp, said, rtol=1e-12)
        assert math.isclose(one.logp, math.fsum(said), rel_tol=1e-12)
        assert math.isclose(one.score, math.fsum(said) / (len(target) + 1), rel_tol=1e-12)
        assert one.tokens == tuple(target)
        assert not one.truncated


@pytest.mark.parametrize(
    "how",
    [
        Beam(size=1),
        Beam(size=4, n_best=4),
        Beam(size=3, normalization="power"),
        Beam(size=3, banned=(5, 6, 7), renormalize=True),
        Sample(n_best=3),
    ],
    ids=str,
)
def test_a_search_and_the_scoring_of_what_it_found_agree(how: Beam | Sample) -> None:
    torch.manual_seed(2)
    config = TransformerConfig(
        source_vocab=40, target_vocab=40, d_model=16, d_ff=32, heads=2, encoder_layers=1, decoder_layers=2
    )
    model = Transformer(config).eval()
    with torch.no_grad():
        model.logits.weight *= 4
    lines = sources(LENGTHS, 40)
    source_BS = torch.tensor([[*line, *[0] * (9 - len(line))] for line in lines])
    source_len_B = torch.tensor(LENGTHS)
    with torch.no_grad():
        memory = model.encode(source_BS, source_len_B)
    found = search(model, memory, how, limit_B=source_len_B + 5, mask=no_repeated_ngrams(3))
    for place in range(how.n_best):
        chosen = [each[place] for each in found]
        targets = [one.tokens for one in chosen]
        scored = score(model, source_BS, source_len_B, targets, how if isinstance(how, Beam) else None)
        for mine, its in zip(scored, chosen, strict=True):
            np.testing.assert_allclose(mine.token_logp, its.token_logp, rtol=1e-4, atol=1e-5)
            assert mine.logp == pytest.approx(its.logp, rel=1e-5)
            if isinstance(how, Beam):
                assert mine.score == pytest.approx(its.score, rel=1e-5)


def test_long_targets_are_scored_in_parts_that_join() -> None:
    model = History(vocab=9, seed=4)
    target = sources((150,), 9)[0]
    (one,) = score(model, torch.tensor([[4, 5]]), torch.tensor([2]), [target])
    said = [next_of(model, [4, 5])(tuple(target[:i]))[t] for i, t in enumerate([*target, 2])]

    np.testing.assert_allclose(one.token_logp, said, rtol=1e-12)


def test_a_translation_without_probability_scores_minus_infinity_and_a_broken_model_is_an_error() -> None:
    model = History(vocab=9, seed=4)
    model.logits_PV[:, 7] = -math.inf
    impossible, possible = score(model, torch.tensor([[4], [4]]), torch.tensor([1, 1]), [[7], [6]])
    assert impossible.logp == -math.inf
    assert possible.logp > -math.inf
    model.logits_PV[:, 7] = math.nan
    with pytest.raises(ModelError, match="no probabilities"):
        score(model, torch.tensor([[4]]), torch.tensor([1]), [[6]])


def test_memory_is_not_asked_to_remember_gradients() -> None:
    model = History()
    model.logits_PV.requires_grad_()
    (one,) = score(model, torch.tensor([[4]]), torch.tensor([1]), [[6]])
    (found,) = search(model, memory_of(model, [[4]]), Beam(), limit_B=torch.tensor([3]))[0]
    assert math.isfinite(one.logp + found.logp)
