"""The first two minutes: a small English-German translator, trained on the embedded corpus and tried out.

It does nothing that a user's own commands do not: it writes text files, trains on them, scores what it
has trained on sentences it has not seen, and translates a few more.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.base.files import write_whole
from dragoman.evaluation.measures import score_corpus
from dragoman.evaluation.scores import Scores
from dragoman.runs.run import train
from dragoman.text import toy
from dragoman.text.corpus import open_corpus
from dragoman.training.options import Observer

PAIRS = 40_000  # to learn from
HELD_OUT = 500  # to validate on, and as many to score
PARTS = ("train", "valid", "test")

PRESET = "tiny"
# What makes the preset quick. So much text is read only twice, so nothing need be dropped; small
# batches learn more from a token; and the rate falls to zero by the end.
OVERRIDES = (
    "title=English to German, the demo of dragoman",
    "tokenizer.vocab_size=2000",
    "model.dropout=0.0",
    "training.schedule=cosine",
    "training.learning_rate=0.003",
    "training.warmup=100",
    "training.batch_tokens=1024",
    "training.max_updates=900",
    "training.validate_every=150",
    "training.average=1",
)


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """What the demo has to show."""

    scores: Scores  # on sentences it has not seen
    sentences_per_second: float
    translations: tuple[tuple[str, str], ...]  # of DEMO_SENTENCES: sentence, translation
    report: Path  # one of them, opened up
    commands: tuple[tuple[str, str], ...]  # to try next: command, what it does


def demonstrate(
    output: Path, *, observer: Observer | None = None, stop: Callable[[], int] = lambda: 0
) -> Demonstration:
    """Trains in `output` (or goes on there, or finds it done), scores and translates.

    The text lies in its folder `text`. Raises Interrupted when `stop` says so.
    """
    text = output / "text"
    write_text(text)
    translator = train(
        [text / "train.en", text / "train.de"],
        valid=[text / "valid.en", text / "valid.de"],
        output=output,
        preset=PRESET,
        overrides=OVERRIDES,
        observer=observer,
        stop=stop,
    )
    corpus = list(open_corpus([text / "test.en", text / "test.de"]))
    began = time.perf_counter()
    found = translator.translate([line.source for line in corpus])
    seconds = time.perf_counter() - began
    scores = score_corpus(
        [one.text for one in found],
        [line.target for line in corpus],
        target_language=translator.target_language,
        metrics=("bleu", "chrf"),
    )
    shown = translator.translate(toy.DEMO_SENTENCES)
    report = output / "report.html"
    write_whole(report, translator.inspect(toy.DEMO_SENTENCES[0], name=str(output)).to_html())
    return Demonstration(
        scores=scores,
        sentences_per_second=len(corpus) / seconds,
        translations=tuple((one.source, one.text) for one in shown),
        report=report,
        commands=commands(output),
    )


def commands(output: Path) -> tuple[tuple[str, str], ...]:
    """What to try next."""
    folder = shlex.quote(str(output))
    return (
        (f"dragoman translate {folder}", "translate what you type"),
        (
            f"dragoman evaluate {folder} {folder}/text/test.en {folder}/text/test.de",
            "score it again, as you would any model",
        ),
        (f'dragoman inspect {folder} "{toy.DEMO_SENTENCES[1]}" -o report.html', "see how it came about"),
        (
            "dragoman train train.en train.de --valid valid.en valid.de -o runs/mine",
            "train on text of your own",
        ),
    )


def write_text(folder: Path) -> None:
    """Writes train, valid and test, each as .en and .de, unless they are there."""
    paths = {(part, side): folder / f"{part}.{side}" for part in PARTS for side in ("en", "de")}
    if all(path.exists() for path in paths.values()):
        return
    splits = toy.splits(train=PAIRS, valid=HELD_OUT, test=HELD_OUT)
    for part in PARTS:
        for place, side in enumerate(("en", "de")):
            lines = [f"{pair[place]}\n" for pair in getattr(splits, part)]
            write_whole(paths[part, side], "".join(lines))
