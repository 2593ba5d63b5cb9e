"""What each piece of a training step saves: the step as it is, and with one piece at a time taken out.

    python benchmarks/pieces.py [--preset small] [--threads 2] [--steps 6] [--rounds 3] [NAME ...]

The variants take turns, each in a process of its own; their order turns from round to round. Prints the
medians over all rounds of milliseconds a step, and of the ratio to the whole step of the same round.
Batches are made of random ids with the lengths of short sentences; post-norm and dropout 0.1, as in
`dragoman bench train`.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Literal
from unittest.mock import patch

import torch
from torch import Tensor, nn
from train_step import VOCAB, make_batches, timed

from dragoman import native
from dragoman.models.seq2seq import build_model
from dragoman.runs.recipe import resolve
from dragoman.training import distributed, loss, optimizer
from dragoman.training.batches import Batch
from dragoman.training.malloc import keep_freed_memory
from dragoman.training.options import TrainingConfig
from dragoman.training.precision import send_to_onednn
from dragoman.training.update import Learner

WHOLE = "the step as it is"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of: " + "; ".join(VARIANTS))
    parser.add_argument("--preset", default="small")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.names) - set(VARIANTS):
        parser.error(f"no piece is called {', '.join(sorted(unknown))}")
    if options.one:
        print(measure(options.one, options))
        return
    names = [WHOLE, *(name for name in options.names or VARIANTS if name != WHOLE)]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(options.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            seconds[name].append(float(done.stdout.splitlines()[-1]))
    print(f"{options.preset}, {options.threads} threads, about {options.batch_tokens:,} slots a batch\n")
    print(f"{'without':52} {'ms a step':>9} {'ratio':>6}  spread")
    for name in names:
        ratios = [one / whole for one, whole in zip(seconds[name], seconds[WHOLE], strict=True)]
        print(
            f"{name:52} {statistics.median(seconds[name]) * 1e3:9.0f} {statistics.median(ratios):6.2f}"
            f"  {min(ratios):.2f}-{max(ratios):.2f}"
        )


def measure(name: str, options: argparse.Namespace) -> float:
    """Median seconds of a step of that variant."""
    variant = VARIANTS[name]
    if variant.keeps_memory:
        keep_freed_memory()
    if variant.loops:
        native.enable()
    if variant.precision == "fp32" and variant.onednn:
        send_to_onednn()
    torch.set_num_threads(options.threads)
    recipe = resolve(preset=options.preset)
    config = replace(recipe.model, norm="post", dropout=0.1, source_vocab=VOCAB, target_vocab=VOCAB)
    training = TrainingConfig(
        schedule="inverse-sqrt",
        learning_rate=1e-4,
        warmup=10,
        precision=variant.precision,
    )
    batches = make_batches(options.batch_tokens, options.steps + 2)
    with variant.inside():
        learner = Learner(build_model(config), training, distributed.World(0, 1, torch.device("cpu")))
        steps = [
            timed(lambda: learner.update([batch], number, seed=1))  # noqa: B023
            for number, batch in enumerate(batches, 1)
        ]
    return statistics.median(steps[2:])


@contextmanager
def plain_loss() -> Iterator[None]:
    """All the logits of a batch at once, in float32, and autograd."""

    def apply(
        states: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, smoothing: float, _: float
    ) -> Any:
        logits = nn.functional.linear(states, weight.to(states.dtype), bias).float()
        return loss.smoothed_cross_entropy(logits, target, smoothing)

    with patch.object(loss, "linear_cross_entropy", apply):
        yield


@contextmanager
def plain_dropout() -> Iterator[None]:
    """PyTorch's, in training mode."""

    def dropout(x: Tensor, p: float, base: Tensor | None = None) -> Tensor:
        x = nn.functional.dropout(x, p)
        return x if base is None else base + x

    with patch("dragoman.models.dropout.dropout", dropout):
        yield


@contextmanager
def autocast() -> Iterator[None]:
    """PyTorch's mixed precision, which casts weights where they are used."""

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
    """Adam one operation at a time over lists of tensors, PyTorch's default."""
    adam = torch.optim.AdamW
    return patch.object(optimizer.torch.optim, "AdamW", lambda *a, **k: adam(*a, **k | {"fused": False}))


@dataclass(frozen=True)
class Variant:
    """What is taken out of the step."""

    precision: Literal["bf16", "fp32"] = "bf16"
    keeps_memory: bool = True
    loops: bool = True  # in C
    onednn: bool = True  # for float32 products
    inside: Callable[[], AbstractContextManager[Any]] = nullcontext


VARIANTS = {
    WHOLE: Variant(),
    "bf16 products": Variant(precision="fp32"),
    "bf16 products, and oneDNN for those in float32": Variant(precision="fp32", onednn=False),
    "weights cast once a step (autocast instead)": Variant(inside=autocast),
    "freed memory kept": Variant(keeps_memory=False),
    "all loops in C": Variant(loops=False),
    "attention in C": Variant(inside=without_loops("models.kernels")),
    "softmax of the loss in C": Variant(inside=without_loops("training.loss")),
    "dropout in C": Variant(inside=without_loops("models.dropout")),
    "cheap dropout masks (PyTorch's instead)": Variant(inside=plain_dropout),
    "the loss a block at a time": Variant(inside=plain_loss),
    "fused Adam": Variant(inside=loop_over_tensors),
}


if __name__ == "__main__":
    main()
