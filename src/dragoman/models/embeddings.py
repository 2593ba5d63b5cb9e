"""Embeddings of words, and the layer before the softmax, which may be the same matrix (section 3.4)."""

from __future__ import annotations

from torch import nn

from dragoman.models.shapes import ModelConfig


def embeddings(config: ModelConfig) -> tuple[nn.Embedding, nn.Embedding, nn.Linear]:
    """Target embedding, source embedding and output layer, sharing their weights as `config.tie` says.

    Entries have variance 1 / d_model, so that vectors scaled by sqrt(d_model) have unit variance.
    """
    target = _embedding(config.target_vocab, config.d_model)
    source = target if config.tie == "all" else _embedding(config.source_vocab, config.d_model)
    output = nn.Linear(config.d_model, config.target_vocab, bias=config.output_bias)
    if config.tie == "none":
        nn.init.normal_(output.weight, std=config.d_model**-0.5)
    else:
        output.weight = target.weight
    if config.output_bias:
        nn.init.zeros_(output.bias)
    return target, source, output


def _embedding(vocab: int, width: int) -> nn.Embedding:
    embedding = nn.Embedding(vocab, width)
    nn.init.normal_(embedding.weight, std=width**-0.5)
    return embedding
