"""Smaller parts of a batch, for when memory runs out.

The loss of an update is a sum over its target tokens, divided by their number in all batches. So a batch may
be computed in parts, whose gradients add up to the gradient of the batch. With dropout, the parts draw other
masks than the whole batch would have drawn, from the same distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.base.errors import TrainingError
from dragoman.training.data.batches import Batch


def halves(batch: Batch, pad_id: int) -> tuple[Batch, Batch]:
    """The first and the second half of the pairs of a batch, each padded to its own longest."""
    middle = (len(batch) + 1) // 2
    return _some(batch, slice(0, middle), pad_id), _some(batch, slice(middle, None), pad_id)


def fitting(batch: Batch, most: float, pad_id: int) -> Iterator[Batch]:
    """Halve the batch until no part but a single pair has more than `most` padded positions."""
    if batch.slots <= most or len(batch) == 1:
        yield batch
        return
    for half in halves(batch, pad_id):
        yield from fitting(half, most, pad_id)


@dataclass
class LargestBatch:
    """The largest batch to compute at once, which running out of memory makes smaller."""

    most: float = float("inf")  # padded positions of both sides
    warned: bool = False

    def shrink(self, batch: Batch, step: int, *, alone: bool = True) -> str:
        """Note that this batch ran out of memory; return a message for the user, if it is new.

        Raises TrainingError for a single pair, and unless this process computes `alone`: processes that share
        the weights compute all batches together.
        """
        shape = f"{batch.source_BS.shape[1]} source and {batch.predict_BT.shape[1]} target tokens"
        if len(batch) == 1:
            raise TrainingError(
                f"update {step}: out of memory with a single pair of {shape}",
                hint="close other programs and repeat the command, also with training.recompute=true, or "
                "start again with a lower training.batch_tokens or data.filter.max_length",
            )
        what = f"update {step}: out of memory with a batch of {len(batch)} pairs, padded to {shape}"
        longest = max(batch.source_BS.shape[1], batch.predict_BT.shape[1])
        budget = f"training.batch_tokens={(len(batch) + 1) // 2 * longest}"
        if not alone:
            raise TrainingError(
                what,
                hint=f"repeat the command with training.recompute=true, or start again with {budget} and "
                "training.accumulate=2",
            )
        self.most = batch.slots / 2
        if self.warned:
            return ""
        self.warned = True
        return f"{what}\nsuch batches are now computed in parts, for the same update; {budget} avoids it"


def _some(batch: Batch, pairs: slice, pad_id: int) -> Batch:
    source_len_B = batch.source_len_B[pairs]
    target_len_B = (batch.predict_BT[pairs] != pad_id).sum(1)
    source, target = int(source_len_B.max()), int(target_len_B.max())
    return Batch(
        batch.source_BS[pairs, :source],
        source_len_B,
        batch.target_BT[pairs, :target],
        batch.predict_BT[pairs, :target],
        int(target_len_B.sum()),
        batch.rows[pairs],
        None if batch.taught is None else batch.taught.some(pairs, target),
    )
