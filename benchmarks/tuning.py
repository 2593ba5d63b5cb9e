"""Compare methods of tuning on a translation memory: what they gain in domain and lose elsewhere.

    python benchmarks/tuning.py BASE --memory MEMORY.en MEMORY.de --test TEST.en TEST.de
        --general tatoeba TATOEBA.en TATOEBA.de --general news NEWS.en NEWS.de
        [--replay GENERAL.en GENERAL.de]
        [--sizes 2000 20000] [--seeds 1 2] [--methods ...] [--minutes 12] [--threads 2] [--lines 1000]
        [--huggingface [PYTHON]] [--work FOLDER] [OPTION=VALUE ...]

For every size and seed, draws that many pairs of the memory and tunes BASE on them by every method, each in a
separate process with `dragoman train --from BASE`. Without --replay, the methods that replay need a BASE that
still has its training text. Options after the flags go to every run, such as `training.max_updates=100` for a
trial. With --huggingface, transformers' Seq2SeqTrainer continues the same weights, exported, for the time
that the first method of the size and seed took (benchmarks/peers/huggingface_tuning.py), and the native
engine translates with the result as with the others. PYTHON has transformers and accelerate; by default it is
the one that `python benchmarks/peers/install.py huggingface` installs.

Prints a line for each run: BLEU of the first --lines lines of every test text by beam search of 4, minutes of
the process, and its peak memory. Below are the means over the seeds, with the difference from BASE. Runs and
their scores stay in --work, so that a repeated command resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from peers.install import DRIVERS, python_of

from dragoman.base import machine
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.evaluation.evaluate import evaluate
from dragoman.interop.exports import export_model
from dragoman.models.folder.bundle import load
from dragoman.text.corpora.corpus import open_corpus
from dragoman.training.runs.tuning.texts import draw_pairs
from dragoman.translation.translator import Translator

Pairs = list[tuple[str, str]]
PEER = DRIVERS / "huggingface_tuning.py"
ALONE = ("tuning.replay=0", "tuning.interpolate=1")  # one method at a time
METHODS: dict[str, tuple[str, ...]] = {
    "plain": ALONE,
    "replay": ("tuning.interpolate=1",),
    "average": ("tuning.replay=0",),
    "lora": (*ALONE, "tuning.lora_rank=16"),
    "replay and average": (),  # the default
}
HUGGING_FACE = "huggingface"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run: its scores by text, minutes, and peak memory in MB."""

    bleu: dict[str, float]
    minutes: float = 0.0
    peak: float = 0.0


def main() -> None:
    options = arguments()
    work: Path = options.work
    tests = {"in domain": pairs(options.test, options.lines)}
    tests |= {name: pairs(files, options.lines) for name, *files in options.general}
    results: dict[tuple[int, int, str], Result] = {}
    base = once(work / "base.json", lambda: Result(bleu=scores(options.base, tests, options.threads)))
    print(f"{options.base}; {options.threads} threads, {machine.processor()}\n")
    rows = [["size", "seed", "method", *tests, "minutes", "peak MB"], ["", "", "base", *figures(base, tests)]]
    methods = [*options.methods, *([HUGGING_FACE] if options.huggingface else [])]
    for size in options.sizes:
        for seed in options.seeds:
            for method in methods:
                folder = work / f"{size}-{seed}-{method.replace(' ', '-')}"
                first = results.get((size, seed, methods[0]))
                result = once(
                    folder.with_suffix(".json"),
                    lambda m=method, f=folder, s=size, d=seed, p=first: run(m, f, s, d, p, tests, options),
                )
                results[size, seed, method] = result
                rows.append([f"{size:,}", str(seed), method, *figures(result, tests)])
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(aligned(rows, right=range(3, 5 + len(tests)))))
    print("\n".join(["", *means(results, base, tests, options)]))


