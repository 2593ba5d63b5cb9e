"""Measure what each optimisation of a training step saves: the full step against the step without it.

    python benchmarks/pieces.py [--preset small] [--threads 2] [--steps 6] [--rounds 3] [NAME ...]

The model and the batches are those of `training_speed.py`, on the embedded corpus, and so is the
precision: bf16 if the processor multiplies that natively, else float32. Without a NAME all pieces are
measured. The variants take turns, each in a separate process.

Prints a line for each variant: the median milliseconds of a step; its ratio to the whole step of the same
round, as median and spread; and the peak memory of its process. A ratio of 1.14 for "all loops in C" means
that a step without them takes 1.14 times as long. If the spread includes 1, the difference may be noise. A
star marks a variant whose turns other programs disturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from unittest.mock import patch

import torch
from measuring.turns import MARK, NOTE, OtherWork, answer_of, disturbed, megabytes, orders, spread
from peers.timing import answer
from torch import Tensor, nn
from training import workload
from training.contenders import Conditions
from training.ours import collated, learner

from dragoman.base import machine
from dragoman.base.tables import aligned, count
from dragoman.models import loops as native
from dragoman.training.data.batches import Batch
from dragoman.training.processes.distributed import World
from dragoman.training.step import loss, optimizer
from dragoman.training.step.malloc import keep_freed_memory
from dragoman.training.step.precision import multiplies_bf16, precision_for, send_to_onednn
from dragoman.training.step.update import Learner

WHOLE = "(the whole step)"
WARM = 2  # steps before the clock runs


@dataclass
class Measured:
    """The turns of one variant."""

    seconds: list[float]
    ratios: list[float]
    peak: int = 0
    busy: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of: " + "; ".join(VARIANTS))
    parser.add_argument("--preset", default="small")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    # For the processes that measure: which variant, on which workload.
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--workload", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.names) - set(VARIANTS):
        parser.error(f"unknown piece: {', '.join(sorted(unknown))}")
    if options.workload:
        batches = workload.load(options.workload)
    else:
        batches = workload.embedded(batch_tokens=options.batch_tokens, batches=WARM + options.steps)
    conditions = Conditions(
        workload=batches,
        preset=options.preset,
        threads=options.threads,
        steps=options.steps,
        warm=WARM,
    )
    if options.one:
        measure_variant(VARIANTS[options.one], conditions)
        return
    names = [WHOLE, *(name for name in options.names or VARIANTS if name != WHOLE)]
    results = {name: Measured([], []) for name in names}
    command = [sys.executable, __file__, *sys.argv[1:], "--workload", str(batches.folder)]
    for order in orders(names, options.rounds):
        for name in order:
            with OtherWork() as others:
                facts = answer_of([*command, "--one", name], name=name)
            result = results[name]
            result.seconds.append(statistics.median(facts["seconds"]))
            result.peak = max(result.peak, facts["peak_memory"])
            result.busy |= disturbed(others.cores)
        for name in order:
            results[name].ratios.append(results[name].seconds[-1] / results[WHOLE].seconds[-1])
    rows = [["without", "ms a step", "ratio", "spread", "peak MB"]]
    for name, result in results.items():
        rows.append(
            [
                name + (f" {MARK}" if result.busy else ""),
                f"{statistics.median(result.seconds) * 1e3:,.0f}",
                f"{statistics.median(result.ratios):.2f}",
                spread(result.ratios, ".2f"),
                megabytes(result.peak),
            ]
        )
    print(
        f"{options.preset}, {batches.about.title}, batches of {options.batch_tokens:,} tokens,"
        f" {count(options.threads, 'thread')}, {machine.processor()};"
        f" {count(options.rounds, 'round')} of {count(options.steps, 'step')}\n"
    )
    print("\n".join(aligned(rows, right=range(1, 5))))
    if any(result.busy for result in results.values()):
        print(NOTE)


def measure_variant(variant: Variant, conditions: Conditions) -> None:
    """Train for the steps in this process, and answer with the seconds of each and the peak memory."""
    if variant.keeps_memory:
        keep_freed_memory()
    if variant.loops:
        native.enable()
    precision = precision_for(variant.precision, torch.device("cpu"))
    if precision == "fp32" and variant.onednn:
        send_to_onednn()
    torch.set_num_threads(conditions.threads)
    world = World(0, 1, torch.device("cpu"))
    batches = collated(conditions.workload.batches, world)
    seconds = []
    with variant.inside():
        trained = learner(conditions.shape, precision, world)
        for number, batch in enumerate(batches, 1):
            began = time.perf_counter()
            trained.update([batch], number, seed=1)
            seconds.append(time.perf_counter() - began)
    answer(seconds=seconds[conditions.warm :], peak_memory=machine.peak_memory())


@contextmanager
def plain_loss() -> Iterator[None]:
    """All the logits of a batch at once, in float32, with autograd."""

    def apply(
        states: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, smoothing: float, *_: Any
    ) -> Any:
        logits = nn.functional.linear(states, weight.to(states.dtype), bias).float()
        return loss.smoothed_cross_entropy(logits, target, smoothing)

    with patch.object(loss, "linear_cross_entropy", apply):
        yield


@contextmanager
def plain_dropout() -> Iterator[None]:
    """PyTorch's dropout."""

    def dropout(x: Tensor, p: float, base: Tensor | None = None) -> Tensor:
        x = nn.functional.dropout(x, p)
        return x if base is None else base + x

    with patch("dragoman.models.layers.dropout.dropout", dropout):
        yield


