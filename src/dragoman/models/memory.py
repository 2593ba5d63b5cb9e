"""What passes from an encoder to a decoder, and what the rows of a sentence share while it decodes.

B batch, S source length, E model width, N decoding rows, K rows of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves for the decoder. An architecture may add to it: one entry a sentence."""

    states_BSE: Tensor
    visible_BS: Tensor  # bool, True where a source token stands

    def select(self, rows_B: Tensor) -> Self:
        """The memory of those sentences, in that order."""
        return type(self)(**{f.name: getattr(self, f.name).index_select(0, rows_B) for f in fields(self)})


def visible(source_BS: Tensor, source_len_B: Tensor) -> Tensor:
    """visible_BS: True where a source token stands, False on padding."""
    return torch.arange(source_BS.shape[1], device=source_BS.device) < source_len_B[:, None]


@dataclass(frozen=True)
class Shared:
    """Tensors with one entry for each of B sentences, read by N rows, N / B of each, side by side."""

    tensors: tuple[Tensor, ...]
    sentence_N: Tensor  # which of the B sentences a row translates

    @classmethod
    def of(cls, *tensors: Tensor) -> Shared:
        """With one row a sentence, as decoding begins."""
        return cls(tensors, torch.arange(len(tensors[0]), device=tensors[0].device))

    def group(self, x_N1E: Tensor) -> Tensor:
        """x_BKE: the rows of a sentence as so many queries to what they share."""
        return x_N1E.reshape(len(self.tensors[0]), -1, x_N1E.shape[-1])

    def select(self, rows_N: Tensor) -> Shared:
        """Rows may be repeated, reordered and left out."""
        sentence_N = self.sentence_N.index_select(0, rows_N)
        if torch.equal(sentence_N, self.sentence_N):
            return self
        kept_B, count_B = torch.unique_consecutive(sentence_N, return_counts=True)
        if int(count_B.min()) != int(count_B.max()):  # uneven: every row keeps its own copy
            kept_B = sentence_N
        tensors = self.tensors
        if len(kept_B) != len(tensors[0]) or not torch.equal(kept_B, torch.arange(len(kept_B)).to(kept_B)):
            tensors = tuple(tensor.index_select(0, kept_B) for tensor in tensors)
        rows_of_each = len(sentence_N) // len(kept_B)
        renumbered_N = torch.arange(len(kept_B), device=rows_N.device).repeat_interleave(rows_of_each)
        return Shared(tensors, renumbered_N)
