"""The output of an encoder, and the part of it that the rows of a sentence share while decoding.

B batch, S source length, E model width, N decoding rows, K rows of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Generic, Self, TypeVar

import torch
from torch import Tensor


@dataclass(frozen=True)
class PerSentence:
    """Base of a dataclass whose fields are tensors, or tuples of tensors, with one entry a sentence."""

    def select(self, sentences_B: Tensor) -> Self:
        """Return the entries of these sentences, in this order."""

        def pick(value: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
            if isinstance(value, Tensor):
                return value.index_select(0, sentences_B)
            return tuple(tensor.index_select(0, sentences_B) for tensor in value)

        return type(self)(**{field.name: pick(getattr(self, field.name)) for field in fields(self)})


@dataclass(frozen=True)
class Memory(PerSentence):
    """The output of an encoder. An architecture may add fields."""

    states_BSE: Tensor
    visible_BS: Tensor  # bool, True for a source token


Source = TypeVar("Source", bound=PerSentence)


@dataclass(frozen=True)
class Shared(Generic[Source]):
    """The encoded B sources, as N decoding rows read them. Each sentence has N / B rows, side by side."""

    source: Source
    sentence_N: Tensor  # which of the B sentences a row translates
    sentences: int  # B

    @classmethod
    def one_row_each(cls, source: Source, memory: Memory) -> Shared[Source]:
        """One row for each sentence in `memory`, as decoding begins."""
        visible_BS = memory.visible_BS
        return cls(source, torch.arange(len(visible_BS), device=visible_BS.device), len(visible_BS))

    def group(self, x_N1E: Tensor) -> Tensor:
        """x_BKE: group rows by sentence, so that they share keys and values."""
        return x_N1E.reshape(self.sentences, -1, x_N1E.shape[-1])

    def select(self, rows_N: Tensor) -> Shared[Source]:
        """Return the shared part of these rows. They may repeat, reorder and drop rows."""
        sentence_N = self.sentence_N.index_select(0, rows_N)
        if torch.equal(sentence_N, self.sentence_N):
            return self
        kept_B, count_B = torch.unique_consecutive(sentence_N, return_counts=True)
        if int(count_B.min()) != int(count_B.max()):  # uneven: every row keeps its own copy
            kept_B = sentence_N
        kept, source = len(kept_B), self.source
        if kept != self.sentences or not torch.equal(kept_B, torch.arange(kept).to(kept_B)):
            source = source.select(kept_B)
        renumbered_N = torch.arange(kept, device=rows_N.device).repeat_interleave(len(sentence_N) // kept)
        return Shared(source, renumbered_N, kept)
