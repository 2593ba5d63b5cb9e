"""Scaled dot-product and multi-head attention (sections 3.2.1 and 3.2.2), masks, and the key-value cache.

B batch, T queries, S keys, H heads, D head width, E model width, N decoding rows.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from dragoman import native
from dragoman.models.dropout import dropout


def attention_weights(q_BHTD: Tensor, k_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
    """weights_BHTS = softmax(QK^T / sqrt(D) + bias): the weighting in eq. 1.

    `bias` is added to the logits, broadcast over them: 0 where a key may be seen, -inf where not.
    """
    logits_BHTS = (q_BHTD * (1 / math.sqrt(q_BHTD.shape[-1]))) @ k_BHSD.transpose(-2, -1)
    if bias is not None:
        logits_BHTS = logits_BHTS + bias
    return logits_BHTS.softmax(-1)


def attend(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None, drop: float = 0.0
) -> Tensor:
    """softmax(QK^T / sqrt(D)) V: eq. 1, section 3.2.1. `drop` is the dropout on the weights."""
    learns = torch.is_grad_enabled() and not (bias is not None and bias.requires_grad)
    if learns and not drop and native.serves(q_BHTD, k_BHSD, v_BHSD):
        return native.attention(q_BHTD, k_BHSD, v_BHSD, bias)
    return dropout(attention_weights(q_BHTD, k_BHSD, bias), drop) @ v_BHSD


def padding_bias(visible_BS: Tensor, dtype: torch.dtype) -> Tensor:
    """bias_B11S: -inf on padding keys."""
    bias_BS = torch.zeros(visible_BS.shape, dtype=dtype, device=visible_BS.device)
    return bias_BS.masked_fill_(~visible_BS, -math.inf)[:, None, None, :]


def causal_bias(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """bias_TT: -inf above the diagonal, so that position t sees positions up to t (section 3.2.3).

    Padding stands behind the tokens, so no token sees it and the targets need no other mask.
    """
    return torch.full((length, length), -math.inf, dtype=dtype, device=device).triu_(1)


class Attention(nn.Module):
    """Multi-head attention, section 3.2.2: MultiHead(Q, K, V) = Concat(head_1 .. head_H) W^O.

    The projections W^Q, W^K, W^V of all heads are the three blocks of `project`, so that
    self-attention takes one product. Biases are no part of the paper's formula; PyTorch,
    Marian and fairseq have them, and so does this module if asked.
    """

    def __init__(self, width: int, heads: int, *, drop: float = 0.0, bias: bool = False) -> None:
        super().__init__()
        self.width, self.heads, self.drop = width, heads, drop
        self.project = nn.Linear(width, 3 * width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)
        for block in (*self.project.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(block)
        if bias:
            nn.init.zeros_(self.project.bias)
            nn.init.zeros_(self.output.bias)

    def split(self, x_BTE: Tensor) -> Tensor:
        """(B, T, n E) -> (B, H, T, D) for one block, as a view."""
        b, t, _ = x_BTE.shape
        return x_BTE.view(b, t, self.heads, -1).transpose(1, 2)

    def queries(self, x_BTE: Tensor) -> Tensor:
        """q_BHTD = x W^Q."""
        return self.split(self._blocks(x_BTE, 0, 1))

    def keys_values(self, x_BSE: Tensor) -> tuple[Tensor, Tensor]:
        """k_BHSD, v_BHSD = x W^K, x W^V."""
        k_BSE, v_BSE = self._blocks(x_BSE, 1, 3).chunk(2, -1)
        return self.split(k_BSE), self.split(v_BSE)

    def queries_keys_values(self, x_BTE: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v of self-attention from one product."""
        q, k, v = self.project(x_BTE).chunk(3, -1)
        return self.split(q), self.split(k), self.split(v)

    def join(self, q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
        """Attends and applies W^O: out_BTE."""
        heads_BHTD = attend(q_BHTD, k_BHSD, v_BHSD, bias, self.drop if self.training else 0.0)
        return self.output(heads_BHTD.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def forward(self, x_BTE: Tensor, memory_BSE: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """Self-attention over `x_BTE`, or attention from it to `memory_BSE`."""
        if memory_BSE is None:
            q, k, v = self.queries_keys_values(x_BTE)
        else:
            q, (k, v) = self.queries(x_BTE), self.keys_values(memory_BSE)
        return self.join(q, k, v, bias)

    def _blocks(self, x: Tensor, first: int, last: int) -> Tensor:
        part = slice(first * self.width, last * self.width)
        weight, bias = self.project.weight, cast(Tensor | None, self.project.bias)
        return nn.functional.linear(x, weight[part], None if bias is None else bias[part])


class KeyValueCache:
    """Keys and values of the tokens decoded so far, for one layer and N rows.

    The buffers are allocated a block at a time: a step writes in place and copies only when a
    block is full, and a reordering of rows copies little that is not filled.
    """

    BLOCK = 16

    def __init__(self, keys_NHTD: Tensor | None = None, values_NHTD: Tensor | None = None, length: int = 0):
        self.keys_NHTD, self.values_NHTD, self.length = keys_NHTD, values_NHTD, length

    def append(self, k_NH1D: Tensor, v_NH1D: Tensor) -> tuple[Tensor, Tensor]:
        """Takes in one token a row; returns all keys and values so far, (N, H, length, D)."""
        if self.keys_NHTD is None or self.values_NHTD is None:
            n, h, _, d = k_NH1D.shape
            self.keys_NHTD = k_NH1D.new_empty(n, h, self.BLOCK, d)
            self.values_NHTD = v_NH1D.new_empty(n, h, self.BLOCK, d)
        elif self.length == self.keys_NHTD.shape[2]:
            more = (0, 0, 0, self.BLOCK)
            self.keys_NHTD = nn.functional.pad(self.keys_NHTD, more)
            self.values_NHTD = nn.functional.pad(self.values_NHTD, more)
        self.keys_NHTD[:, :, self.length] = k_NH1D[:, :, 0]
        self.values_NHTD[:, :, self.length] = v_NH1D[:, :, 0]
        self.length += 1
        return self.keys_NHTD[:, :, : self.length], self.values_NHTD[:, :, : self.length]

    def select(self, rows_N: Tensor) -> KeyValueCache:
        """The cache of those rows, in that order."""
        if self.keys_NHTD is None or self.values_NHTD is None:
            return KeyValueCache()
        return KeyValueCache(
            self.keys_NHTD.index_select(0, rows_N), self.values_NHTD.index_select(0, rows_N), self.length
        )
