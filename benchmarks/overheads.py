"""Measure the overheads of an update outside products and loops: the most that removing each could save.

    python benchmarks/overheads.py [--preset tiny] [--threads 2] [--rounds 25]
    torchrun --nproc-per-node 2 benchmarks/overheads.py [--preset tiny] [--threads 1]

The model and the batch are those of `training_speed.py`, on the embedded corpus. The second command also
measures the summing of all gradients over the processes.

Prints a line for each part: median milliseconds, and the quartiles. An update of 12 tokens shows the time of
function calls and of the work that depends only on the weights.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from peers.timing import END, PAD, START
from torch import nn
from training import workload
from training.contenders import Conditions
from training.ours import collated, learner

from dragoman.base import machine
from dragoman.base.tables import aligned, count
from dragoman.models import loops as native
from dragoman.training.data.batches import Batch, collate
from dragoman.training.processes import distributed
from dragoman.training.processes.distributed import World
from dragoman.training.step.malloc import keep_few_products, keep_freed_memory
from dragoman.training.step.precision import precision_for, working_copies
from dragoman.training.step.update import Learner

Part = tuple[str, Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    keep_freed_memory()
    keep_few_products()
    native.enable()
    torch.set_num_threads(options.threads)
    conditions = Conditions(
        workload=workload.embedded(batch_tokens=4096, batches=1),
        preset=options.preset,
        threads=options.threads,
        steps=1,
        warm=0,
    )
    with distributed.joined() as world:
        trained = learner(conditions.shape, precision_for("auto", world.device), world)
        (batch,) = collated(conditions.workload.batches, World(0, 1, world.device))
        rows = [["part", "ms", "quartiles"]]
        for name, work in parts(trained, batch, world):
            low, middle, high = statistics.quantiles(timed(work, options.rounds), n=4)
            rows.append([name, f"{middle:.2f}", f"{low:.2f}-{high:.2f}"])
        if world.leads:
            threads = count(options.threads, "thread")
            print(f"{options.preset}, processes: {world.size}, {threads} in each, {machine.processor()}\n")
            print("\n".join(aligned(rows, right=(1, 2))))


def parts(trained: Learner, batch: Batch, world: World) -> Iterator[Part]:
    """Each part by its name, and the work that is timed."""
    steps = itertools.count(1)
    few = collate([[5, 6, 7, 8]] * 4, [[5, 6]] * 4, pad_id=PAD, start_id=START, end_id=END)
    yield "update", lambda: trained.update([batch], next(steps), seed=1)
    yield "update of 12 tokens", lambda: trained.update([few], next(steps), seed=1)
    weights = list(trained.model.parameters())
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    if world.size > 1:
        yield "gradients summed over the processes", lambda: world.sum_gradients(weights)
    yield "clipping", lambda: nn.utils.clip_grad_norm_(weights, 1e9)
    yield "Adam", trained.optimizers[0].step
    yield "Adam over one buffer", adam_over_one_buffer(sum(weight.numel() for weight in weights)).step
    sides = [[row.numpy() for row in side] for side in (batch.source_BS, batch.predict_BT)]
    yield "batch from its rows", lambda: collate(*sides, pad_id=PAD, start_id=START, end_id=END)
    if trained.precision == "bf16":
        yield "bf16 copies and their gradients", lambda: copy_weights(trained)


def adam_over_one_buffer(numbers: int) -> torch.optim.Optimizer:
    buffer = nn.Parameter(torch.randn(numbers))
    buffer.grad = torch.randn_like(buffer)
    return torch.optim.AdamW([buffer], lr=1e-4, fused=True)


def copy_weights(trained: Learner) -> None:
    trained.model.zero_grad()
    copies = [copy for copy in working_copies(trained.model).values() if copy.dtype == torch.bfloat16]
    torch.autograd.backward(copies, [torch.empty_like(copy) for copy in copies])


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each call after the first."""
    work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e3)
    return times


if __name__ == "__main__":
    main()
