"""Makes work that was stopped half way, which later versions must finish: see test_stopped.py.

    PYTHONPATH=. python tests/saved/make_stopped.py

Run it with the version whose files are to be kept, and commit tests/saved/stopped. What is there is never
made again. Each folder is the working directory of a command. Its text is not saved: the functions here write
it. A `#` in the finished part, where no digest forbids it, tells work that was kept from work done again.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from dragoman import train
from dragoman.base.errors import Interrupted
from dragoman.training.events import Quiet

STOPPED = Path(__file__).parent / "stopped"
MODEL = "../models/en-de"
NAMES = ["Tom", "Mary", "Anna", "Paul"]
VERBS = {"sleeps": "schläft", "eats": "isst", "sings": "singt", "waits": "wartet", "reads": "liest"}
WHEN = {"today": "heute", "here": "hier", "now": "jetzt"}
PAIRS = [
    (f"{name} {verb} {when}.", f"{name} {VERBS[verb]} {WHEN[when]}.")
    for name, verb, when in itertools.product(NAMES, VERBS, WHEN)
]


def write_pairs(folder: Path, *, times: int = 1) -> None:
    """train.en, train.de, valid.en and valid.de; the training text so many times."""
    for name, pairs in (("train", PAIRS * times), ("valid", PAIRS[::9])):
        for side, language in enumerate(("en", "de")):
            path = folder / f"{name}.{language}"
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
            os.utime(path, (1, 1))


@contextmanager
def stopping(name: str, after: int) -> Iterator[None]:
    """Stop the program at a call of a function after so many, or at an item that a generator yields."""
    place, _, method = name.rpartition(".")
    module, _, kind = place.rpartition(".")
    owner = getattr(__import__(module, fromlist=[kind]), kind)
    whole, calls = getattr(owner, method), itertools.count()

    def counted(self: Any, *words: Any, **options: Any) -> Any:
        if method != "stream" and next(calls) == after:
            raise KeyboardInterrupt
        found = whole(self, *words, **options)
        return items(found) if method == "stream" else found

    def items(found: Iterator[Any]) -> Iterator[Any]:
        for item in found:
            if next(calls) == after:
                raise KeyboardInterrupt
            yield item

    with mock.patch.object(owner, method, counted):
        yield


def remove_text(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name.startswith(("in", "train.", "valid.")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# ---- trainings -----------------------------------------------------------------------------------------

SHAPE = ("model.d_model=16", "model.d_ff=32", "model.heads=2", "model.encoder_layers=1",
         "model.decoder_layers=1")  # fmt: skip
SHORT = ("training.batch_tokens=200", "training.max_updates=6", "training.validate_every=3",
         "training.warmup=2", "training.log_every=1", "training.precision=fp32")  # fmt: skip


class Steps(Quiet):
    """Notes the last update."""

    last = 0

    def on_report(self, event: Any) -> None:
        self.last = event.step


@dataclass(frozen=True)
class Training:
    """A training in a folder, and where it is stopped: after an update, or at a call as above."""

    folder: str
    options: tuple[str, ...]
    stop_at: int | tuple[str, int]
    teachers: tuple[str, ...] = ()
    base: str | None = None
    times: int = 1  # that the text is repeated


WORDS = ("teacher.words=0.5", "teacher.top_k=2")
TRAININGS = {
    "run": Training("training", ("tokenizer.vocab_size=300", "training.ema=0.9", "training.stop_on=bleu",
                                 "model.dropout=0.1"), 4),
    "tokens": Training("tokenising", ("tokenizer.vocab_size=300",),
                       ("dragoman.training.data.chunk.Chunker.chunk", 1), times=170),
    "tuned": Training("tuning", ("tuning.lora_rank=2", "tuning.interpolate=1"), 4, base=MODEL),
    "translating": Training("distillation", ("teacher.beam=1",),
                            ("dragoman.training.runs.text.translations.TeachersOutputs._translate", 1),
                             (MODEL,),
                            times=34),
    "distributions": Training("distillation-of-words", (*WORDS, "teacher.outputs=none"),
                              ("dragoman.training.distillation.distributions.LessonsInProgress.put", 40),
                              (MODEL,)),
    "student": Training("distillation-of-words", (*WORDS, "teacher.beam=1"), 4, (MODEL,)),
}  # fmt: skip


def train_in(training: Training, output: str, **more: Any) -> None:
    """Train in the working directory."""
    shape = () if training.base else SHAPE
    train(
        ["train.en", "train.de"], valid=["valid.en", "valid.de"], output=output,
        preset=None if training.base else "tiny", overrides=(*shape, *SHORT, *training.options),
        base=training.base, teachers=training.teachers, **more,
    )  # fmt: skip


# Files of a stopped training with its first numbers, which show whether they were kept.
MARKED = {
    "tokens": "checkpoints/corpus/train/unfinished/source.tokens",
    "distributions": "checkpoints/lessons/train.reference/lessons",
}


def mark(numbers: bytes) -> bytes:
    """Change the third byte: of the second token, or of the first probability."""
    return numbers[:2] + b"#" + numbers[3:]


def losses_of(run: Path) -> list[list[Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    return [[row["kind"], row["step"], row["loss"]] for row in rows if "loss" in row]


def make_training(name: str, training: Training) -> None:
    folder = STOPPED / training.folder
    folder.mkdir(exist_ok=True)
    write_pairs(folder, times=training.times)
    os.chdir(folder)
    train_in(training, "whole")
    if isinstance(training.stop_at, int):
        steps = Steps()
        try:
            train_in(training, name, observer=steps,
                     stop=lambda: signal.SIGTERM if steps.last >= training.stop_at else 0)  # fmt: skip
        except Interrupted as stopped:
            print(stopped)
    else:
        from dragoman.training.data.tokenising import UnfinishedCorpus
        from dragoman.training.distillation.distributions import LessonsInProgress

        with (
            mock.patch.object(LessonsInProgress, "TOKENS", 60),
            mock.patch.object(UnfinishedCorpus, "SECONDS", -1.0),
            stopping(*training.stop_at),
        ):
            try:
                train_in(training, name)
            except KeyboardInterrupt:
                print(name, "stopped")
    losses = losses_of(Path("whole"))
    Path(f"{name}.json").write_text(json.dumps(losses) + "\n")
    if name in MARKED:
        path = Path(name, MARKED[name])
        path.write_bytes(mark(path.read_bytes()))
    shutil.rmtree("whole")
    remove_text(folder)


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def make_model() -> None:
    options = ("model.d_model=24", "model.d_ff=48", *SHAPE[2:], "model.dropout=0", "tokenizer.kind=words",
               "training.batch_tokens=200", "training.max_updates=200", "training.validate_every=200",
               "training.learning_rate=0.02", "training.warmup=20", "training.precision=fp32")  # fmt: skip
    train(PAIRS, output=STOPPED / "models/en-de", preset="tiny", source_language="en", target_language="de",
          overrides=options)  # fmt: skip
    shutil.rmtree(STOPPED / "models/en-de/checkpoints")
    (STOPPED / "models/en-de/metrics.jsonl").unlink()


def main() -> None:
    shutil.rmtree(STOPPED, ignore_errors=True)
    make_model()
    for name, training in TRAININGS.items():
        make_training(name, training)


if __name__ == "__main__":
    os.environ["DRAGOMAN_NATIVE"] = "0"  # the loops in C draw other masks
    main()
