"""Compare a model with Hugging Face's Trainer: the same text, the same shape, the same minutes.

    python benchmarks/general.py RECIPE.toml --data FOLDER --work WORK --minutes 120
        [--score news NEWS.en NEWS.de] [--also small SMALL_MODEL] [--methods dragoman ...]
        [--huggingface PYTHON] [--threads 2] [--seed 1] [OPTION=VALUE ...]

Trains the recipe of a Transformer with `dragoman train`, in one process for each thread, and MarianMT models
of its shape with transformers' Seq2SeqTrainer (benchmarks/peers/huggingface_training.py), which learn a
SentencePiece vocabulary of its size: once with the defaults of TrainingArguments, and once with settings for
training from scratch. PYTHON has transformers and accelerate; by default it is the one that
`python benchmarks/peers/install.py huggingface` installs. The native engine scores all models with a beam of
4, on the test text of the recipe and on those of --score. --also scores additional models, such as a student.

Prints a row for each model: its number of weights, minutes of its command, BLEU and chrF on each text, and
the difference of its mean chrF from the first model's. The time includes validation for dragoman, and
vocabulary and loading for transformers, but --minutes limits training only. Results stay in --work, so that a
repeated command resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from peers.install import python_of
from time_to_quality import PEER, TUNED, marian_shape

from dragoman import Translator
from dragoman.base import machine
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.evaluation.evaluate import evaluate
from dragoman.text.corpora.corpus import open_corpus
from dragoman.training.runs.recipe import Recipe, find_data, resolve
from dragoman.translation.folder.digest import digest_of
from dragoman.translation.folder.header import read_header

OURS = "dragoman"
METHODS: dict[str, tuple[str, ...]] = {
    OURS: (),
    "transformers, defaults": (),
    "transformers, tuned": TUNED,
}
ENDLESS = "training.max_updates=100000000"  # time ends the run, and the cosine follows it
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One model: weights, minutes of the command that trained it, and its scores by text."""

    parameters: int
    minutes: float | None
    bleu: dict[str, float]
    chrf: dict[str, float]


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `run` ends what it started
    recipe = resolve(recipe=options.recipe, overrides=options.words)
    texts = {"own": find_data(recipe.data, options.data, recipe.data.test)}
    texts |= {name: [Path(file) for file in files] for name, *files in options.score}
    results: dict[str, Result] = {}
    for method in options.methods:
        folder = options.work / method.replace(", ", "-")
        command = command_of(method, folder, recipe, options)
        if folder.with_suffix(".json").exists() and not folder.with_suffix(".trained.json").exists():
            raise SystemExit(f"{folder}: made by an earlier version of this script; choose another --work")
        minutes = once(
            folder.with_suffix(".trained.json"),
            [*command, options.recipe.read_text(encoding="utf-8")],
            lambda c=command, f=folder: run(c, f, options.threads),
        )
        results[method] = scored(folder, folder, minutes, texts, options.threads)
        print("  ".join(row_of(method, results[method])), file=sys.stderr, flush=True)
    for name, model in options.also:
        results[name] = scored(options.work / f"also-{name}", Path(model), None, texts, options.threads)
    print(f"{options.recipe}, {options.threads} threads, {machine.processor()}\n")
    print(to_text(results))


def command_of(method: str, folder: Path, recipe: Recipe, options: argparse.Namespace) -> list[str]:
    """The command that trains a model into `folder`."""
    if method == OURS:
        several = ["-m", "torch.distributed.run", "--nproc-per-node", str(options.threads)]
        return [
            *(sys.executable, *(several if options.threads > 1 else ()), "-m", "dragoman", "train"),
            *("--recipe", str(options.recipe), "--data", str(options.data), "-o", str(folder)),
            *(f"seed={options.seed}", f"training.max_minutes={options.minutes:g}", ENDLESS, *options.words),
        ]
    shape = options.work / "shape.json"
    write_whole(shape, json.dumps(marian_shape(recipe), indent=1))
    train = [str(path) for path in find_data(recipe.data, options.data, recipe.data.train)]
    return [
        *(str(options.huggingface), str(PEER), *train, str(folder), "--shape", str(shape)),
        *("--minutes", f"{options.minutes:g}", "--seed", str(options.seed)),
        *("--threads", str(options.threads), *METHODS[method]),
    ]


