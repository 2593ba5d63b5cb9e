"""Name the batches and the lines of the text on which an update failed, in every process."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.training.batches import Batch
from dragoman.training.distributed import World
from dragoman.training.mixture import TrainingText

_BYTES = 400  # of a text that a process sends


def texts_of_all(world: World, text: str) -> list[str]:
    """The texts of all processes that have one, in the order of their ranks. Every process must call it."""
    if world.size == 1:
        return [text] if text else []
    data = text.encode()[:_BYTES]
    all_RB = torch.zeros(world.size, _BYTES, dtype=torch.int32, device=world.device)
    all_RB[world.rank, : len(data)] = torch.tensor(list(data), dtype=torch.int32, device=world.device)
    world.sum(all_RB)
    texts = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in all_RB.tolist()]
    return [text for text in texts if text]


def blamed_lines(
    corpus: TrainingText,
    batches: Sequence[Batch],
    blamed: Sequence[int],
    *,
    world: World,
    accumulate: int,
    epoch: int,
    seed: int,
) -> str:
    """As in "batch 2 of 4, lines 3, 14, 159 and 29 more of train.en". Every process must call it.

    `blamed` are numbers of this process's batches, from 0. Batches are counted over all processes.
    """
    places = []
    for number in blamed:
        where = f"batch {number * world.size + world.rank + 1} of {accumulate * world.size}"
        rows = batches[number].rows.tolist()
        places.append(f"{where}, {corpus.whereabouts(rows, epoch=epoch, seed=seed)}" if rows else where)
    return "; ".join(texts_of_all(world, "; ".join(places)))
