"""Lists of layers with a type, a linear layer of several matrices, and layer normalisation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

import torch
from torch import Tensor, nn

from dragoman.models import loops as native

Layer = TypeVar("Layer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Layer]):
    """Layers of one type, from the input to the output: `nn.ModuleList` for a type checker."""

    if TYPE_CHECKING:

        def __init__(self, layers: Iterable[Layer]) -> None: ...
        def __iter__(self) -> Iterator[Layer]: ...
        @overload
        def __getitem__(self, index: slice) -> Self: ...
        @overload
        def __getitem__(self, index: int) -> Layer: ...
        def __getitem__(self, index: int | slice) -> Layer | Self: ...


class Blocks(nn.Linear):
    """Several square matrices of one width as one, so that all or some of them take one product."""

    def __init__(self, width: int, blocks: int, *, bias: bool) -> None:
        super().__init__(width, blocks * width, bias=bias)
        self.blocks, self.biased = blocks, bias

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """The outputs of blocks `first` to `last` - 1 side by side, of all by default."""
        end = None if last is None else last * self.in_features
        rows = slice(first * self.in_features, end)
        return nn.functional.linear(x, self.weight[rows], self.bias[rows] if self.biased else None)


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm` (Ba et al. 2016). A loop in C for training on a CPU, which sums gradients in float32."""

    def forward(self, x: Tensor) -> Tensor:
        """out, with the shape of x."""
        if torch.is_grad_enabled() and native.serves(x, self.weight, self.bias):
            return native.layer_norm(x, self.weight, self.bias, self.eps)
        return super().forward(x)
