"""A ladder: recipes trained on the same text within the same budget, evaluated and compared.

Each rung is a training run in its own folder. So a stopped ladder can be resumed, and every rung is a model
that can translate.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from dragoman.base import charts
from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.evaluation.evaluate import evaluate
from dragoman.runs.folder import RunFolder
from dragoman.runs.recipe import find_data, resolve
from dragoman.runs.run import train
from dragoman.text.corpus import open_corpus
from dragoman.training.events import Observer, Stop
from dragoman.training.tokenised import TokenisedCorpus
from dragoman.translator import Translator


@dataclass(frozen=True, kw_only=True)
class PlannedRung:
    """A recipe to train, with overrides."""

    name: str
    file: Path
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rung:
    """The result of a rung."""

    name: str
    title: str
    architecture: str
    parameters: int
    updates: int
    minutes: float  # of training, validation included
    tokens: int  # target tokens seen
    bleu: float  # on the test text
    signature: str
    lowercased: float
    chrf: float
    longest_seen: int  # source tokens of the longest pair in training
    longer: int  # test sentences with more
    longer_bleu: float | None  # on those
    curve: tuple[tuple[float, float], ...]  # minutes, BLEU on the validation text

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second over the whole run."""
        return self.tokens / (60 * self.minutes)


Watch = Callable[[Path], AbstractContextManager[tuple[Observer, Stop]]]


def plan_rungs(
    files: Sequence[Path], overrides: Sequence[str], vary: str | None, data_root: Path | None
) -> list[PlannedRung]:
    """Return a rung for each recipe; with `vary` = "section.key=a,b,c", for each recipe and value.

    Raises ConfigError if one of them is invalid, before the first is trained.
    """
    key, equals, listed = (vary or "").partition("=")
    values = [value.strip() for value in listed.split(",")]
    if vary is not None and not (key and equals and all(values)):
        raise ConfigError(
            f"--vary {vary}: not an option and its values",
            hint="for example --vary model.positions=sinusoidal,rotary,none",
        )
    rungs = [
        PlannedRung(
            name=f"{file.stem}-{re.sub(r'[^0-9A-Za-z_+-]+', '-', value)}" if value else file.stem,
            file=file,
            overrides=(*overrides, *([f"{key}={value}"] if value else [])),
        )
        for file in files
        for value in values
    ]
    counts = Counter(entry.name for entry in rungs)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ConfigError(
            f"two rungs named {', '.join(twice)}", hint="rungs are named after recipes and values: change one"
        )
    for entry in rungs:
        data = resolve(recipe=entry.file, overrides=entry.overrides).data
        training = [one.train for one in data.corpora] or [data.train]
        texts = [*(("train", names) for names in training), ("valid", data.valid), ("test", data.test)]
        for part, names in texts:
            if not names:
                raise ConfigError(f"{entry.file}: names no {part} text", hint=f"set data.{part}")
            find_data(data, data_root, names)
    return rungs


def climb(
    rungs: Sequence[PlannedRung],
    output: Path,
    *,
    data_root: Path | None,
    watch: Watch,
    say: Callable[[str], None] = lambda _: None,
) -> list[Rung]:
    """Train and evaluate each rung in a folder of `output`; write ladder.json and ladder.html there.

    A rung that is complete is not trained again. Raises what `train` raises.
    """
    done: list[Rung] = []
    for number, entry in enumerate(rungs, 1):
        say(f"rung {number} of {len(rungs)}: {entry.name}")
        folder = output / entry.name
        with watch(folder) as (observer, stop):
            translator = train(
                output=folder,
                recipe=entry.file,
                overrides=entry.overrides,
                data_root=data_root,
                observer=observer,
                stop=stop,
            )
        done.append(_evaluate(entry, folder, translator, data_root))
        say(f"{entry.name}: BLEU {done[-1].bleu:.2f} after {done[-1].minutes:.1f} minutes")
        output.mkdir(parents=True, exist_ok=True)
        write_whole(output / "ladder.json", json.dumps([asdict(rung) for rung in done], indent=2) + "\n")
        write_whole(output / "ladder.html", to_html(done))
    return done