def run(command: Sequence[str], folder: Path, threads: int) -> float:
    """Run the command, with its output in a file beside the folder, and return its minutes.

    Starts that were stopped count, too: the file has the minutes of each. Raises SystemExit if it fails.
    """
    one_thread = "torch.distributed.run" in command
    variables = {**os.environ, "OMP_NUM_THREADS": "1" if one_thread else str(threads)}
    spent = folder.with_suffix(".minutes")
    before = json.loads(spent.read_text(encoding="utf-8")) if spent.exists() else 0.0
    began = time.monotonic()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".log").open("ab") as log:
        # In a session of its own Ctrl-C does not reach it: a second signal would stop without saving.
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            minutes = before + (time.monotonic() - began) / 60
            write_whole(spent, json.dumps(minutes))
    if code:
        raise SystemExit(f"{' '.join(command)}: exit code {code}; see {log.name}")
    return float(minutes)


def scored(
    place: Path, model: Path, minutes: float | None, texts: Mapping[str, Sequence[Path]], threads: int
) -> Result:
    """The scores in the record beside `place`, measured again if the model or a text is another by now."""
    made_of = [*texts, *(digest_of(file) for files in texts.values() for file in files)]
    return Result(
        **once(
            place.with_suffix(".json"),
            [digest_of(model / "model.safetensors"), *made_of],
            lambda: asdict(
                scores(model, minutes, {name: pairs(files) for name, files in texts.items()}, threads)
            ),
            again=True,
        )
    )


def scores(model: Path, minutes: float | None, texts: Mapping[str, Pairs], threads: int) -> Result:
    """BLEU and chrF on every text, by the native engine with a beam of 4."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    translator = Translator.load(model)
    found = {
        name: evaluate(translator, text, metrics=("bleu", "chrf"), bootstrap=0, beam=4).scores
        for name, text in texts.items()
    }
    return Result(
        parameters=sum(one.count for one in read_header(model / "model.safetensors").values()),
        minutes=minutes,
        bleu={name: one.bleu.value for name, one in found.items()},
        chrf={name: one.chrf.value for name, one in found.items()},
    )


def once(path: Path, made_of: list[str], measure: Callable[[], Any], *, again: bool = False) -> Any:
    """Return the result in the file, or measure it and write it there.

    If what is there was made of something else, it is measured `again`, or SystemExit is raised.
    """
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if record is not None and record.get("of") != made_of and not again:
        raise SystemExit(f"{path}: made by another command or recipe; choose another --work")
    if record is None or record.get("of") != made_of:
        record = {"of": made_of, "result": measure()}
        write_whole(path, json.dumps(record))
    return record["result"]


def to_text(results: Mapping[str, Result]) -> str:
    """The table: a row for each model, with the difference of its mean chrF from the first one's."""
    texts = list(next(iter(results.values())).bleu)
    head = ["model", "weights", "minutes", *(f"{text} {name}" for text in texts for name in ("BLEU", "chrF"))]
    first = statistics.mean(next(iter(results.values())).chrf.values())
    rows = [
        [*row_of(name, one), f"{statistics.mean(one.chrf.values()) - first:+.2f}"]
        for name, one in results.items()
    ]
    return "\n".join(aligned([[*head, "mean chrF"], *rows], right=range(1, len(head) + 1)))


def row_of(name: str, result: Result) -> list[str]:
    minutes = "-" if result.minutes is None else f"{result.minutes:.1f}"
    figures = (f"{score[text]:.2f}" for text in result.bleu for score in (result.bleu, result.chrf))
    return [name, f"{result.parameters:,}", minutes, *figures]


def pairs(files: Sequence[Path]) -> Pairs:
    return [(line.source, line.target) for line in open_corpus(files)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("words", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--score", nargs=3, action="append", default=[], metavar=("NAME", "SOURCE", "TARGET"))
    parser.add_argument("--also", nargs=2, action="append", default=[], metavar=("NAME", "MODEL"))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--huggingface", type=Path, default=python_of("huggingface"), metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    main()
