"""Shared by the drivers of toolkits: run the toolkit's command, and read the speed from its log."""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import statistics
import subprocess
import sys

from timing import answer, peak_memory


def pieces(options: argparse.Namespace) -> list[str]:
    """The subwords of the vocabulary, without the special ones."""
    return (options.workload / "pieces.txt").read_text(encoding="utf-8").splitlines()


def report(
    options: argparse.Namespace, command: list[str], speed: str, package: str, *, tokens: float = 1.0
) -> None:
    """Train, and answer with the median speed after the warm-up, in target tokens per second.

    `speed` is a pattern whose group is a number in the log, one for each step. It counts units per second;
    a unit has `tokens` target tokens.
    """
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    speeds = [float(match.replace(",", "")) for match in re.findall(speed, done.stdout)][options.warm :]
    if not speeds:
        sys.exit(f"no speed in the log of {package}: " + " | ".join(done.stdout.strip().splitlines()[-3:]))
    answer(
        tokens_per_second=tokens * statistics.median(speeds),
        peak_memory=peak_memory(of_children=True),
        version=f"{package} {importlib.metadata.version(package)}",
    )
