"""Measure the cost of ordering an epoch: time and memory of `plan` for a pool of pairs.

    python benchmarks/planning.py [--pairs 1000000 2000000] [--tokens 3125] [--processes 64]

Draws realistic sentence lengths (log-normal, 28 tokens on average, at most 256) and plans them, each number
of pairs in a separate process. Prints processor seconds, the peak MB of the process above the start, and both
per pair.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from dragoman.base import machine
from dragoman.base.tables import aligned
from dragoman.training.data.batches import plan


def measure(pairs: int, tokens: int, processes: int) -> dict[str, float]:
    """Plan one epoch in this process."""
    rng = np.random.default_rng(1)
    source, target = (drawn_lengths(rng, pairs) for _ in range(2))
    before = machine.peak_memory() or 0
    began = time.process_time()
    groups = plan(source, target, batch_tokens=tokens, seed=1, epoch=0, multiple_of=processes)
    seconds = time.process_time() - began
    return {"seconds": seconds, "bytes": (machine.peak_memory() or 0) - before, "groups": len(groups)}


def drawn_lengths(rng: np.random.Generator, pairs: int) -> np.ndarray:
    """Lengths in tokens, as `Ragged.lengths` has them, drawn a part at a time."""
    lengths = np.empty(pairs, np.int64)
    for first in range(0, pairs, 100_000):
        some = lengths[first : first + 100_000]
        some[:] = np.clip(rng.lognormal(3.1, 0.65, len(some)), 1, 256)
    return lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 2_000_000])
    parser.add_argument("--tokens", type=int, default=3125)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(measure(options.pairs[0], options.tokens, options.processes)))
        return
    rows = [["pairs", "batches", "s", "MB", "us a pair", "bytes a pair"]]
    for pairs in options.pairs:
        words = [
            "--pairs",
            str(pairs),
            "--tokens",
            str(options.tokens),
            "--processes",
            str(options.processes),
        ]
        done = subprocess.run(
            [sys.executable, __file__, *words, "--turn"], stdout=subprocess.PIPE, check=True
        )
        one = json.loads(done.stdout)
        seconds, size = one["seconds"] / pairs, one["bytes"] / pairs
        rows.append(
            [
                f"{pairs:,}",
                f"{one['groups']:,}",
                f"{one['seconds']:.1f}",
                f"{one['bytes'] / 1e6:,.0f}",
                f"{seconds * 1e6:.2f}",
                f"{size:.0f}",
            ]
        )
    print("\n".join(aligned(rows, right=range(6))))


if __name__ == "__main__":
    main()
