"""Which sentences go into a batch together, and the tensors they become.

Batches are cut from the pairs sorted by length, each as long as its padded size stays within a budget
of tokens. Which pairs of like length meet, and the order of the batches, are drawn anew each epoch. All
of it is a function of the lengths, the seed and the epoch, so a run that is resumed goes through the
same batches.

B batch, S source length, T target length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Ints = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors, padded to the longest."""

    source_BS: Tensor  # ends with end_id
    source_len_B: Tensor
    target_BT: Tensor  # begins with start_id: what the decoder reads
    predict_BT: Tensor  # ends with end_id: what it is to say
    tokens: int  # targets to predict, end included, padding not

    @property
    def padding(self) -> float:
        """The fraction of source and target positions that hold no token."""
        real = int(self.source_len_B.sum()) + self.tokens
        return 1 - real / (self.source_BS.numel() + self.predict_BT.numel())

    def to(self, device: torch.device) -> Batch:
        """The batch on that device."""
        return Batch(
            self.source_BS.to(device, non_blocking=True),
            self.source_len_B.to(device, non_blocking=True),
            self.target_BT.to(device, non_blocking=True),
            self.predict_BT.to(device, non_blocking=True),
            self.tokens,
        )


def plan(
    source_len: Ints, target_len: Ints, *, batch_tokens: int, seed: int, epoch: int, multiple_of: int = 1
) -> list[Ints]:
    """Index groups for one epoch: every pair in exactly one group.

    A group's padded source and its padded target each hold at most `batch_tokens` tokens, end
    included; a single pair over the budget makes a group of its own. The number of groups is a
    multiple of `multiple_of` (ranks x accumulation), reached by halving the largest groups; only
    where there are fewer pairs than that do empty groups make up the number.
    """
    rng = np.random.default_rng((seed, epoch))
    order = _by_length(source_len, target_len, rng)
    cuts, first, widest = [0], 0, 0
    for i, length in enumerate((np.maximum(source_len, target_len)[order] + 1).tolist()):
        widest = max(widest, length)
        if widest * (i + 1 - first) > batch_tokens and i > first:
            cuts.append(i)
            first, widest = i, length
    groups = [group for group in np.split(order, cuts[1:]) if len(group)]
    while len(groups) % multiple_of:
        groups.sort(key=len)
        largest = groups.pop()
        groups += np.array_split(largest, 2)
    return [groups[i] for i in rng.permutation(len(groups))]


def _by_length(source_len: Ints, target_len: Ints, rng: np.random.Generator) -> Ints:
    """The pairs in an order in which neighbours differ little in length on either side.

    The longer side, which the budget bounds, comes first; then the difference of the sides, up and
    down by turns, as one mows a lawn, so that it makes no jump where the longer side grows. Blurring
    the difference by up to a token either way lets pairs meet others each epoch than those of exactly
    their lengths, for 1% more padding.
    """
    longer = np.maximum(source_len, target_len)
    skew = np.subtract(source_len, target_len, dtype=np.float64) + rng.uniform(-1, 1, len(longer))
    turn = (longer + rng.integers(2)) % 2
    return np.lexsort((np.where(turn, skew, -skew), longer))


def collate(
    sources: Sequence[Sequence[int] | Ints],
    targets: Sequence[Sequence[int] | Ints],
    *,
    pad_id: int,
    start_id: int,
    end_id: int,
) -> Batch:
    """Pairs of token sequences as a batch."""
    source_len = [len(source) + 1 for source in sources]
    target_len = [len(target) + 1 for target in targets]
    source = np.full((len(sources), max(source_len, default=1)), pad_id, dtype=np.int64)
    target = np.full((len(targets), max(target_len, default=1)), pad_id, dtype=np.int64)
    predict = target.copy()
    for row, (x, y) in enumerate(zip(sources, targets, strict=True)):
        source[row, : len(x)] = x
        source[row, len(x)] = end_id
        target[row, 0] = start_id
        target[row, 1 : len(y) + 1] = y
        predict[row, : len(y)] = y
        predict[row, len(y)] = end_id
    return Batch(
        torch.from_numpy(source),
        torch.tensor(source_len, dtype=torch.long),
        torch.from_numpy(target),
        torch.from_numpy(predict),
        sum(target_len),
    )
