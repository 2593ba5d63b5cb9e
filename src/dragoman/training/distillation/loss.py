"""The loss of distillation, and the teachers' K tokens and probabilities at each target position of a batch.

B batch, T target length, N target positions without padding, K tokens of a position, C copies (2 for R-Drop).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class TaughtRows:
    """The teachers' tokens at N positions, K different ones each. They are `share` of the loss, 0 to 1."""

    ids_NK: Tensor
    p_NK: Tensor
    share: float

    def weighted(self, copies: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """ids_CNK, and weight_CNK: the probabilities times the share."""
        weight_NK = self.share * self.p_NK.to(dtype)
        return self.ids_NK.expand(copies, -1, -1), weight_NK.expand(copies, -1, -1)

    def renumbered(self, place_V: Tensor, vocab: int) -> TaughtRows:
        """The same in a vocabulary of `vocab` tokens, at least K, in which a token is number place_V[token].

        A token without a place, -1, is replaced by one that its row lacks, with probability 0.
        """
        ids_NK = place_V[self.ids_NK]
        gone_NK = ids_NK < 0
        if not gone_NK.any():
            return replace(self, ids_NK=ids_NK)
        # A row has at most K of them, and lacks at least K of the first 2K tokens.
        some = min(2 * ids_NK.shape[1], vocab)
        place_NK = ids_NK.clamp(max=some).masked_fill(gone_NK, some)
        used_NC = gone_NK.new_zeros(len(ids_NK), some + 1).scatter_(1, place_NK, True)[:, :some]
        unused_NC = used_NC.byte().argsort(dim=1, stable=True)  # the unused ones, then the others
        other_NK = unused_NC.gather(1, (gone_NK.cumsum(1) - 1).clamp(min=0))
        return replace(
            self, ids_NK=torch.where(gone_NK, other_NK, ids_NK), p_NK=self.p_NK.masked_fill(gone_NK, 0.0)
        )


@dataclass(frozen=True)
class Taught:
    """The teachers' tokens for the targets of a batch, padded as they are. The end is a target."""

    ids_BTK: Tensor
    p_BTK: Tensor  # 0 at padding
    share: float

    def rows(self, real_BT: Tensor) -> TaughtRows:
        """The tokens at positions that are not padding, pair after pair."""
        return TaughtRows(self.ids_BTK[real_BT], self.p_BTK[real_BT], self.share)

    def some(self, pairs: slice, length: int) -> Taught:
        """The tokens of some pairs, with at most `length` targets each."""
        return Taught(self.ids_BTK[pairs, :length], self.p_BTK[pairs, :length], self.share)

    def to(self, device: torch.device) -> Taught:
        """The same on that device."""
        ids_BTK = self.ids_BTK.to(device, non_blocking=True)
        return Taught(ids_BTK, self.p_BTK.to(device, non_blocking=True), self.share)


def padded(lessons: list[Array], share: float) -> Taught:
    """Put the lessons of the pairs of a batch together. A lesson has T rows of K entries: `id` and `p`."""
    longest, width = max(map(len, lessons)), lessons[0].shape[1]
    ids_BTK = np.zeros((len(lessons), longest, width), np.int64)
    p_BTK = np.zeros((len(lessons), longest, width), np.float32)
    for number, lesson in enumerate(lessons):
        ids_BTK[number, : len(lesson)] = lesson["id"]
        p_BTK[number, : len(lesson)] = lesson["p"]
    return Taught(torch.from_numpy(ids_BTK), torch.from_numpy(p_BTK), share)
