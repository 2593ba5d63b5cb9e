from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.inspection.models import KINDS, bundle, transformer

from dragoman.inspection import Trace, inspect
from dragoman.models.layers.positions import sinusoidal

SENTENCE = "The old woman sees 12 dogs."
TRANSFORMERS = [kind for kind in KINDS if kind.startswith(("transformer", "ssru"))]


def softmax(logits: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    logits = np.where(hidden, -np.inf, logits.astype(np.float64))
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def check(trace: Trace) -> None:
    assert trace.terms is not None
    for stack, attention in zip(trace.terms.stacks, trace.attention, strict=False):
        assert stack.values.shape[1] == len(trace.terms.names) == 6
        np.testing.assert_allclose(stack.values.sum(1), stack.logits, atol=2e-4)
        for logits_HQK, weights_HQK in zip(stack.logits, attention.weights, strict=False):
            np.testing.assert_allclose(softmax(logits_HQK, weights_HQK == 0), weights_HQK, atol=1e-4)
        assert np.all(np.abs(stack.values[0, 5]) < 1e-3)  # nothing came before the first layer


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_terms_add_up_to_the_logits_of_the_weights(kind: str) -> None:
    check(inspect(bundle(KINDS[kind]), SENTENCE, max_extra_tokens=4))


def test_first_layer_of_the_paper_has_four_terms_in_float64() -> None:
    pair = bundle(transformer())
    model: Any = pair.model
    trace = inspect(pair, SENTENCE, max_extra_tokens=4)
    assert trace.terms is not None
    encoder = trace.terms.stacks[0]
    assert encoder.exact[0]
    assert not any(encoder.exact[1:])

    ids = [token.id for token in trace.source.tokens]
    content = model.source_embedding.weight.detach().double().numpy()[ids] * math.sqrt(16)
    position = sinusoidal(len(ids), 16).double().numpy()
    w_q, w_k, _ = model.encoder[0].attention.project.weight.detach().double().numpy().reshape(3, 16, 16)
    for head, rows in enumerate((slice(0, 8), slice(8, 16))):
        for number, (left, right) in enumerate(
            ((content, content), (content, position), (position, content), (position, position))
        ):
            expected = (left @ w_q[rows].T) @ (right @ w_k[rows].T).T / math.sqrt(8)
            np.testing.assert_allclose(encoder.values[0, number, head], expected, atol=1e-5)
    assert np.abs(encoder.values[0, 4:]).max() < 1e-5  # no bias, no remainder
    assert np.abs(encoder.values[1, 5]).max() > 1e-2  # what the first layer added


def test_without_positions_only_content_is_left() -> None:
    trace = inspect(bundle(transformer(positions="none")), SENTENCE, max_extra_tokens=4)
    assert trace.terms is not None
    values = trace.terms.stacks[0].values[0]
    assert np.abs(values[1:4]).max() == 0
    assert np.abs(values[0]).max() > 0


@pytest.mark.parametrize("kind", ["alibi", "t5", "relative"])
def test_what_positions_add_to_the_logits_is_the_bias(kind: str) -> None:
    pair = bundle(transformer(positions=kind))
    trace = inspect(pair, SENTENCE, max_extra_tokens=4)
    assert trace.terms is not None
    values = trace.terms.stacks[0].values[0]
    assert np.abs(values[1:4]).max() == 0
    assert np.abs(values[4]).max() > 1e-3
    if kind == "alibi":
        place = np.arange(values.shape[-1])
        distance = np.abs(place - place[:, None])
        slopes = np.array([2**-4, 2**-8])[:, None, None]
        np.testing.assert_allclose(values[4], -slopes * distance, atol=1e-5)


@pytest.mark.parametrize("changes", [{"norm": "pre"}, {"embedding_norm": True}], ids=str)
def test_a_normalisation_before_says_that_terms_are_approximate(changes: dict[str, Any]) -> None:
    trace = inspect(bundle(transformer(**changes)), SENTENCE, max_extra_tokens=4)
    assert trace.terms is not None
    stack = trace.terms.stacks[1]
    assert not any(stack.exact)
    assert "normalisation" in stack.notes[0]
    assert "remainder" in stack.notes[1]
    check(trace)


def test_long_sentences_keep_the_first_layer_only() -> None:
    text = "dog " * 100
    trace = inspect(bundle(transformer(encoder_layers=3)), text, target="Hund")
    assert trace.terms is not None
    assert len(trace.terms.stacks[0].values) == len(trace.terms.stacks[0].exact) == 1
    assert len(trace.terms.stacks[1].values) == 3
