"""The demo: train a small English-German translator on the embedded corpus and try it.

It does the same as a user's commands: it writes text files, trains on them, scores the model on sentences
that it has not seen, and translates a few more.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.results import Scores
from dragoman.text import toy
from dragoman.text.corpora.corpus import open_corpus
from dragoman.training.events import Observer
from dragoman.training.runs.run import train

PAIRS = 50_000  # in the training text
HELD_OUT = 500  # in the validation text, and in the test text
PARTS = ("train", "valid", "test")

PRESET = "tiny"
# Options that make the preset quick. Nearly every word is one token, because pieces of rare forms, such as
# "rot" and "es", need longer to learn. It sees a sentence once or twice: no dropout is needed; small batches
# learn more from each token; Muon learns more from an update than Adam; and the learning rate falls to zero
# by the end.
OVERRIDES = (
    "title=English to German, the demo of dragoman",
    "tokenizer.vocab_size=3500",
    "model.dropout=0.0",
    "training.schedule=cosine",
    "training.optimizer=muon",
    "training.learning_rate=0.008",
    "training.warmup=60",
    "training.batch_tokens=1024",
    "training.max_updates=640",
    "training.validate_every=160",
    "training.average=1",
)


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """The results of the demo."""

    scores: Scores  # on sentences it has not seen
    sentences_per_second: float
    translations: tuple[tuple[str, str], ...]  # of DEMO_SENTENCES: sentence, translation
    report: Path  # the page of `dragoman inspect` for the first of them
    commands: tuple[tuple[str, str], ...]  # to try next, each with its purpose


def demonstrate(
    output: Path, *, observer: Observer | None = None, stop: Callable[[], int] = lambda: 0
) -> Demonstration:
    """Train in `output`, or resume there; then score and translate.

    The text is written to its folder `text`. Raises Interrupted when `stop` returns a signal.
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
    corpus = open_corpus([text / "test.en", text / "test.de"])
    pairs = [(line.source, line.target) for line in corpus]
    evaluation = evaluate(translator, pairs, metrics=("bleu", "chrf"))
    samples = translator.translate(toy.DEMO_SENTENCES)
    report = output / "report.html"
    write_whole(report, translator.inspect(toy.DEMO_SENTENCES[0], name=str(output)).to_html())
    return Demonstration(
        scores=evaluation.scores,
        sentences_per_second=evaluation.sentences_per_second,
        translations=tuple((sample.source, sample.text) for sample in samples),
        report=report,
        commands=commands(output),
    )


def commands(output: Path) -> tuple[tuple[str, str], ...]:
    """Return commands to try next, each with its purpose."""
    folder = shlex.quote(str(output))
    return (
        (f"dragoman translate {folder}", "translate what you type"),
        (f"dragoman evaluate {folder} {folder}/text/test.en {folder}/text/test.de", "score it again"),
        (f'dragoman inspect {folder} "{toy.DEMO_SENTENCES[1]}" -o report.html', "see how it came about"),
        (
            "dragoman train train.en train.de --valid valid.en valid.de -o runs/mine",
            "train on text of your own",
        ),
    )


def write_text(folder: Path) -> None:
    """Write train, valid and test, each as .en and .de. Raise ConfigError if there is other text."""
    paths = {(part, side): folder / f"{part}.{side}" for part in PARTS for side in ("en", "de")}
    if all(path.exists() for path in paths.values()) and (folder.parent / "training.toml").exists():
        return
    splits = toy.splits(train=PAIRS, valid=HELD_OUT, test=HELD_OUT)
    texts = {
        path: "".join(f"{pair[side == 'de']}\n" for pair in getattr(splits, part)).encode()
        for (part, side), path in paths.items()
    }
    for path, text in texts.items():
        if path.exists() and path.read_bytes() != text:
            raise ConfigError(f"{path}: not the text of the demo", hint="choose another folder: -o FOLDER")
    for path in [one for one in texts if not one.exists()]:
        write_whole(path, texts[path])
