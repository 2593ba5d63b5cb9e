"""The embeddings and the layer before the softmax, which every architecture has (section 3.4)."""

from __future__ import annotations

from torch import nn

from dragoman.models.shapes import ModelConfig


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
