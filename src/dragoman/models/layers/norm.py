"""The normalisations of a Transformer: the paper's (section 3.1), and one of later work."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models import loops as native
from dragoman.models.shapes import TransformerOptions


def new_norm(config: TransformerOptions) -> LayerNorm | RMSNorm:
    """Return the normalisation that the configuration names, of the last dimension."""
    match config.norm_kind:
        case "layer":
            return LayerNorm(config.d_model, config.norm_epsilon)
        case "rms":
            return RMSNorm(config.d_model, config.norm_epsilon)


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm` (Ba et al. 2016). A loop in C for training on a CPU, which sums gradients in float32."""

    def forward(self, x: Tensor) -> Tensor:
        """out, with the shape of x."""
        if torch.is_grad_enabled() and native.serves(x, self.weight, self.bias):
            return native.layer_norm(x, self.weight, self.bias, self.eps)
        return super().forward(x)


class RMSNorm(nn.RMSNorm):
    """x / sqrt(mean(x^2) + epsilon) * gain (Zhang and Sennrich 2019, eq. 4), with the same loop in C."""

    def forward(self, x: Tensor) -> Tensor:
        """out, with the shape of x."""
        if torch.is_grad_enabled() and native.serves(x, self.weight):
            return native.layer_norm(x, self.weight, None, self.eps)
        return super().forward(x)
