"""Group sentence pairs into batches, and turn the batches into tensors.

Pairs are sorted by length and cut into batches whose padded size stays within a budget of tokens. Each epoch
draws anew which pairs of similar length share a batch, and the order of the batches. All of it is a function
of the lengths, the seed and the epoch, so a resumed run gets the same batches.

B batch, S source length, T target length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.models.shapes import ModelConfig
from dragoman.training.data.mixture import LARGE, LessonRows, Rows, pools
from dragoman.training.distillation.loss import Taught, padded

Ints = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors, padded to the longest."""

    source_BS: Tensor  # ends with end_id
    source_len_B: Tensor
    target_BT: Tensor  # begins with start_id: the decoder's input
    predict_BT: Tensor  # ends with end_id: the targets of the decoder
    tokens: int  # targets to predict, with the end, without padding
    rows: Ints = field(
        default_factory=lambda: np.empty(0, np.int64)
    )  # of the pairs in their corpus, if known
    taught: Taught | None = None  # the teachers' distributions, if the loss has a share of them

    def __len__(self) -> int:
        return len(self.source_BS)

    @property
    def slots(self) -> int:
        """Positions of both sides, with padding."""
        return self.source_BS.numel() + self.predict_BT.numel()

    def to(self, device: torch.device) -> Batch:
        """Return the batch on that device."""
        return Batch(
            self.source_BS.to(device, non_blocking=True),
            self.source_len_B.to(device, non_blocking=True),
            self.target_BT.to(device, non_blocking=True),
            self.predict_BT.to(device, non_blocking=True),
            self.tokens,
            self.rows,
            None if self.taught is None else self.taught.to(device),
        )


def plan(
    source_len: Ints,
    target_len: Ints,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
    multiple_of: int = 1,
    pool: int = 0,
) -> list[Ints]:
    """Return groups of indices for one epoch. Every pair is in exactly one group.

    The padded sources of a group have at most `batch_tokens` tokens with their ends, and so have its padded
    targets. A single pair above this budget is a group by itself. The number of groups is a multiple of
    `multiple_of` (ranks x accumulation): the largest groups are halved until it is. Groups are empty only if
    there are too few pairs. `pool` counts the plans of one epoch from 1, if it has several.
    """
    rng = np.random.default_rng((seed, epoch, pool) if pool else (seed, epoch))
    order = _by_length(source_len, target_len, rng)
    cuts, first, widest = [0], 0, 0
    for i, length in enumerate((np.maximum(source_len, target_len)[order] + 1).tolist()):
        widest = max(widest, length)
        if widest * (i + 1 - first) > batch_tokens and i > first:
            cuts.append(i)
            first, widest = i, length
    groups = [group for group in np.split(order, cuts[1:]) if len(group)]
    groups = _halved(groups, -len(groups) % multiple_of)
    return [groups[i] for i in rng.permutation(len(groups))]


def _halved(groups: list[Ints], times: int) -> list[Ints]:
    """Halve the largest group `times` times, in the order of sorting by size before each time."""
    if not times:
        return groups
    by_size: dict[int, list[Ints]] = {}
    for group in groups:
        by_size.setdefault(len(group), []).append(group)
    size, halves = max(by_size), list[Ints]()
    for _ in range(times):
        for half in halves:
            by_size.setdefault(len(half), []).append(half)
        while not by_size.get(size):  # no half is larger than the largest group
            size -= 1
        halves = np.array_split(by_size[size].pop(), 2)
    return [group for size in sorted(by_size) for group in by_size[size]] + halves


def updates_of(
    source: Rows, target: Rows, *, batch_tokens: int, seed: int, epoch: int, each: int
) -> Iterator[list[Ints]]:
    """Yield the groups of rows of every update of one epoch: `each` of them, as `plan` makes them."""
    numbered: Iterable[tuple[int, Ints]] = [(0, np.arange(len(source)))]
    if len(source) > LARGE:
        numbered = enumerate(pools(len(source), seed=seed, epoch=epoch), 1)
    for number, rows in numbered:
        lengths = source.lengths_of(rows), target.lengths_of(rows)
        groups = plan(
            *lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch, multiple_of=each, pool=number
        )
        for first in range(0, len(groups), each):
            yield [rows[group] for group in groups[first : first + each]]


def _by_length(source_len: Ints, target_len: Ints, rng: np.random.Generator) -> Ints:
    """Return an order of the pairs in which neighbours have similar lengths on both sides.

    The first key is the length of the longer side, which the budget bounds. The second is the difference of
    the sides, in alternating direction (boustrophedon), so that lengths never jump. The difference is blurred
    by up to one token, so that a pair also meets pairs of other lengths. That costs 1% more
    padding.
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
    """Return pairs of token sequences as a batch."""
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


def batch_of(
    source: Rows, target: Rows, rows: Ints, config: ModelConfig, lessons: LessonRows | None = None
) -> Batch:
    """Return the pairs of these rows as a batch, with the lessons of teachers, if any."""
    batch = collate(
        [source[row] for row in rows],
        [target[row] for row in rows],
        pad_id=config.pad_id,
        start_id=config.start_id,
        end_id=config.end_id,
    )
    taught = None
    if lessons is not None and len(rows):
        taught = padded([lessons[row] for row in rows], lessons.share)
    return replace(batch, rows=np.asarray(rows), taught=taught)
