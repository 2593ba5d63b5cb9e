"""What the contenders that are toolkits share: run their own command line, read the speed off their log."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import statistics
import subprocess
import sys


def pieces(options: argparse.Namespace) -> list[str]:
    """The subwords of the vocabulary, without the special ones."""
    return (options.workload / "pieces.txt").read_text(encoding="utf-8").splitlines()


def report(
    options: argparse.Namespace, command: list[str], speed: str, package: str, *, each: float = 1.0
) -> None:
    """Trains, and prints the median of the target tokens a second that the log tells after the warm-up.

    `speed` is a pattern whose group is one report's figure, of things of `each` target tokens; there is a
    report each step.
    """
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    told = [float(match.replace(",", "")) for match in re.findall(speed, done.stdout)][options.warm :]
    if not told:
        sys.exit(f"no speed in the log of {package}: " + " | ".join(done.stdout.strip().splitlines()[-3:]))
    version = f"{package} {importlib.metadata.version(package)}"
    print(json.dumps({"tokens_per_second": each * statistics.median(told), "version": version}), flush=True)