def run(
    method: str,
    folder: Path,
    size: int,
    seed: int,
    first: Result | None,
    tests: dict[str, Pairs],
    options: argparse.Namespace,
) -> Result:
    """Tune in a separate process, and score the model that it wrote."""
    memory = memory_of(options, size, seed)
    if method == HUGGING_FACE:
        command = peer_command(memory, folder, seed, first.minutes if first else options.minutes, options)
    else:
        command = [
            *(sys.executable, "-m", "dragoman", "train", "--from", str(options.base), str(memory)),
            *("-o", str(folder), f"seed={seed}", f"training.max_minutes={options.minutes:g}"),
            *METHODS[method],
            *options.words,
        ]
        if options.replay and "replay" in method:
            command += ["--replay", *map(str, options.replay)]
    minutes, peak = measured(command, options.threads)
    return Result(bleu=scores(folder, tests, options.threads), minutes=minutes, peak=peak)


def peer_command(
    memory: Path, folder: Path, seed: int, minutes: float, options: argparse.Namespace
) -> list[str]:
    """The command that continues the exported weights with transformers."""
    exported = options.work / "base-huggingface"
    if not exported.exists():
        export_model(load(options.base), "huggingface", exported, verified=False)
    return [
        *(options.huggingface, str(PEER), str(exported), str(memory), str(folder)),
        *("--minutes", str(minutes), "--seed", str(seed), "--threads", str(options.threads)),
    ]


def memory_of(options: argparse.Namespace, size: int, seed: int) -> Path:
    """Write `size` pairs of the memory, drawn with the seed, as TSV."""
    path: Path = options.work / f"memory-{size}-{seed}.tsv"
    if not path.exists():
        drawn = draw_pairs(open_corpus(options.memory), size, seed=seed)
        write_whole(path, "".join(f"{line.source}\t{line.target}\n" for line in drawn))
    return path


def measured(command: Sequence[str], threads: int) -> tuple[float, float]:
    """Run a command; return its minutes and its peak memory in MB. Raises SystemExit if it fails."""
    began = time.monotonic()
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    process = subprocess.Popen(command, env=variables, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return (time.monotonic() - began) / 60, usage.ru_maxrss / 1024


def scores(model: Path, tests: dict[str, Pairs], threads: int) -> dict[str, float]:
    """BLEU of every test text, by the native engine with a beam of 4."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    translator = Translator.load(model)
    return {
        name: evaluate(translator, text, metrics=("bleu",), bootstrap=0, beam=4).scores.bleu.value
        for name, text in tests.items()
    }


def once(path: Path, measure: Callable[[], Result]) -> Result:
    """Return the result in the file, or measure it and write it there."""
    if not path.exists():
        write_whole(path, json.dumps(asdict(measure())))
    return Result(**json.loads(path.read_text(encoding="utf-8")))


def means(
    results: dict[tuple[int, int, str], Result],
    base: Result,
    tests: dict[str, Pairs],
    options: argparse.Namespace,
) -> list[str]:
    """The means over the seeds, with the difference from the base, and the greatest peak."""
    rows = [["size", "mean of", *tests, "minutes", "peak MB"]]
    for size in options.sizes:
        for method in dict.fromkeys(name for *_, name in results):
            runs = [results[size, seed, method] for seed in options.seeds]
            cells = []
            for text in tests:
                mean = statistics.mean(one.bleu[text] for one in runs)
                cells.append(f"{mean:.2f} ({mean - base.bleu[text]:+.2f})")
            minutes = statistics.mean(one.minutes for one in runs)
            peak = max(one.peak for one in runs)
            rows.append([f"{size:,}", method, *cells, f"{minutes:.1f}", f"{peak:.0f}"])
    return aligned(rows, right=range(2, 4 + len(tests)))


def figures(result: Result, tests: dict[str, Pairs]) -> list[str]:
    return [*(f"{result.bleu[name]:.2f}" for name in tests), f"{result.minutes:.1f}", f"{result.peak:.0f}"]


def pairs(files: Sequence[str | Path], most: int) -> Pairs:
    lines = ((line.source, line.target) for line in open_corpus(files))
    return [pair for _, pair in zip(range(most), lines, strict=False)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("words", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--memory", nargs=2, type=Path, required=True)
    parser.add_argument("--test", nargs=2, type=Path, required=True)
    parser.add_argument("--general", nargs=3, action="append", default=[])
    parser.add_argument("--replay", nargs=2, type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000, 20_000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--huggingface", nargs="?", const=str(python_of("huggingface")), metavar="PYTHON")
    parser.add_argument("--work", type=Path, default=Path("tuning-benchmark"))
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    main()
