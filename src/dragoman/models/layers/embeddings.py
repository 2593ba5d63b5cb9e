"""The embeddings and the layer before the softmax, which every architecture has (section 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models.shapes import ModelConfig

CLOSED = -30.0  # the output bias of a token that is never predicted: its probability is about e^-30


def embeddings(config: ModelConfig) -> tuple[nn.Embedding, nn.Embedding, nn.Linear]:
    """Target embedding, source embedding and the layer before the softmax, section 3.4.

    `config.tie` says which of them are one matrix. Entries have variance 1 / E, so that embeddings scaled
    by sqrt(E) have unit variance. E is the width of the model.
    """
    width = config.d_model
    target = nn.Embedding(config.target_vocab, width)
    nn.init.normal_(target.weight, std=width**-0.5)
    source = target
    if config.tie != "all":
        source = nn.Embedding(config.source_vocab, width)
        nn.init.normal_(source.weight, std=width**-0.5)
    logits = nn.Linear(width, config.target_vocab, bias=config.output_bias)
    if config.tie == "none":
        nn.init.normal_(logits.weight, std=width**-0.5)
    else:
        logits.weight = target.weight
    if config.output_bias:
        nn.init.zeros_(logits.bias)
    return target, source, logits


def close(logits: nn.Linear, closed_V: Tensor) -> None:
    """Give the output layer the bias of tokens that are never predicted where `closed_V` is true."""
    with torch.no_grad():
        logits.bias.masked_fill_(closed_V.to(logits.bias.device), CLOSED)


def reopen(logits: nn.Linear, seen_V: Tensor) -> int:
    """Give closed tokens the least bias of the open ones where `seen_V` is true. Return their number."""
    if (kept := open_tokens(logits.bias)) is None or not len(kept):
        return 0
    closed_V = seen_V.clone()
    closed_V[kept] = False
    with torch.no_grad():
        logits.bias.masked_fill_(closed_V, float(logits.bias[kept].min()))
    return int(closed_V.sum())


def open_tokens(bias_V: Tensor | None) -> Tensor | None:
    """The ids of the tokens that may be predicted, if others are closed; None if all may be."""
    if bias_V is None:
        return None
    open_V = bias_V.detach() > CLOSED / 2
    return None if bool(open_V.all()) else open_V.nonzero()[:, 0]
