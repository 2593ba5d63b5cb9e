"""A measured process: the updates that `dragoman train` makes.

Run as `python benchmarks/training/ours.py WORKLOAD --shape SIZES`. Under torchrun each process takes its
share of the rows of every batch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from peers.timing import END, PAD, START, arguments, batches, time_steps

from dragoman.models import loops as native
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.training.data.batches import Batch, collate
from dragoman.training.options import TrainingConfig
from dragoman.training.processes import distributed
from dragoman.training.processes.distributed import World
from dragoman.training.step.malloc import keep_few_products, keep_freed_memory
from dragoman.training.step.precision import send_to_onednn
from dragoman.training.step.update import Learner
from dragoman.version import __version__


def learner(shape: TransformerConfig, precision: Literal["fp32", "bf16"], world: World) -> Learner:
    """Return a learner with a new model of this shape."""
    torch.manual_seed(1)
    config = TrainingConfig(schedule="inverse-sqrt", learning_rate=1e-4, warmup=10, precision=precision)
    return Learner(build_model(shape), config, world)


def collated(arrays: Sequence[tuple[np.ndarray, np.ndarray]], world: World) -> list[Batch]:
    """Return this process's rows of each source_BS and target_BT as training batches."""

    def rows(ids: np.ndarray) -> list[np.ndarray]:
        return [row[: (row != PAD).sum() - 1] for row in ids[world.rank :: world.size]]

    return [
        collate(rows(source), rows(target), pad_id=PAD, start_id=START, end_id=END).to(world.device)
        for source, target in arrays
    ]


def main() -> None:
    options, sizes = arguments()
    keep_freed_memory()
    keep_few_products()
    native.enable()
    if options.precision == "fp32":
        send_to_onednn()
    torch.set_num_threads(options.threads)
    world = distributed.join()
    trained = learner(TransformerConfig(**vars(sizes)), options.precision, world)
    rows = collated(batches(options), world)
    steps = iter(range(1, len(rows) + 1))

    def step(batch: Batch) -> None:
        trained.update([batch], next(steps), seed=1)

    if world.leads:
        parameters = sum(p.numel() for p in trained.model.parameters())
        time_steps(options, step, rows, version=f"dragoman {__version__}", parameters=parameters)
    else:
        for batch in rows:
            step(batch)
    distributed.leave(world)


if __name__ == "__main__":
    main()
