"""How fast `dragoman data` is, and how much memory it takes, on many pairs.

    python benchmarks/data_scale.py --data FOLDER [--pairs 200000] [--commands dedupe near]

Makes pairs from train.en.gz and train.de.gz in the folder: it repeats them, and changes a word of each
repeated pair, by a seed. Each command then runs in a process of its own, with one worker for each core.

Prints pairs a second, processor time, the most memory of one process, and what the command says.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

TEXT = "all.en-de.tsv"
COMMANDS = {
    "look": ["look", TEXT, "-o", "look.html"],
    "clean": ["clean", TEXT, "-o", "clean.en-de.tsv"],
    "dedupe": ["dedupe", TEXT, "-o", "unique.en-de.tsv"],
    "near": ["dedupe", TEXT, "-o", "unlike.en-de.tsv", "--by", "near"],
    "leak": ["leak", TEXT, "--test", "test.en-de.tsv", "--report", "leaks.jsonl"],
}


def made(folder: Path, pairs: int) -> Iterator[str]:
    """Rows of pairs: the text, then copies of it in which a word of each side is another one."""
    chance, known = random.Random(1), ["lantern", "window", "seven", "quietly", "under", "river"]
    for turn in itertools.count():
        with gzip.open(folder / "train.en.gz", "rt") as one, gzip.open(folder / "train.de.gz", "rt") as other:
            for left, right in zip(one, other, strict=True):
                sides = [left.split(), right.split()]
                for words in sides if turn else []:
                    place = chance.randrange(len(words) + 1)
                    words[place : place + 1] = [chance.choice(known)]
                yield "\t".join(" ".join(words) for words in sides) + "\n"
                if not (pairs := pairs - 1):
                    return


def measured(words: list[str], folder: Path) -> tuple[float, float, float, str]:
    """Seconds, processor seconds, MB and the report of a command."""
    with (folder / "err").open("w+") as err:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "dragoman", "data", *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        err.seek(0)
        report = err.read().strip().splitlines() or [""]
    if status:
        sys.exit("\n".join(report))
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, report[-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder with train.en.gz and train.de.gz")
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=[*COMMANDS])
    given = parser.parse_args()
    print("| command | pairs/s | processor s | MB | report |\n| --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / TEXT).open("w") as file, (folder / "test.en-de.tsv").open("w") as test:
            for number, row in enumerate(made(given.data, given.pairs)):
                file.write(row)
                if number % 1000 == 0 and number < 2_000_000:
                    test.write(row)
        for name in given.commands:
            seconds, used, most, report = measured(COMMANDS[name], folder)
            print(
                f"| {name} | {given.pairs / seconds:,.0f} | {used:,.0f} | {most:,.0f} | {report} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
