"""How the time and the memory of an update grow with the tokens of its batch.

    python benchmarks/scaling.py [--preset small] [--threads 2] [--tokens 1024 2048 4096 8192 16384]

Each size runs in a process of its own, so that its peak memory is its own. Prints the median seconds of a
step, the peak memory above that of the smallest batch, both for each token, and the exponents fitted:
1 is linear.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from dataclasses import replace

import numpy as np
import torch
from train_step import make_batches, step_times

from dragoman import native
from dragoman.runs.recipe import resolve
from dragoman.training.malloc import keep_freed_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options)))
        return
    print("tokens   seconds   us/token   peak MB")
    rows = []
    for tokens in (0, *options.tokens):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", str(tokens)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, peak, real = json.loads(done.stdout.splitlines()[-1])
        if not tokens:
            floor = peak  # the program, the model and its optimizer
            continue
        rows.append((real, seconds, peak - floor))
        print(f"{real:6,.0f} {seconds:9.3f} {seconds / real * 1e6:10.1f} {(peak - floor) / 1e6:9.0f}")
    tokens, seconds, peak = np.array(rows).T
    for name, column in (("time", seconds), ("memory", peak)):
        print(f"{name} grows as tokens^{np.polyfit(np.log(tokens), np.log(column), 1)[0]:.2f}")


def measure(options: argparse.Namespace) -> tuple[float, float, float]:
    """Median seconds of a step, peak bytes, target tokens of a batch."""
    keep_freed_memory()
    native.enable()
    torch.set_num_threads(options.threads)
    model = resolve(preset=options.preset).model
    batches = make_batches(options.one or 64, options.steps if options.one else 1)
    seconds = step_times(replace(model, source_vocab=8000, target_vocab=8000), batches, "bf16")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return statistics.median(seconds), peak, statistics.median(batch.tokens for batch in batches)


if __name__ == "__main__":
    main()
