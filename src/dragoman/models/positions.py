"""Positional encodings: how a model without recurrence knows the order of its input (section 3.5).

T length, E model width.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Layout = Literal["sinusoidal", "sinusoidal-halves"]


def sinusoidal(length: int, width: int, layout: Layout = "sinusoidal", start: int = 0) -> Tensor:
    """table_TE of positions start .. start + length - 1, float32, computed in float64.

    PE(pos, 2i) = sin(pos / 10000^(2i/E)) and PE(pos, 2i+1) = cos of the same, section 3.5.
    "sinusoidal" interleaves sines and cosines as the paper writes them; "sinusoidal-halves" puts
    all sines before all cosines, as tensor2tensor, Marian and others do. The two differ by a
    permutation of the columns.
    """
    position_T1 = torch.arange(start, start + length, dtype=torch.float64).unsqueeze(1)
    pairs = (width + 1) // 2
    rate = 10000.0 ** (-2 * torch.arange(pairs, dtype=torch.float64) / width)
    angle = position_T1 * rate
    if layout == "sinusoidal":
        table_TE = torch.stack((angle.sin(), angle.cos()), dim=2).flatten(1)[:, :width]
    else:
        table_TE = torch.cat((angle.sin(), angle.cos()[:, : width - pairs]), dim=1)
    return table_TE.float()


class SinusoidalPositions(nn.Module):
    """Adds the sinusoidal table to the embeddings. No parameters and no greatest length."""

    table_TE: Tensor

    def __init__(self, width: int, layout: Layout) -> None:
        super().__init__()
        self.layout: Layout = layout
        self.register_buffer("table_TE", sinusoidal(256, width, layout), persistent=False)

    def forward(self, x_BTE: Tensor, start: int = 0) -> Tensor:
        """x_BTE plus the table's rows from position `start` on."""
        end = start + x_BTE.shape[1]
        if end > len(self.table_TE):
            table_TE = sinusoidal(max(end, 2 * len(self.table_TE)), x_BTE.shape[2], self.layout)
            self.table_TE = table_TE.to(self.table_TE.device, self.table_TE.dtype)
        return x_BTE + self.table_TE[start:end].to(x_BTE.dtype)