def to_text(rungs: Sequence[Rung]) -> str:
    """Return a table, best rung last."""
    head, *rows = _table(rungs)
    return "\n".join((*aligned([head, *rows]), "", *_notes(rungs)))


def to_html(rungs: Sequence[Rung]) -> str:
    """Return a self-contained page: BLEU against time, and the table."""
    head, *rows = _table(rungs)
    curves = [charts.Curve(name=rung.name, points=rung.curve) for rung in rungs]
    return charts.page(
        "A ladder of translation systems",
        charts.heading("BLEU against time"),
        charts.line_chart(
            curves,
            title="BLEU on the validation text, cased, as each system trains",
            x="minutes",
            y="BLEU",
        ),
        charts.heading("On the test text"),
        charts.table(head, rows),
        *(charts.paragraph(note) for note in _notes(rungs)),
    )


def _table(rungs: Sequence[Rung]) -> list[list[str]]:
    longer = any(rung.longer for rung in rungs)
    rows = [["system", "BLEU", "lower-cased", "chrF", "parameters", "minutes", "updates", "tokens/s"]]
    rows[0] += ["longer than seen"] if longer else []
    for rung in sorted(rungs, key=lambda rung: rung.bleu):
        row = [
            rung.name,
            f"{rung.bleu:.2f}",
            f"{rung.lowercased:.2f}",
            f"{rung.chrf:.2f}",
            f"{rung.parameters:,}",
            f"{rung.minutes:.1f}",
            f"{rung.updates:,}",
            f"{rung.tokens_per_second:,.0f}",
        ]
        if longer:
            row.append(
                "-" if rung.longer_bleu is None else f"{rung.longer_bleu:.2f} ({rung.longer} sentences)"
            )
        rows.append(row)
    return rows


def _notes(rungs: Sequence[Rung]) -> list[str]:
    signatures = sorted({rung.signature for rung in rungs})
    notes = [f"BLEU on the test text: {signature}" for signature in signatures]
    if any(rung.longer for rung in rungs):
        seen = sorted({rung.longest_seen for rung in rungs})
        notes.append(
            f"longer than seen: test sentences of more than {' or '.join(map(str, seen))} source tokens, "
            "the longest in training"
        )
    return notes


def _evaluate(entry: PlannedRung, folder: Path, translator: Translator, data_root: Path | None) -> Rung:
    recipe = resolve(recipe=entry.file, overrides=entry.overrides)
    languages = translator.source_language, translator.target_language
    test = open_corpus(find_data(recipe.data, data_root, recipe.data.test), languages=languages)
    pairs = [(line.source, line.target) for line in test]
    evaluation = evaluate(translator, pairs, metrics=("bleu", "chrf"), bootstrap=0)
    tokenizer = translator.tokenizer
    run = RunFolder(folder)
    texts = [TokenisedCorpus(path, tokenizer) for path in run.checkpoints.training_texts()]
    longest = max(int(text.source.lengths.max(initial=0)) for text in texts)
    # Neither these lengths nor those in the corpus count the end token.
    encoded = tokenizer.encode_source([source for source, _ in pairs])
    longer = [row for row, ids in enumerate(encoded) if len(ids) > longest]
    scores, progress = evaluation.scores, run.checkpoints.progress()
    model = translator.bundle.model
    return Rung(
        name=entry.name,
        title=recipe.title,
        architecture=recipe.model.architecture,
        parameters=sum(p.numel() for p in model.parameters()),
        updates=progress.step,
        minutes=progress.seconds / 60,
        tokens=progress.tokens,
        bleu=scores.bleu.value,
        signature=scores.bleu.signature,
        lowercased=evaluation.score(lowercase=True).bleu.value,
        chrf=scores.chrf.value,
        longest_seen=longest,
        longer=len(longer),
        longer_bleu=evaluation.score(longer).bleu.value if longer else None,
        curve=tuple(
            (validation.elapsed / 60, validation.bleu)
            for validation in run.metrics.validations()
            if validation.bleu is not None
        ),
    )


def budget(minutes: float | None, updates: int | None) -> list[str]:
    """Return the options that give every rung the same budget."""
    limits = {"training.max_minutes": minutes, "training.max_updates": updates}
    return [f"{key}={value}" for key, value in limits.items() if value is not None]
