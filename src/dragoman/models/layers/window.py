"""The keys that a query of self-attention sees: all of them, or its neighbours only (section 4, table 1).

A span is chosen once, when a model is built. It makes a view for each batch. A view lays out queries beside
the keys they see, and has the mask. Both kinds of views have the same methods, so the code of attention is
the same for both.

B batch, T queries, S keys, H heads, D head width, E model width, N decoding rows, G blocks, W keys of a
block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.models.layers.masks import causal_bias, padding_bias
from dragoman.models.shapes import WINDOW_BLOCK


@dataclass(frozen=True)
class FullView:
    """Every query sees every key except those that `bias` hides."""

    bias: Tensor  # added to the logits, broadcast over them: -inf for a hidden key
    length: int

    def distance_TS(self) -> Tensor:
        """Key position - query position."""
        position_T = torch.arange(self.length, device=self.bias.device)
        return position_T - position_T[:, None]

    def queries(self, x_BHTD: Tensor) -> Tensor:
        """Lay out queries for attention."""
        return x_BHTD

    def keys(self, x_BHTD: Tensor) -> Tensor:
        """Lay out keys or values next to the queries that see them."""
        return x_BHTD

    def restore(self, x_BHTD: Tensor) -> Tensor:
        """Put the output of attention back in the order of the sentence."""
        return x_BHTD

    def matrix(self, x_BHTS: Tensor) -> Tensor:
        """Arrange a number for each query and key as one matrix of all pairs."""
        return x_BHTS


class WindowView:
    """Each query sees `width` keys: itself and its neighbours, or itself and its past if `causal`.

    Queries are cut into blocks. A block gets the keys that any of its queries sees, fewer than twice the
    larger of block and window. So time and memory grow as n r for n positions and a window of
    r, and no n x n matrix exists.
    """

    BLOCK = WINDOW_BLOCK

    def __init__(self, visible_BS: Tensor, dtype: torch.dtype, width: int, *, causal: bool) -> None:
        self.before = width - 1 if causal else width // 2
        self.after = width - 1 - self.before
        self.block = max(width, self.BLOCK)
        self.batch, self.length = visible_BS.shape
        self.blocks = -(-self.length // self.block)
        self.reach = self.before + self.block + self.after  # W
        seen_BGW = self._padded(visible_BS, 1).unfold(1, self.reach, self.block)
        distance_TW = self.distance_TS(visible_BS.device)
        near_TW = (distance_TW >= -self.before) & (distance_TW <= self.after)
        # Every token sees itself. Otherwise padding would see nothing, and its softmax would be NaN.
        shown = near_TW & seen_BGW.flatten(0, 1)[:, None, :] | (distance_TW == 0)
        self.bias = torch.zeros(shown.shape, dtype=dtype, device=shown.device)
        self.bias = self.bias.masked_fill_(~shown, -math.inf)[:, None]

    def distance_TS(self, device: torch.device | None = None) -> Tensor:
        """Key position - query position within a block, the same in each."""
        device = device or self.bias.device
        key_W = torch.arange(self.reach, device=device) - self.before
        return key_W - torch.arange(self.block, device=device)[:, None]

    def queries(self, x_BHTD: Tensor) -> Tensor:
        """Cut queries into blocks; the blocks of all sentences are the batch."""
        after = self.blocks * self.block - self.length
        x_BHTD = nn.functional.pad(x_BHTD, (0, 0, 0, after))
        b, h, _, d = x_BHTD.shape
        return x_BHTD.view(b, h, self.blocks, self.block, d).transpose(1, 2).flatten(0, 1)

    def keys(self, x_BHTD: Tensor) -> Tensor:
        """Give each block the keys or values that any of its queries sees."""
        x_BHGDW = self._padded(x_BHTD, 2).unfold(2, self.reach, self.block)
        return x_BHGDW.permute(0, 2, 1, 4, 3).flatten(0, 1)

    def restore(self, x_BHTD: Tensor) -> Tensor:
        """Join the blocks of each sentence again."""
        x_BGHTD = x_BHTD.reshape(self.batch, self.blocks, *x_BHTD.shape[1:])
        return x_BGHTD.transpose(1, 2).flatten(2, 3)[:, :, : self.length]

    def matrix(self, x_BHTS: Tensor) -> Tensor:
        """Put the blocks on the diagonal of an n x n matrix that is 0 elsewhere; for inspection only."""
        x_BGHTS = x_BHTS.view(self.batch, self.blocks, *x_BHTS.shape[1:])
        queries = self.blocks * self.block
        matrix = x_BHTS.new_zeros(self.batch, x_BHTS.shape[1], queries, queries + self.before + self.after)
        for number, x_BHTW in enumerate(x_BGHTS.unbind(1)):
            first = number * self.block
            matrix[:, :, first : first + self.block, first : first + self.reach] = x_BHTW
        return matrix[:, :, : self.length, self.before : self.before + self.length]

    def _padded(self, x: Tensor, dimension: int) -> Tensor:
        """Pad with zeros, because the first and last blocks reach beyond the sentence."""
        after = self.blocks * self.block - self.length + self.after
        return nn.functional.pad(x, (0, 0) * (x.dim() - dimension - 1) + (self.before, after))


AttentionView = FullView | WindowView


@dataclass(frozen=True)
class AttentionSpan:
    """Each query sees `width` keys (restricted self-attention, section 4), or all, as in the paper (None)."""

    width: int | None

    def both_ways(self, x_BSE: Tensor, visible_BS: Tensor) -> AttentionView:
        """View of an encoder: hides padding, and keys outside the window."""
        if self.width is None:
            return FullView(padding_bias(visible_BS, x_BSE.dtype), x_BSE.shape[1])
        return WindowView(visible_BS, x_BSE.dtype, self.width, causal=False)

    def causal(self, x_BTE: Tensor) -> AttentionView:
        """View of a decoder: hides the future, and keys before the window."""
        if self.width is None:
            return FullView(causal_bias(x_BTE.shape[1], x_BTE.dtype, x_BTE.device), x_BTE.shape[1])
        all_BT = torch.ones(x_BTE.shape[:2], dtype=torch.bool, device=x_BTE.device)  # padding comes last
        return WindowView(all_BT, x_BTE.dtype, self.width, causal=True)

    def newest(self, x_NHTD: Tensor) -> Tensor:
        """Return those keys or values that the newest query sees."""
        return x_NHTD if self.width is None else x_NHTD[:, :, -self.width :]
