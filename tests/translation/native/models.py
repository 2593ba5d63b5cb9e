"""Small models with random weights, for the native engine and its reference."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import torch

from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import Architecture, SSRUConfig, TransformerConfig
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import place_weights
from dragoman.translation.search.engine import Engine, Hypothesis, Request

VOCAB = 61
POSITIONS = (
    "sinusoidal", "sinusoidal-halves", "sinusoidal-t2t", "learned", "learned-apart", "index", "fraction",
    "none", "relative", "t5", "alibi", "rotary",
)  # fmt: skip


def shape(**options: Any) -> Architecture:
    """A small Transformer, or with `ssru=True` one with an SSRU decoder."""
    kind = SSRUConfig if options.pop("ssru", False) else TransformerConfig
    sizes = {"source_vocab": VOCAB, "target_vocab": VOCAB, "d_model": 32, "d_ff": 48, "heads": 4}
    return kind(**{**sizes, "encoder_layers": 2, "decoder_layers": 2, **options})


def random_model(config: Architecture, seed: int = 1, end: float = 0.0) -> AnySeq2Seq:
    """A model with random weights, norms and biases too.

    `end` makes the end likelier, if the model has output biases.
    """
    torch.manual_seed(seed)
    model = build_model(config).eval()
    scale = (
        2 if getattr(config, "final_norm", True) else 1
    )  # without a last norm logits grow with the weights
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:  # norms and biases begin as ones and zeros
                weight.add_(0.2 * torch.randn_like(weight))
            else:
                weight.mul_(3 if "logits" in name else scale)
        if config.output_bias:
            dict(model.named_parameters())["logits.bias"][config.end_id] += end
    return model


def reference(model: AnySeq2Seq) -> PyTorchEngine:
    """The PyTorch search in float64."""
    return PyTorchEngine(copy.deepcopy(model).double())


def native(model: AnySeq2Seq, dtype: str = "float32", threads: int = 2) -> NativeEngine:
    """The native engine with the same weights."""
    return NativeEngine(model.config, place_weights(model), dtype=dtype, threads=threads)


def lines(count: int, longest: int = 14, vocab: int = VOCAB, seed: int = 1) -> list[list[int]]:
    """Random sources, without padding, start and end."""
    draw = random.Random(seed)
    return [[draw.randrange(3, vocab) for _ in range(draw.randint(1, longest))] for _ in range(count)]


def answers_of(engine: Engine, requests: Sequence[Request], **options: int) -> list[list[Hypothesis]]:
    """The answers in the order of the requests; each comes exactly once."""
    numbered = list(engine.search(requests, **options))
    assert sorted(number for number, _ in numbered) == list(range(len(requests)))
    return [hypotheses for _, hypotheses in sorted(numbered, key=lambda pair: pair[0])]
