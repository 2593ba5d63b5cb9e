"""Dropout with a mask that is cheap to draw (section 5.4).

On a CPU, PyTorch draws one random number an element from a serial generator, which takes a third of a small
model's training step. Here one 64-bit word gives four 16-bit numbers, so a quarter of the draws suffice. The
probability is rounded to a multiple of 2**-16.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models import loops as native


def dropout(x: Tensor, p: float, base: Tensor | None = None) -> Tensor:
    """Zero each element of `x` with probability `p`, scale the others by 1 / (1 - p), and add `base`.

    Srivastava et al. 2014. Draws from torch's global generator of the tensor's device.
    """
    if base is not None:
        if p > 0 and native.serves(x, base):
            return native.dropout(x, p, base)
        return base + dropout(x, p)
    if p <= 0:
        return x
    if native.serves(x):
        return native.dropout(x, p)
    if x.device.type != "cpu":
        return nn.functional.dropout(x, p)
    return x * keep_mask(x.shape, p).to(x.dtype).mul_(65536 / (65536 - _dropped(p)))


def keep_mask(shape: torch.Size, p: float) -> Tensor:
    """A bool mask, True with probability 1 - p, which is rounded to a multiple of 2**-16."""
    size = shape.numel()
    words = torch.empty((size + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    numbers = words.view(torch.int16)[:size].view(shape)
    return numbers >= _dropped(p) - 32768


def _dropped(p: float) -> int:
    """How many of 65536 numbers drop an element. Never all: the scale would be infinite."""
    return min(round(p * 65536), 65535)


class Dropout(nn.Module):
    """`dropout` in training mode, the identity otherwise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor, base: Tensor | None = None) -> Tensor:
        """x after dropout, plus `base`."""
        return dropout(x, self.p if self.training else 0.0, base)

    def extra_repr(self) -> str:
        return f"p={self.p}"
