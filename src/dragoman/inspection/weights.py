"""The attention weights of a model, recorded with hooks, and the alignment of words from them.

L layers, H heads, Q queries, K keys, S source tokens, T target tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.inspection.arrays import Array
from dragoman.inspection.record import Attention, Kind, Text
from dragoman.models.convolutional import ConvolutionalAttention
from dragoman.models.recurrent import RecurrentAttention
from dragoman.models.search.attention import source_weights
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import CrossAttention, SelfAttention, attention_weights

Weights = dict[str, list[Tensor]]


@contextmanager
def recording(model: AnySeq2Seq) -> Iterator[Weights]:
    """Record the weights (H, Q, K) of each attention within the block, by kind, in the order of layers."""
    weights: Weights = {}

    def keep(kind: str, module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        weights.setdefault(kind, []).append(_weights_of(module, arguments, output))

    attentions = SelfAttention | CrossAttention | RecurrentAttention | ConvolutionalAttention
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, attentions):
                kind = name.split(".")[0] if isinstance(module, SelfAttention) else "cross"
                hooks.enter_context(module.register_forward_hook(partial(keep, kind)))
        yield weights


def _weights_of(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    """Return the attention weights (H, Q, K) of this call for one sentence, 0 for hidden keys."""
    if not isinstance(module, SelfAttention):
        return source_weights(module, arguments, output)[0]
    x_BTE, view = arguments
    q, k, _ = module.laid_out(x_BTE, view)
    bias = module.positions.added(view.bias, q, view.distance_TS)
    weights: Tensor = view.matrix(attention_weights(q, k, bias))
    return weights[0]


def attention_of(weights: Weights) -> Iterator[Attention]:
    """Yield the attention of each kind that was recorded."""
    for kind in get_args(Kind):
        if kind in weights:
            weights_LHQK = torch.stack(weights[kind]).float().cpu().numpy()
            yield Attention(
                kind=kind,
                queries="source" if kind == "encoder" else "inputs",
                keys="inputs" if kind == "decoder" else "source",
                causal=kind == "decoder",
                weights=weights_LHQK,
            )


def word_alignment(attention: Sequence[Attention], source: Text, target: Text) -> tuple[Array | None, str]:
    """Return the weights of target words on source words, and a note that says where they come from.

    The mean of the heads of the last layer but one aligns best in Transformers (Garg et al. 2019, section
    5.1). Weights are summed over the tokens of a source word and averaged over the tokens of a target word.
    """
    cross = next((one for one in attention if one.kind == "cross"), None)
    if cross is None:
        return None, "This model has no attention to the source."
    layer = max(len(cross.weights) - 2, 0)
    weights_TS = cross.weights[layer].mean(0)
    of_target = _membership(target)
    per_word = of_target.sum(1, keepdims=True)
    alignment = (of_target @ weights_TS @ _membership(source).T) / np.maximum(per_word, 1)
    note = f"Attention to the source in decoder layer {layer + 1} of {len(cross.weights)}, mean of the heads."
    return alignment.astype(np.float32), note


def _membership(side: Text) -> Array:
    """Return a matrix with 1 where a token (column) belongs to a word (row)."""
    matrix = np.zeros((len(side.words), len(side.tokens)), dtype=np.float32)
    for column, token in enumerate(side.tokens):
        if token.word is not None:
            matrix[token.word, column] = 1
    return matrix
