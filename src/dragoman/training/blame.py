"""Name the batches and the lines of the text on which an update failed, in every process."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.training.batches import Batch
from dragoman.training.distributed import World
from dragoman.training.mixture import TrainingText


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
    places = []
    for number in blamed:
        where = f"batch {number * world.size + world.rank + 1} of {each}"
        rows = batches[number].rows.tolist()
        places.append(f"{where}, {corpus.whereabouts(rows, epoch=epoch, seed=seed)}" if rows else where)
    return "; ".join(filter(None, world.gather("; ".join(places))))
