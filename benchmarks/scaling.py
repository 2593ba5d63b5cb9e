"""Measure how the time and memory of an update grow with the tokens of its batch.

    python benchmarks/scaling.py [--preset small] [--threads 2] [--tokens 1024 2048 4096 8192 16384]

Measures dragoman as `training_speed.py` does, on the embedded corpus, once for each size of batch. The
sizes take turns, each in a separate process, so that the peak memory is that of one size.

Prints a line for each size: target tokens of a batch, without padding; median milliseconds of a step and
their spread over the rounds; microseconds per token; peak memory above the smallest batch's, which holds the
program, the model and its optimizer. Below are the fitted exponents: 1 is linear growth, and less means that
large batches are cheaper per token. A star marks sizes whose turns other programs disturbed.
"""

from __future__ import annotations

import argparse
import statistics

from complexity import exponent
from measuring.turns import MARK, NOTE, OtherWork, megabytes, orders, spread
from training import workload
from training.contenders import Conditions, choose_contenders
from training.contest import TrainingStanding

from dragoman.base import machine
from dragoman.base.tables import aligned, count

SMALLEST, WARM = 100, 2  # tokens of the smallest batch; steps before the clock runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    options = parser.parse_args()
    (ours,) = choose_contenders(["dragoman"])
    conditions = {
        tokens: Conditions(
            workload=workload.embedded(batch_tokens=tokens, batches=WARM + options.steps),
            preset=options.preset,
            threads=options.threads,
            steps=options.steps,
            warm=WARM,
        )
        for tokens in (SMALLEST, *options.tokens)
    }
    results = {tokens: TrainingStanding(contender=ours) for tokens in conditions}
    for order in orders(list(conditions), options.rounds):
        for tokens in order:
            with OtherWork() as others:
                results[tokens].turns.append(ours.turn(conditions[tokens]))
            results[tokens].busy.append(others.cores)
    print(
        f"{options.preset}, embedded corpus, {count(options.threads, 'thread')}, {machine.processor()};"
        f" {count(options.rounds, 'round')} of {count(options.steps, 'step')}\n"
    )
    rows = [["tokens", "ms a step", "spread", "us a token", "peak MB", ""]]
    points = []
    for tokens in options.tokens:
        result, size = results[tokens], conditions[tokens].work()[0] / options.steps
        times = [size / turn.tokens_per_second for turn in result.turns]
        seconds, peak = (
            statistics.median(times),
            (result.peak_memory or 0) - (results[SMALLEST].peak_memory or 0),
        )
        points.append((size, seconds, peak))
        rows.append(
            [
                f"{size:,.0f}",
                f"{seconds * 1e3:,.0f}",
                spread([time * 1e3 for time in times]),
                f"{seconds / size * 1e6:.1f}",
                megabytes(peak),
                MARK if result.disturbed else "",
            ]
        )
    print("\n".join(aligned(rows, right=range(5))))
    if any(result.disturbed for result in results.values()):
        print(NOTE)
    if len(points) > 1:
        sizes, times, peaks = zip(*points, strict=True)
        for name, values in (("time", times), ("memory", peaks)):
            print(f"{name} grows as tokens^{exponent(sizes, values):.2f}")


if __name__ == "__main__":
    main()
