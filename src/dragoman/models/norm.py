"""Layer normalisation (Ba et al. 2016), in one pass over memory where that can be had."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman import native


class LayerNorm(nn.LayerNorm):
    """torch.nn.LayerNorm over the last dimension, with weight and bias."""

    def __init__(self, width: int) -> None:
        super().__init__(width)

    def forward(self, x: Tensor) -> Tensor:
        """x normalised; float32 or bfloat16 inside the loops in C, else as PyTorch does it."""
        if torch.is_grad_enabled() and native.serves(x):
            return native.layer_norm(x, self.weight, self.bias, self.eps)
        return super().forward(x)
