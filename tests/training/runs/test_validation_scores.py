"""The translations of a validation: greedy ones, or those of the model's own search."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.training.small_runs import model, pairs, tokenizer

from dragoman.evaluation.evaluate import evaluate
from dragoman.models.folder.bundle import Bundle
from dragoman.training.runs.validation_scores import search_name, translate_and_score
from dragoman.translation.search.options import Beam
from dragoman.translation.translator import Translator

PAIRS = pairs(12, seed=3)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """A model that has learnt nothing, so its beam finds other translations than greedy search."""
    cut = tokenizer()
    return Bundle(
        model=model(cut, seed=4).eval(),
        tokenizer=cut,
        source_language="en",
        target_language="de",
        generation=Beam(size=5, length_penalty=1.0, n_best=2),
    )


@pytest.mark.parametrize("greedy", [True, False])
def test_the_search_is_greedy_or_that_of_the_model(greedy: bool, bundle: Bundle) -> None:
    wanted = evaluate(
        Translator.of(bundle), PAIRS, metrics=("bleu", "chrf"), bootstrap=0, beam=1 if greedy else 5
    )
    other = evaluate(
        Translator.of(bundle), PAIRS, metrics=("bleu", "chrf"), bootstrap=0, beam=5 if greedy else 1
    )

    scored = translate_and_score(bundle, {("en", "de"): PAIRS}, seed=1, greedy=greedy, words=greedy)

    assert scored.chrf == wanted.scores.chrf.value != other.scores.chrf.value
    words = evaluate(Translator.of(bundle), PAIRS, metrics=("chrf++",), bootstrap=0, beam=1 if greedy else 5)
    assert scored.chrf_words == (words.scores.by_metric["chrf++"].value if greedy else None)
    assert scored.search == ("greedy" if greedy else "beam 5, length penalty 1")
    texts = {one.source: one.text for one in wanted.translations}
    assert [sample.hypothesis for sample in scored.samples] == [texts[s.source] for s in scored.samples]


def test_a_beam_of_one_is_called_greedy(bundle: Bundle) -> None:
    one = replace(bundle, generation=Beam(size=1))

    assert search_name(one.generation) == "greedy"
    assert translate_and_score(one, {("en", "de"): PAIRS}, seed=1, greedy=False).search == "greedy"
    assert search_name(Beam(size=4, length_penalty=0.6)) == "beam 4, length penalty 0.6"
