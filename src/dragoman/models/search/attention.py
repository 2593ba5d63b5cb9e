"""The attention of a decoder to its source, recorded in a teacher-forced pass.

B sentences or hypotheses, S source length, T target length, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError
from dragoman.models.convolutional import ConvolutionalAttention
from dragoman.models.ensemble import leading
from dragoman.models.layers.memory import Memory
from dragoman.models.recurrent import RecurrentAttention
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.transformer import CrossAttention, attention_weights
from dragoman.translation.search.engine import Hypothesis, Tokens
from dragoman.translation.search.options import AttentionOf

Rows = tuple[tuple[float, ...], ...]


def source_weights(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    """weights_BHTS of a call of a module that attends to the source; H is 1 outside the Transformer."""
    match module:
        case CrossAttention():
            x_BTE, k_BHSD, _, bias_B11S = arguments
            return attention_weights(module.queries(x_BTE), k_BHSD, bias_B11S)
        case RecurrentAttention():
            h_BTE, keys_BSE, _, bias_B1S = arguments
            return module.weights(h_BTE, keys_BSE, bias_B1S)[:, None]
        case _:
            return output[:, None]


@contextmanager
def recorded(model: AnySeq2Seq, which: AttentionOf | None) -> Iterator[list[Tensor]]:
    """Record weights_BHTS of a layer's attention at each call within the block; nothing if `which` is None.

    They are at least float32 and have gradients. Raises ConfigError if the model has no such layer or head.
    """
    weights: list[Tensor] = []
    if which is None:
        yield weights
        return

    def keep(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        weights_BHTS = source_weights(module, arguments, output)
        weights.append(weights_BHTS.to(torch.promote_types(weights_BHTS.dtype, torch.float32)))

    handle = cross_attention(model, which).register_forward_hook(keep)
    try:
        yield weights
    finally:
        handle.remove()


def with_attention(
    model: AnySeq2Seq,
    memory: Memory,
    found: Sequence[Sequence[Hypothesis]],
    which: Sequence[AttentionOf | None],
) -> list[list[Hypothesis]]:
    """Return the hypotheses `found[b]` of each sentence of `memory` with the attention `which[b]`.

    The model should be in evaluation mode. Raises ConfigError if it has no such layer or head.
    """
    answers = [list(hypotheses) for hypotheses in found]
    for chosen in {one for one in which if one is not None}:
        places = [(b, i) for b, one in enumerate(which) if one == chosen for i in range(len(found[b]))]
        targets = [found[b][i].tokens for b, i in places]
        sentence_B = torch.tensor([b for b, _ in places], device=model.device)
        chosen_memory = memory.select(sentence_B)
        with torch.no_grad(), recorded(model, chosen) as weights:
            model.decode_states(inputs(targets, model), chosen_memory)
        every = rows_of(weights[0], chosen.head, chosen_memory.visible_BS, targets)
        for (b, i), rows in zip(places, every, strict=True):
            answers[b][i] = replace(answers[b][i], attention=rows)
    return answers


def inputs(targets: Sequence[Tokens], model: AnySeq2Seq) -> Tensor:
    """target_BT: the input of the decoder to predict the targets and their ends."""
    config = model.config
    longest = max(map(len, targets))
    rows = [[config.start_id, *target, *[config.pad_id] * (longest - len(target))] for target in targets]
    return torch.tensor(rows, device=model.device)


def rows_of(
    weights_BHTS: Tensor, head: int | None, visible_BS: Tensor, targets: Sequence[Tokens]
) -> list[Rows]:
    """Return the weights of each target as numbers, without padding: of a head, from 1, or their mean."""
    weights_BTS = weights_BHTS.mean(1) if head is None else weights_BHTS[:, head - 1]
    lengths = visible_BS.sum(1).tolist()
    return [
        tuple(map(tuple, weights_TS[: len(target) + 1, :length].tolist()))
        for weights_TS, length, target in zip(weights_BTS, lengths, targets, strict=True)
    ]


def cross_attention(model: AnySeq2Seq, which: AttentionOf) -> nn.Module:
    """Return the module of a layer's attention to the source. Raises ConfigError if the model has none."""
    kinds = (CrossAttention, RecurrentAttention, ConvolutionalAttention)
    layers = [module for module in leading(model).modules() if isinstance(module, kinds)]
    if not layers:
        raise ConfigError(
            f"attention {which}: this model has no attention to the source", hint="leave the attention out"
        )
    first = layers[0]
    which.check(len(layers), first.heads if isinstance(first, CrossAttention) else 1)
    return layers[which.layer - 1]
