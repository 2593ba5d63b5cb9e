"""The state of a Transformer's decoder between two steps, so that a step computes one token only.

B batch, S source length, N decoding rows, H heads, T tokens that the buffers have room for, D head width,
E model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from dragoman.models.layers.memory import PerSentence, Shared


class KeyValueCache:
    """The cache of one self-attention layer for N rows.

    Buffers grow by a block at a time. A step writes in place and copies only when a block is full.
    Blocks are small, so selecting rows copies little unused space.
    """

    BLOCK = 16

    def __init__(self, keys_NHTD: Tensor | None = None, values_NHTD: Tensor | None = None, length: int = 0):
        self.keys_NHTD, self.values_NHTD, self.length = keys_NHTD, values_NHTD, length

    def append(self, k_NH1D: Tensor, v_NH1D: Tensor) -> tuple[Tensor, Tensor]:
        """Add one token to each row. Return all keys and values so far, (N, H, length, D)."""
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
        """Return the cache of these rows, in this order."""
        if self.keys_NHTD is None or self.values_NHTD is None:
            return KeyValueCache()
        return KeyValueCache(
            self.keys_NHTD.index_select(0, rows_N), self.values_NHTD.index_select(0, rows_N), self.length
        )


@dataclass
class RecurrentCache:
    """The cache of one recurrent layer for N rows: its state after the tokens so far, at first zeros."""

    state_NE: Tensor | None = None

    def select(self, rows_N: Tensor) -> RecurrentCache:
        """Return the cache of these rows, in this order."""
        return RecurrentCache(None if self.state_NE is None else self.state_NE.index_select(0, rows_N))


@dataclass(frozen=True)
class SourceKeys(PerSentence):
    """The encoded source, which decoding reads at every step."""

    bias_B11S: Tensor  # -inf on padding keys
    length_B: Tensor
    keys_BHSD: tuple[Tensor, ...]  # one for each layer of the decoder
    values_BHSD: tuple[Tensor, ...]


@dataclass
class TransformerState:
    """A decoder between two steps: N rows, equally many for each of B sentences."""

    caches: Sequence[KeyValueCache | RecurrentCache]  # one for each layer
    shared: Shared[SourceKeys]
    length: int = 0

    def select(self, rows_N: Tensor) -> TransformerState:
        """Return the state of these rows. They may repeat, reorder and drop rows."""
        caches = [cache.select(rows_N) for cache in self.caches]
        return TransformerState(caches, self.shared.select(rows_N), self.length)
