from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.inspection.models import KINDS, bundle, transformer
from tests.translation.search.reference import sources

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.inspection import inspect
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Beam, Decoding, Sample

LINES = ["The old woman sees 12 dogs.", "A dog.", "", "The farmer sleeps and the woman reads a book."]
ATTENDING = [kind for kind in KINDS if getattr(KINDS[kind], "attention", "") != "none"]


def translator(kind: str = "", **changes: Any) -> Translator:
    config = KINDS[kind] if kind else transformer(**changes)
    return Translator.of(bundle(config, dtype=torch.float64))


def answers(model: Any, requests: Sequence[Request], **options: int) -> list[list[Hypothesis]]:
    return [found for _, found in sorted(PyTorchEngine(model).search(requests, **options))]


@pytest.mark.parametrize("kind", ATTENDING)
def test_it_is_the_attention_that_inspection_shows(kind: str) -> None:
    """Inspection decodes one sentence by itself, without padding, from text."""
    own = translator(kind)
    traces = [inspect(own.bundle, line, max_extra_tokens=4) for line in LINES if line]
    for layer in range(len(traces[0].attention_of("cross").weights)):  # type: ignore[union-attr]
        found = own.translate(LINES, attention=f"{layer + 1}", max_extra_tokens=4)
        first = own.translate(LINES, attention=f"{layer + 1}.1", max_extra_tokens=4)
        assert found[2].attention == ()
        for one, head, trace in zip(
            [each for each in found if each.source],
            [each for each in first if each.source],
            traces,
            strict=True,
        ):
            cross = trace.attention_of("cross")
            assert cross is not None
            assert [token.piece for token in trace.target.tokens[:-1]] == list(one.tokens)
            np.testing.assert_allclose(one.attention, cross.weights[layer].mean(0), atol=1e-6)
            np.testing.assert_allclose(head.attention, cross.weights[layer][0], atol=1e-6)


def test_the_heads_of_a_layer_differ_and_average_to_the_layer() -> None:
    own = translator(heads=4)
    line = LINES[0]
    layer = np.array(own.translate([line], attention="2")[0].attention)
    heads = [np.array(own.translate([line], attention=f"2.{head}")[0].attention) for head in (1, 2, 3, 4)]

    assert not np.allclose(heads[0], heads[3], atol=1e-4)
    np.testing.assert_allclose(np.mean(heads, 0), layer, atol=1e-6)


@pytest.mark.parametrize("how", [Beam(size=4, n_best=3), Sample(n_best=3, seed=2)], ids=str)
def test_every_hypothesis_has_a_row_for_each_token_and_the_end(how: Beam | Sample) -> None:
    model = bundle(transformer(), dtype=torch.float64).model
    lines = sources((3, 9, 5, 1, 6), model.config.source_vocab)
    choices = [AttentionOf(1), AttentionOf(3, 2), None, AttentionOf(1), AttentionOf(2, 1)]
    requests = [
        Request(source=line, how=how, max_tokens=len(line) + 3, attention=which)
        for line, which in zip(lines, choices, strict=True)
    ]
    together = answers(model, requests)

    plain = answers(model, [replace(request, attention=None) for request in requests])
    assert [[replace(one, attention=()) for one in each] for each in together] == plain
    for request, hypotheses in zip(requests, together, strict=True):
        assert len(hypotheses) == 3
        ((alone),) = answers(model, [request])
        for one, other in zip(hypotheses, alone, strict=True):
            if request.attention is None:
                assert one.attention == ()
                continue
            weights_TS = np.array(one.attention)
            assert weights_TS.shape == (len(one.tokens) + 1, len(request.source) + 1)
            np.testing.assert_allclose(weights_TS.sum(1), 1, atol=1e-6)
            np.testing.assert_allclose(weights_TS, np.array(other.attention), atol=1e-6)


def test_a_score_has_the_attention_of_the_search() -> None:
    model = bundle(transformer(), dtype=torch.float64).model
    lines, how = sources((3, 9, 5, 1, 6), model.config.source_vocab), Beam(n_best=2)
    which = AttentionOf(2, 1)
    found = answers(model, [Request(source=line, how=how, max_tokens=8, attention=which) for line in lines])
    pairs = [(line, one.tokens) for line, each in zip(lines, found, strict=True) for one in each]
    scored = dict(PyTorchEngine(model).score(pairs, how, attention=which))

    for number, one in enumerate(one for each in found for one in each):
        np.testing.assert_allclose(scored[number].attention, one.attention, atol=1e-6)
    assert all(one.attention == () for _, one in PyTorchEngine(model).score(pairs, how))


def test_the_translator_passes_it_on() -> None:
    own = translator()
    found = own.translate(LINES, attention="2", n_best=3)
    (scored,) = own.score(LINES[:1], ["A dog."], attention="2")

    assert all(len(each.attention) == len(each.tokens) + 1 for one in found[:2] for each in one.alternatives)
    assert len(scored.attention) == len(scored.tokens) + 1
    assert own.score(LINES[:1], ["A dog."])[0].attention == ()


def test_nothing_has_no_attention() -> None:
    model = bundle(transformer()).model
    request = Request(source=(), how=Beam(), max_tokens=5, attention=AttentionOf(1))
    assert answers(model, [request]) == [[NOTHING]]


@pytest.mark.parametrize("text", ["0", "4.0", "-1", "2.", ".2", "1.2.3", "", "two", "1,2", "٣", "9" * 40])
def test_what_is_not_a_layer_and_a_head_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Decoding(attention=text)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["4", "1.3", "3.9", "123456"])
def test_a_layer_or_head_that_the_model_lacks_is_refused_with_those_it_has(text: str) -> None:
    with pytest.raises(ConfigError, match="layers 1 to 3 with heads 1 to 2"):
        translator().translate(LINES, attention=text)
    with pytest.raises(ConfigError, match="layers 1 to 3 with heads 1 to 2"):
        translator().score(LINES, LINES, attention=text)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - set(ATTENDING)))
def test_a_model_without_attention_says_so(kind: str) -> None:
    with pytest.raises(ConfigError, match="no attention to the source"):
        translator(kind).translate(LINES, attention="1")
