"""The choice among several translations of a line."""

from __future__ import annotations

from typing import cast

import pytest
from tests.translation.letters import LINES, translator_of
from tests.translation.search.reference import History

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.mbr import expected_utilities
from dragoman.translation.search.options import Sample


def test_the_candidates_are_ordered_by_their_expected_utility(translator: Translator) -> None:
    many = translator.translate(LINES, beam=6, n_best=6)
    chosen = translator.translate(LINES, beam=6, candidates=6, n_best=2, mbr="chrf")
    moved = 0
    for candidates, one in zip(many, chosen, strict=True):
        every = [candidates, *candidates.alternatives]
        logp = [sum(each.token_logp) / 2 for each in every]
        values = expected_utilities([each.text for each in every], logp)
        assert len(one.alternatives) == min(len(every) - 1, 1)
        assert one.text == every[values.index(max(values))].text
        moved += one.text != candidates.text
    assert moved


def test_draws_count_alike(translator: Translator) -> None:
    draws = translator.translate(LINES[:1], sample=Sample(n_best=8))[0]
    every = [draws, *draws.alternatives]
    values = expected_utilities([each.text for each in every], [0.0] * len(every), "bleu")
    (one,) = translator.translate(LINES[:1], sample=Sample(), candidates=8, mbr="bleu")
    assert one.text == every[values.index(max(values))].text


def test_a_reverse_model_has_a_say(translator: Translator) -> None:
    other = translator_of(History(vocab=14, seed=5, end=0.5))
    other.source_language, other.target_language = "de", "en"
    many = translator.translate(LINES, beam=16, n_best=16)
    chooser = translator_of(cast(PyTorchEngine, translator.engine).model)
    chooser.reverse = other
    moved = 0
    for line, candidates, one in zip(LINES, many, chooser.translate(LINES, reverse_weight=0.7), strict=True):
        every = [candidates, *candidates.alternatives]
        back = other.score([each.text for each in every], [line] * len(every))
        both = [0.3 * each.score + 0.7 * way.score for each, way in zip(every, back, strict=True)]
        assert one.text == every[both.index(max(both))].text
        moved += one.text != candidates.text
    assert moved
    own = chooser.translate(LINES, reverse_weight=0)
    assert [one.text for one in own] == [one.text for one in many]


def test_a_quality_stands_for_options(translator: Translator) -> None:
    assert translator.translate(LINES, quality="fast") == translator.translate(LINES, beam=1)
    assert translator.translate(LINES, quality="normal") == translator.translate(LINES)
    assert translator.translate(LINES, quality="best") == translator.translate(LINES, mbr="chrf")
    assert translator.translate(LINES, quality="fast", beam=3) == translator.translate(LINES, beam=3)
    assert translator.translate(LINES, quality="best", mbr="bleu") == translator.translate(LINES, mbr="bleu")
    with_sample = translator.translate(LINES, quality="fast", sample=Sample())
    assert with_sample == translator.translate(LINES, sample=Sample())


def test_a_narrow_beam_has_fewer_candidates(translator: Translator) -> None:
    assert translator.translate(LINES, beam=4, mbr="chrf") == translator.translate(
        LINES, beam=4, mbr="chrf", candidates=4
    )
    assert translator.translate(LINES, beam=4, mbr="chrf", n_best=3)[0].alternatives
    with pytest.raises(ConfigError, match="16 translations from a beam of 4"):
        translator.translate(LINES, beam=4, mbr="chrf", candidates=16)

    reverse = translator_of(History(vocab=14, seed=5, end=0.5))
    reverse.source_language, reverse.target_language = "de", "en"
    both = translator.using(reverse=reverse)
    assert both.translate(LINES, beam=4) == both.translate(LINES, beam=4, candidates=4)
    assert both.translate(LINES, quality="fast") == both.translate(LINES, beam=16)


def test_candidates_without_a_choice_are_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="candidates = 4 without a choice"):
        translator.translate(LINES, candidates=4)


def test_a_reverse_model_weighs_draws_on_one_scale(translator: Translator) -> None:
    other = translator_of(History(vocab=14, seed=5, end=0.5))
    other.source_language, other.target_language = "de", "en"
    chooser = translator_of(cast(PyTorchEngine, translator.engine).model)
    chooser.reverse = other
    draws = translator.translate(LINES[:1], sample=Sample(n_best=8))[0]
    every = [draws, *draws.alternatives]
    back = other.score([each.text for each in every], LINES[:1] * len(every))
    both = [sum(a.token_logp) + sum(b.token_logp) for a, b in zip(every, back, strict=True)]

    (one,) = chooser.translate(LINES[:1], sample=Sample(), candidates=8, reverse_weight=0.5)
    assert one.text == every[both.index(max(both))].text
    with pytest.raises(ConfigError, match="no effect"):
        chooser.translate(LINES[:1], sample=Sample(), candidates=8, mbr="chrf")
