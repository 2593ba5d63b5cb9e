"""Ensembles of translators: what fits together, and what they give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from tests.translation.bundles import PAIRS, bundle_of

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.models.folder.bundle import Bundle
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import RecurrentConfig
from dragoman.translation.native import build

LINES = [source for source, _ in PAIRS] + ["", "The stove sleeps."]


def another(bundle: Bundle, seed: int = 7) -> Bundle:
    """The same with other weights."""
    torch.manual_seed(seed)
    return replace(bundle, model=build_model(cast(Any, bundle.model.config)).eval())


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return bundle_of("bpe")


@pytest.mark.parametrize("average", ["log-probabilities", "probabilities"])
def test_its_probabilities_lie_between_those_of_its_members(bundle: Bundle, average: Any) -> None:
    members = [Translator.of(bundle), Translator.of(another(bundle))]
    together = Translator.ensemble(members, average=average)
    found = together.translate(LINES, max_extra_tokens=4)
    assert [one.text == "" for one in found][-2] is True
    one, other = (member.score(LINES, [each.text for each in found]) for member in members)
    own = together.score(LINES, [each.text for each in found])
    for a, b, mean in zip(one, other, own, strict=True):
        for p, q, m in zip(a.token_logp, b.token_logp, mean.token_logp, strict=True):
            if average == "probabilities":
                assert min(p, q) - 1e-4 <= m <= max(p, q) + 1e-4
            else:  # what the models agree on gains when it is scaled to sum to 1
                assert m >= (p + q) / 2 - 1e-4


@pytest.mark.skipif(build.unavailable() is not None, reason="no C++ compiler")
def test_both_engines_give_the_same(bundle: Bundle) -> None:
    bundles = [bundle, another(bundle), another(bundle, 8)]
    texts = []
    for engine in ("native", "pytorch"):
        members = [Translator.of(one, engine=cast(Any, engine)) for one in bundles]
        together = Translator.ensemble(members)
        assert type(together.engine) is type(members[0].engine)
        texts.append([one.text for one in together.translate(LINES, beam=3)])
    assert texts[0] == texts[1]


def test_architectures_may_differ(bundle: Bundle) -> None:
    sizes = bundle.model.config
    config = RecurrentConfig(source_vocab=sizes.source_vocab, target_vocab=sizes.target_vocab, d_model=16)
    recurrent = Translator.of(replace(bundle, model=build_model(config).eval()))
    native = Translator.of(bundle, engine="auto")
    together = Translator.ensemble([native, recurrent])
    assert type(together.engine).__name__ == "PyTorchEngine"
    assert len(together.translate(LINES, attention="1", max_extra_tokens=4)) == len(LINES)


def test_one_model_is_itself(bundle: Bundle) -> None:
    alone = Translator.of(bundle)
    assert Translator.ensemble([alone]) is alone


def test_inspect_looks_at_the_first(bundle: Bundle) -> None:
    together = Translator.ensemble([Translator.of(bundle), Translator.of(another(bundle))])
    assert together.bundle.model is bundle.model


def test_models_that_do_not_fit_are_refused(bundle: Bundle) -> None:
    one = Translator.of(bundle)
    with pytest.raises(ConfigError, match="model 2 has another vocabulary"):
        Translator.ensemble([one, Translator.of(bundle_of("unigram"))])
    with pytest.raises(ConfigError, match="model 3 from en to fr"):
        Translator.ensemble([one, one, Translator.of(replace(bundle, target_language="fr"))])
    pair = Translator.ensemble([one, one])
    assert Translator.ensemble([pair]) is pair
    with pytest.raises(ConfigError, match="model 2 is an ensemble of 2 models"):
        Translator.ensemble([one, pair])
    with pytest.raises(ConfigError, match="needs at least one model"):
        Translator.ensemble([])
    with pytest.raises(ConfigError, match="average = 'median'"):
        Translator.ensemble([one, one], average=cast(Any, "median"))
