"""Scaled dot-product and multi-head attention (sections 3.2.1 and 3.2.2), masks, and the key-value cache.

B batch, T queries, S keys, H heads, D head width, E model width, N decoding rows, W keys of a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from dragoman import native
from dragoman.models.dropout import dropout
from dragoman.models.positions import AttentionPositions


def attention_logits(q_BHTD: Tensor, k_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
    """logits_BHTS = QK^T / sqrt(D) + bias.

    `bias` is broadcast over the logits: 0 where a key may be seen, -inf where not.
    """
    logits_BHTS = (q_BHTD * (1 / math.sqrt(q_BHTD.shape[-1]))) @ k_BHSD.transpose(-2, -1)
    return logits_BHTS if bias is None else logits_BHTS + bias


def attention_weights(q_BHTD: Tensor, k_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
    """weights_BHTS = softmax(QK^T / sqrt(D) + bias): the weighting in eq. 1."""
    return attention_logits(q_BHTD, k_BHSD, bias).softmax(-1)


def attend(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None, drop: float = 0.0
) -> Tensor:
    """softmax(QK^T / sqrt(D)) V: eq. 1, section 3.2.1. `drop` is the dropout on the weights."""
    learns = torch.is_grad_enabled() and not (bias is not None and bias.requires_grad)
    if learns and not drop and native.serves(q_BHTD, k_BHSD, v_BHSD):
        return native.attention(q_BHTD, k_BHSD, v_BHSD, bias)
    if q_BHTD.device.type != "cpu":
        return attend_fused(q_BHTD, k_BHSD, v_BHSD, bias, drop)
    return dropout(attention_weights(q_BHTD, k_BHSD, bias), drop) @ v_BHSD


def attend_fused(
    q_BHTD: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None, drop: float = 0.0
) -> Tensor:
    """`attend` in one kernel, which never holds the weights: for GPUs (FlashAttention, Dao et al. 2022).

    On a CPU its backward pass is slower than plain products where sentences are short.
    """
    bias = None if bias is None else bias.to(q_BHTD.dtype)
    return nn.functional.scaled_dot_product_attention(q_BHTD, k_BHSD, v_BHSD, bias, drop)


def padding_bias(visible_BS: Tensor, dtype: torch.dtype) -> Tensor:
    """bias_B11S: -inf on padding keys."""
    bias_BS = torch.zeros(visible_BS.shape, dtype=dtype, device=visible_BS.device)
    return bias_BS.masked_fill_(~visible_BS, -math.inf)[:, None, None, :]


def causal_bias(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """bias_TT: -inf above the diagonal, so that position t sees positions up to t (section 3.2.3).

    Padding stands behind the tokens, so no token sees it and the targets need no other mask.
    """
    return torch.full((length, length), -math.inf, dtype=dtype, device=device).triu_(1)


@dataclass(frozen=True)
class Sight:
    """Which keys each query of a self-attention sees: all, but those that `bias` hides."""

    bias: Tensor  # added to the logits, broadcast over them: -inf where a key is hidden
    length: int

    def distance_TS(self) -> Tensor:
        """Key position - query position."""
        position_T = torch.arange(self.length, device=self.bias.device)
        return position_T - position_T[:, None]

    def queries(self, x_BHTD: Tensor) -> Tensor:
        """The queries, laid out as they are to attend."""
        return x_BHTD

    def keys(self, x_BHTD: Tensor) -> Tensor:
        """Keys or values, laid out beside the queries that see them."""
        return x_BHTD

    def back(self, x_BHTD: Tensor) -> Tensor:
        """What the queries found, in order again."""
        return x_BHTD

    def whole(self, x_BHTS: Tensor) -> Tensor:
        """What belongs to each query and key, as one matrix of all pairs."""
        return x_BHTS


class Window:
    """Each query sees r keys: restricted self-attention, section 4 and table 1. A `Sight`.

    They are its own and those around it, or those before it where the future is hidden. Queries stand
    in blocks, and a block is put beside the keys that any of its queries sees, fewer than twice as many
    as the larger of block and window. So time and memory grow as n r, and no n x n matrix exists.
    """

    BLOCK = 16  # the least: products of smaller blocks are slow

    def __init__(self, visible_BS: Tensor, dtype: torch.dtype, r: int, *, causal: bool) -> None:
        self.before = r - 1 if causal else r // 2
        self.after = r - 1 - self.before
        self.block = max(r, self.BLOCK)
        self.batch, self.length = visible_BS.shape
        self.blocks = -(-self.length // self.block)
        self.span = self.before + self.block + self.after  # W
        seen_BGW = self._padded(visible_BS, 1).unfold(1, self.span, self.block)
        near_TW = self._reach(visible_BS.device)
        # A token always sees itself, lest one of padding sees nothing, and nothing / 0 spreads.
        own_TW = self.distance_TS(visible_BS.device) == 0
        shown = near_TW & seen_BGW.flatten(0, 1)[:, None, :] | own_TW
        self.bias = torch.zeros(shown.shape, dtype=dtype, device=shown.device)
        self.bias = self.bias.masked_fill_(~shown, -math.inf)[:, None]

    def distance_TS(self, device: torch.device | None = None) -> Tensor:
        """Key position - query position, the same in each block."""
        device = device or self.bias.device
        key_W = torch.arange(self.span, device=device) - self.before
        return key_W - torch.arange(self.block, device=device)[:, None]

    def queries(self, x_BHTD: Tensor) -> Tensor:
        """Blocks in the place of sentences."""
        after = self.blocks * self.block - self.length
        x_BHTD = nn.functional.pad(x_BHTD, (0, 0, 0, after))
        b, h, _, d = x_BHTD.shape
        return x_BHTD.view(b, h, self.blocks, self.block, d).transpose(1, 2).flatten(0, 1)

    def keys(self, x_BHTD: Tensor) -> Tensor:
        """For each block the keys that any of its queries sees."""
        x_BHGDW = self._padded(x_BHTD, 2).unfold(2, self.span, self.block)
        return x_BHGDW.permute(0, 2, 1, 4, 3).flatten(0, 1)

    def back(self, x_BHTD: Tensor) -> Tensor:
        """Blocks back in their sentences."""
        x_BGHTD = x_BHTD.reshape(self.batch, self.blocks, *x_BHTD.shape[1:])
        return x_BGHTD.transpose(1, 2).flatten(2, 3)[:, :, : self.length]

    def whole(self, x_BHTS: Tensor) -> Tensor:
        """The blocks on the diagonal of an n x n matrix, 0 where no query sees a key: for looking at."""
        x_BGHTS = x_BHTS.view(self.batch, self.blocks, *x_BHTS.shape[1:])
        queries = self.blocks * self.block
        matrix = x_BHTS.new_zeros(self.batch, x_BHTS.shape[1], queries, queries + self.before + self.after)
        for number, x_BHTW in enumerate(x_BGHTS.unbind(1)):
            first = number * self.block
            matrix[:, :, first : first + self.block, first : first + self.span] = x_BHTW
        return matrix[:, :, : self.length, self.before : self.before + self.length]

    def _reach(self, device: torch.device) -> Tensor:
        distance_TW = self.distance_TS(device)
        return (distance_TW >= -self.before) & (distance_TW <= self.after)

    def _padded(self, x: Tensor, dimension: int) -> Tensor:
        """With zeros where the first and last blocks see beyond the sentence."""
        after = self.blocks * self.block - self.length + self.after
        return nn.functional.pad(x, (0, 0) * (x.dim() - dimension - 1) + (self.before, after))


class MultiHead(nn.Module):
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

    def merge(self, heads_BHTD: Tensor) -> Tensor:
        """Concat(head_1 .. head_H) W^O: out_BTE."""
        return self.output(heads_BHTD.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    @property
    def dropped(self) -> float:
        """The dropout on the weights, now."""
        return self.drop if self.training else 0.0

    def _blocks(self, x: Tensor, first: int, last: int) -> Tensor:
        part = slice(first * self.width, last * self.width)
        weight, bias = self.project.weight, cast(Tensor | None, self.project.bias)
        return nn.functional.linear(x, weight[part], None if bias is None else bias[part])


class CrossAttention(MultiHead):
    """Multi-head attention of the decoder to the encoder's output."""

    def forward(self, x_BTE: Tensor, memory_BSE: Tensor, bias: Tensor | None = None) -> Tensor:
        """out_BTE."""
        return self.read(x_BTE, *self.keys_values(memory_BSE), bias)

    def read(self, x_BTE: Tensor, k_BHSD: Tensor, v_BHSD: Tensor, bias: Tensor | None = None) -> Tensor:
        """out_BTE from keys and values that are there already."""
        return self.merge(attend(self.queries(x_BTE), k_BHSD, v_BHSD, bias, self.dropped))

    def weights(self, x_BTE: Tensor, memory_BSE: Tensor, bias: Tensor | None = None) -> Tensor:
        """weights_BHTS by which `forward` sums the values."""
        return attention_weights(self.queries(x_BTE), self.keys_values(memory_BSE)[0], bias)


