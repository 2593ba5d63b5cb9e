"""Name the batches and the lines of the text on which an update failed, in every process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from dragoman.training.data.batches import Batch
from dragoman.training.data.mixture import TrainingText
from dragoman.training.processes.distributed import World


def blamed_lines(
    corpus: TrainingText,
    batches: Sequence[Batch],
    blamed: Sequence[int],
    *,
    world: World,
    each: int,
    epoch: int,
    seed: int,
) -> str:
    """As in "batch 2 of 4, lines 3, 14, 159 and 29 more of train.en". Every process must call it.

    `blamed` are numbers of this process's batches, from 0. Batches are counted over all processes; an update
    has `each` of them.
    """
    places: list[tuple[int, str]] = []
    for own in blamed:
        number = own * world.size + world.rank + 1
        rows = batches[own].rows.tolist()
        lines = f", {corpus.whereabouts(rows, epoch=epoch, seed=seed)}" if rows else ""
        places.append((number, f"batch {number} of {each}{lines}"))
    every = dict(itertools.chain.from_iterable(world.gather(places)))
    return "; ".join(every[number] for number in sorted(every))
