"""Low-rank adaptation of a trained model: LoRA, Hu et al. 2021. Sections and equations are that paper's.

A matrix W of the model stays as it is. The product of two narrow matrices, which learn, is added:
W x + (alpha / R) B A x (eq. 3, section 4.1). B starts as zero, so the first output equals the model
without an adapter. `folder/merge.py` adds the products to the matrices.

A linear layer gets its part as the module `lora` and a hook that adds it, so the code of the models does
not change, and neither do the names of their weights. Where a layer stores several matrices as one
(`Blocks`), each has its own A and B.

R rank, I inputs, O outputs of a layer, K blocks of a layer, C = K * R.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from dragoman.base.errors import ConfigError
from dragoman.models.adapter import DOWN, UP, AdaptedPart, AdapterShape, block_sizes
from dragoman.models.layers.linear import Blocks
from dragoman.models.seq2seq import AnySeq2Seq


def low_rank_product(down_CI: Tensor, up_OR: Tensor, scale: float) -> Tensor:
    """weight_OI in float64: scale * B A for each block, one below the other."""
    blocks = len(down_CI) // up_OR.shape[1]
    sizes = block_sizes(len(up_OR), down_CI.shape[1], blocks)
    pairs = zip(up_OR.double().split_with_sizes(sizes), down_CI.double().chunk(blocks), strict=True)
    return torch.cat([up @ down for up, down in pairs]) * scale


def learn_rows(model: AnySeq2Seq, extended: tuple[int, int]) -> None:
    """Let the rows of new tokens learn beside the adapter, which alone cannot make a token likely.

    `extended` has the sizes of source and target vocabulary before. `Learner` puts the rows of old tokens
    back after each update: they are in the same matrices.
    """
    source, target = extended
    for layer, old in (
        (model.source_embedding, source),
        (model.target_embedding, target),
        (model.logits, target),
    ):
        for weight in layer.parameters(recurse=False):
            weight.requires_grad_(True)
            weight.old_rows = old  # type: ignore[attr-defined]


class LowRank(nn.Module):
    """(alpha / R) B A x for a linear layer."""

    hook: RemovableHandle

    def __init__(self, linear: nn.Linear, shape: AdapterShape) -> None:
        super().__init__()
        self.sizes = linear.sizes if isinstance(linear, Blocks) else (linear.out_features,)
        self.shape = shape
        self.down = nn.Parameter(linear.weight.new_empty(len(self.sizes) * shape.rank, linear.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(linear.out_features, shape.rank))
        nn.init.normal_(self.down, std=linear.in_features**-0.5)  # section 4.1: A is random, B is zero

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """The part of the output of blocks `first` to `last` - 1, side by side as in `Blocks`."""
        down, up = (
            self.down.chunk(len(self.sizes))[first:last],
            self.up.split_with_sizes(self.sizes)[first:last],
        )
        hidden = nn.functional.linear(x, torch.cat(down)).chunk(len(down), -1)
        parts = [nn.functional.linear(h, up_OR) for h, up_OR in zip(hidden, up, strict=True)]
        return torch.cat(parts, -1) * self.shape.scale


def add_lora(
    model: AnySeq2Seq, *, rank: int, alpha: float, on: Sequence[AdaptedPart] = ("attention", "feed_forward")
) -> list[nn.Parameter]:
    """Add an adapter to the linear layers of these parts. Return its parameters, the only ones that learn.

    The model's own weights no longer require gradients. Draws from torch's global generator. Raises
    ConfigError if the model has an adapter, or for values that cannot be used.
    """
    shape = AdapterShape(rank=rank, alpha=alpha, on=tuple(on))
    if lora_weights(model):
        raise ConfigError("this model has an adapter already", hint="merge it, or load the model again")
    layers = [
        layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear) and shape.changes(name)
    ]
    if not layers:
        raise ConfigError(f"the model has no linear layer in {' or '.join(on)}", hint="choose other parts")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for layer in layers:
        layer.lora = LowRank(layer, shape)
        layer.lora.hook = layer.register_forward_hook(_add)
    return list(lora_weights(model).values())


def lora_weights(model: AnySeq2Seq) -> dict[str, nn.Parameter]:
    """The parameters of the model's adapter, by name. Empty if it has none."""
    return {name: p for name, p in model.named_parameters() if name.endswith((DOWN, UP))}


def lora_shape(model: AnySeq2Seq) -> AdapterShape:
    """Rank, alpha and parts of the model's adapter. Raises ConfigError if it has none."""
    for module in model.modules():
        if isinstance(module, LowRank):
            return module.shape
    raise ConfigError("this model has no adapter", hint="add one: add_lora(model, rank=16, alpha=32)")


def _add(linear: nn.Linear, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
    added: Tensor = cast(LowRank, linear.lora)(*arguments)
    return output + added