@contextmanager
def autocast() -> Iterator[None]:
    """PyTorch's mixed precision, which casts the weights at each use."""

    def objective(learner: Learner, batch: Batch) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return learner._objective(batch)

    with patch.object(Learner, "objective", objective):
        yield


def without_loops(*files: str) -> Callable[[], contextlib.ExitStack]:
    """PyTorch's operators in these files, the loops in C elsewhere."""

    def patches() -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        for file in files:
            stack.enter_context(patch(f"dragoman.{file}.native", SimpleNamespace(serves=lambda *_: False)))
        return stack

    return patches


def loop_over_tensors() -> Any:
    """Adam as one operation at a time over lists of tensors: PyTorch's default."""
    adam = torch.optim.AdamW
    return patch.object(optimizer.torch.optim, "AdamW", lambda *a, **k: adam(*a, **k | {"fused": False}))


@dataclass(frozen=True)
class Variant:
    """A training step, perhaps without one of its pieces."""

    precision: Literal["auto", "fp32"] = "auto"
    keeps_memory: bool = True
    loops: bool = True  # in C
    onednn: bool = True  # for float32 products
    inside: Callable[[], AbstractContextManager[Any]] = nullcontext


IN_BF16 = {
    "bf16 products": Variant(precision="fp32"),
    "bf16 products, and oneDNN for those in float32": Variant(precision="fp32", onednn=False),
    "weights cast once a step (autocast instead)": Variant(inside=autocast),
}
IN_FLOAT32 = {"oneDNN for products": Variant(onednn=False)}
VARIANTS = {
    WHOLE: Variant(),
    **(IN_BF16 if multiplies_bf16(torch.device("cpu")) else IN_FLOAT32),
    "freed memory kept": Variant(keeps_memory=False),
    "all loops in C": Variant(loops=False),
    "attention in C": Variant(inside=without_loops("models.layers.kernels")),
    "softmax of the loss in C": Variant(inside=without_loops("training.step.loss")),
    "layer normalisation in C": Variant(inside=without_loops("models.layers.norm")),
    "dropout in C": Variant(inside=without_loops("models.layers.dropout")),
    "cheap dropout masks (PyTorch's instead)": Variant(inside=plain_dropout),
    "the loss a block at a time": Variant(inside=plain_loss),
    "fused Adam": Variant(inside=loop_over_tensors),
}


if __name__ == "__main__":
    main()