class SelfAttention(MultiHead):
    """Multi-head attention of a sequence to itself: the place of positions, and of a window."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        drop: float = 0.0,
        bias: bool = False,
        positions: AttentionPositions | None = None,
        window: int | None = None,
    ) -> None:
        super().__init__(width, heads, drop=drop, bias=bias)
        self.positions = positions or AttentionPositions()
        self.window = window

    def forward(self, x_BTE: Tensor, sight: Sight | Window) -> Tensor:
        """out_BTE: each position attends to those it sees."""
        q, k, v = self.queries_keys_values(x_BTE)
        q, k = sight.queries(self.positions.turn(q)), sight.keys(self.positions.turn(k))
        return self.merge(sight.back(self._attend(q, k, sight.keys(v), sight.distance_TS, sight.bias)))

    def weights(self, x_BTE: Tensor, sight: Sight | Window) -> Tensor:
        """weights_BHTS by which `forward` sums the values, 0 where a key is not seen."""
        q, k, _ = self.queries_keys_values(x_BTE)
        q, k = sight.queries(self.positions.turn(q)), sight.keys(self.positions.turn(k))
        return sight.whole(attention_weights(q, k, self._bias(q, sight.distance_TS, sight.bias)))

    def step(self, x_N1E: Tensor, cache: KeyValueCache) -> Tensor:
        """out_N1E of one more token a row, which sees those before it."""
        q, k, v = self.queries_keys_values(x_N1E)
        q, k = self.positions.turn(q, cache.length), self.positions.turn(k, cache.length)
        k, v = cache.append(k, v)
        if self.window is not None:
            k, v = k[:, :, -self.window :], v[:, :, -self.window :]
        return self.merge(
            self._attend(q, k, v, lambda: torch.arange(1 - k.shape[2], 1, device=k.device)[None])
        )

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, distance: Callable[[], Tensor], bias: Tensor | None = None
    ) -> Tensor:
        bias = self._bias(q, distance, bias)
        if not self.positions.on_values:
            return attend(q, k, v, bias, self.dropped)
        weights = dropout(attention_weights(q, k, bias), self.dropped)
        return weights @ v + self.positions.values(weights, distance())

    def _bias(self, q: Tensor, distance: Callable[[], Tensor], bias: Tensor | None) -> Tensor | None:
        """`bias`, and what positions add to the logits."""
        if not self.positions.by_distance:  # the distances are n x n
            return bias
        own = self.positions.bias(q, distance())
        return own if bias is None else bias + own


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
