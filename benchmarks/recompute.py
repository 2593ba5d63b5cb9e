"""Measure activation checkpointing: peak memory and time of an update, with and without recomputing.

    python benchmarks/recompute.py [--preset small] [--layers 2 6 12] [--tokens 4096] [--steps 3]

Trains Transformers of the preset's widths with this number of layers in encoder and decoder on a batch of
random sentences, with training.recompute=false and true, each in a separate process.

Prints a line for each: MB of weights, gradients and moments; peak MB of the process above its memory before
the first update; median processor seconds of an update; and both as a share of the figures without
recomputing. The loss of the last update is the same in both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

from dragoman.base import machine
from dragoman.base.tables import aligned

VOCAB, LENGTH = 8000, 32  # pieces; tokens of a sentence, with its end


def measure(preset: str, layers: int, tokens: int, steps: int, recompute: bool) -> dict[str, float]:
    """Train in this process."""
    from dataclasses import replace

    import torch

    from dragoman.models import loops as native
    from dragoman.models.seq2seq import build_model
    from dragoman.training.data.batches import collate
    from dragoman.training.processes.distributed import World
    from dragoman.training.runs.recipe import resolve
    from dragoman.training.step.malloc import keep_few_products, keep_freed_memory
    from dragoman.training.step.update import Learner

    keep_freed_memory()
    keep_few_products()
    native.enable()
    recipe = resolve(preset=preset, overrides=[f"training.recompute={str(recompute).lower()}"])
    shape = replace(
        recipe.model, encoder_layers=layers, decoder_layers=layers,
        source_vocab=VOCAB, target_vocab=VOCAB,
    )  # fmt: skip
    torch.manual_seed(1)
    learner = Learner(build_model(shape), recipe.training, World(0, 1, torch.device("cpu")))
    rows = torch.randint(3, VOCAB, (tokens // LENGTH, LENGTH - 1)).tolist()
    batch, one = (collate(some, some, pad_id=0, start_id=1, end_id=2) for some in (rows, rows[:1]))
    learner.update([one], 1, seed=1)  # allocates the moments
    before = machine.peak_memory() or 0
    seconds, loss = [], 0.0
    for step in range(2, 2 + steps):
        began = time.process_time()
        loss = learner.update([batch], step, seed=1).loss / batch.tokens
        seconds.append(time.process_time() - began)
    weights = sum(p.numel() for p in learner.model.parameters()) * 4 * 4
    return {
        "weights": weights / 1e6,
        "peak": ((machine.peak_memory() or 0) - before) / 1e6,
        "seconds": statistics.median(seconds),
        "loss": loss,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 6, 12])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--turn", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(
            json.dumps(
                measure(
                    options.preset, options.layers[0], options.tokens, options.steps, options.turn == "yes"
                )
            )
        )
        return
    rows = [["layers", "recompute", "weights MB", "peak MB", "s", "peak", "time", "loss"]]
    for layers in options.layers:
        plain: dict[str, float] = {}
        for again in ("no", "yes"):
            words = ["--preset", options.preset, "--layers", str(layers), "--tokens", str(options.tokens)]
            done = subprocess.run(
                [sys.executable, __file__, *words, "--steps", str(options.steps), "--turn", again],
                stdout=subprocess.PIPE,
                check=True,
            )
            one = json.loads(done.stdout)
            plain = plain or one
            rows.append(
                [
                    str(layers),
                    again,
                    f"{one['weights']:.0f}",
                    f"{one['peak']:.0f}",
                    f"{one['seconds']:.2f}",
                    f"{one['peak'] / plain['peak']:.0%}",
                    f"{one['seconds'] / plain['seconds']:.0%}",
                    f"{one['loss']:.6f}",
                ]
            )
    print("\n".join(aligned(rows, right=(0, *range(2, 8)))))


if __name__ == "__main__":
    main()
