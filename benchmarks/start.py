"""Measure the time from the command to the first update: vocabulary, tokenising, first batch.

    python benchmarks/start.py [--pairs 4500000] [--text SOURCE TARGET] [--vocab 32000] [--folder FOLDER]

The text comes from two files or the embedded corpus, repeated with a different last word each time, so that
no pair is a duplicate. It is written to two plain files. `dragoman train` learns one vocabulary for both
languages and makes one update of a model of the preset `tiny`.

Prints a line for each phase: its seconds and pairs per second. Below are the peak memory of the largest
process and the processor seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import resource
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dragoman.base import machine
from dragoman.base.tables import aligned
from dragoman.text import toy
from dragoman.text.corpora.lines import read_lines

LOAD = "load the program"
PHASES = {  # what `dragoman train` prints when each begins
    "learn the vocabulary": "training the tokenizer",
    "tokenise": "tokenising the text",
    "build the model": "train: ",
    "first update": "until ",
    "end": "update 1/1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--text", type=Path, nargs=2, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--folder", type=Path, help="where to write; it is kept")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        files = write_text(folder, options.text, options.pairs)
        starts = timed(
            [
                *(sys.executable, "-m", "dragoman", "train", *map(str, files), "-o", str(folder / "run")),
                *("--preset", "tiny", "training.max_updates=1", "training.log_every=1"),
                *(f"tokenizer.vocab_size={options.vocab}", "training.calibrate=0"),
            ]
        )
    seconds = {phase: end - start for (phase, start), (_, end) in itertools.pairwise(starts.items())}
    seconds["in all"] = starts["end"] - starts[LOAD]
    rows = [["phase", "s", "pairs/s"]]
    rows += [[phase, f"{one:.1f}", f"{options.pairs / one:,.0f}"] for phase, one in seconds.items()]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    where = f"{machine.cores()} cores, {machine.processor()}; load {os.getloadavg()[0]:.1f}"
    print(f"{options.pairs:,} pairs, {where}\n")
    print("\n".join(aligned(rows, right=range(1, 3))))
    print(
        f"\npeak memory of the largest process: {used.ru_maxrss / 1e6:.2f} GB;"
        f" processors: {used.ru_utime + used.ru_stime:.0f} s"
    )


def write_text(folder: Path, text: Sequence[Path] | None, pairs: int) -> list[Path]:
    """Write so many different pairs to two files. Their languages make no difference."""
    if text is None:
        lines = toy.splits(train=30_000, valid=8, test=8).train
    else:
        lines = list(zip(*map(read_lines, text), strict=True))
    files = [folder / "train.en", folder / "train.de"]
    for side, path in enumerate(files):
        with path.open("w", encoding="utf-8") as file:
            numbered = ((line[side], n // len(lines)) for n, line in enumerate(itertools.cycle(lines)))
            file.writelines(f"{line} {_word(number)}\n" for line, number in itertools.islice(numbered, pairs))
    return files


def _word(number: int) -> str:
    """A word for each number. Digits would be a span that training replaces by a placeholder."""
    return "".join(string.ascii_lowercase[int(digit)] for digit in str(number))


def timed(command: list[str]) -> dict[str, float]:
    """Run a command. Return when each phase began and when the first update was made."""
    starts = {LOAD: time.monotonic()}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            for phase, text in PHASES.items():
                if line.startswith(text) and phase not in starts:
                    starts[phase] = time.monotonic()
    if process.returncode or "end" not in starts:
        raise SystemExit("".join(["dragoman train failed:\n", *lines]))
    return starts


if __name__ == "__main__":
    main()
