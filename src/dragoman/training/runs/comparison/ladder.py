"""A ladder: recipes trained on the same text within the same budget, evaluated and compared.

Each rung is a training run in its own folder, or several with other seeds. So a stopped ladder can be
resumed, and every run is a model that can translate.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.base.html import charts
from dragoman.base.tables import aligned
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.runs.comparison.seeds import Seeded, Watch, score_test, seeded, spread_of
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import find_data, resolve
from dragoman.training.runs.run import train
from dragoman.translation.translator import Translator


@dataclass(frozen=True, kw_only=True)
class PlannedRung:
    """A recipe to train, with overrides."""

    name: str
    file: Path
    overrides: tuple[str, ...] = ()
    seeds: int | None = None  # how many, or the recipe's alone

    def runs(self, output: Path) -> list[Seeded]:
        """Its runs, in folders of `output`. Raises ConfigError."""
        folder, first = output / self.name, resolve(recipe=self.file, overrides=self.overrides).seed
        if self.seeds is None:
            return [Seeded(seed=first, folder=folder, overrides=self.overrides)]
        return seeded(folder, self.overrides, first=first, count=self.seeds)


@dataclass(frozen=True, kw_only=True)
class Rung:
    """The result of a rung. With several seeds, figures are means, and `curve` belongs to the first."""

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
    seed: int = 1
    runs: tuple[Rung, ...] = ()  # one for each seed, if there are several

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second over the whole run."""
        return self.tokens / (60 * self.minutes)

    def cell(self, measure: str) -> str:
        """A score with two digits, with several seeds as mean ± standard deviation."""
        values = [getattr(run, measure) for run in self.runs or (self,)]
        return spread_of([value for value in values if value is not None]).text(2)


def plan_rungs(
    files: Sequence[Path],
    overrides: Sequence[str],
    vary: str | None,
    data_root: Path | None,
    seeds: int | None = None,
) -> list[PlannedRung]:
    """Return a rung for each recipe; with `vary` = "section.key=a,b,c", for each recipe and value.

    With `seeds`, a rung has that many runs, with the seed of the recipe and the next ones. Raises ConfigError
    if one of them is invalid, before the first is trained.
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
            seeds=seeds,
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
        entry.runs(Path())
        data = resolve(recipe=entry.file, overrides=entry.overrides).data
        for part in ("train", "valid", "test"):
            texts = [getattr(data, part), *(getattr(one, part) for one in data.corpora)]
            if not any(texts):
                raise ConfigError(f"{entry.file}: names no {part} text", hint=f"set data.{part}")
            for names in filter(None, texts):
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
        results: list[Rung] = []
        for run in entry.runs(output):
            with watch(run.folder) as (observer, stop):
                translator = train(
                    output=run.folder,
                    recipe=entry.file,
                    overrides=run.overrides,
                    data_root=data_root,
                    observer=observer,
                    stop=stop,
                )
            results.append(_evaluate(entry, run, translator, data_root))
            name = entry.name if entry.seeds is None else f"{entry.name}, seed {run.seed}"
            say(f"{name}: BLEU {results[-1].bleu:.2f} after {results[-1].minutes:.1f} minutes")
        done.append(_mean(results))
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
            curves, title="BLEU on the validation text, cased, as each system trains", x="minutes", y="BLEU"
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
            rung.cell("bleu"),
            rung.cell("lowercased"),
            rung.cell("chrf"),
            f"{rung.parameters:,}",
            f"{rung.minutes:.1f}",
            f"{rung.updates:,}",
            f"{rung.tokens_per_second:,.0f}",
        ]
        if longer:
            row.append(
                "-" if rung.longer_bleu is None else f"{rung.cell('longer_bleu')} ({rung.longer} sentences)"
            )
        rows.append(row)
    return rows


def _notes(rungs: Sequence[Rung]) -> list[str]:
    signatures = sorted({rung.signature for rung in rungs})
    notes = [f"BLEU on the test text: {signature}" for signature in signatures]
    if seeds := sorted({len(rung.runs) for rung in rungs if rung.runs}):
        notes.append(
            f"Scores: mean ± standard deviation (n - 1) of {' or '.join(map(str, seeds))} seeds. "
            "Other columns: means. Curves: the first seed."
        )
    if any(rung.longer for rung in rungs):
        seen = sorted({rung.longest_seen for rung in rungs})
        notes.append(
            f"longer than seen: test sentences of more than {' or '.join(map(str, seen))} source tokens, "
            "the longest in training"
        )
    return notes


def _mean(runs: Sequence[Rung]) -> Rung:
    """The rung of several seeds, or the only run."""
    if len(runs) == 1:
        return runs[0]
    means: dict[str, Any] = {}
    for name in ("updates", "minutes", "tokens", "bleu", "lowercased", "chrf", "longer_bleu"):
        values = [value for run in runs if (value := getattr(run, name)) is not None]
        means |= {name: fmean(values)} if values else {}
    counts = {name: round(means[name]) for name in ("updates", "tokens")}
    return replace(runs[0], **means | counts, runs=tuple(runs))


def _evaluate(entry: PlannedRung, planned: Seeded, translator: Translator, data_root: Path | None) -> Rung:
    recipe = resolve(recipe=entry.file, overrides=planned.overrides)
    tested = score_test(translator, recipe, data_root)
    tokenizer = translator.tokenizer
    run = RunFolder(planned.folder)
    texts = [TokenisedCorpus(path, tokenizer) for path in run.checkpoints.training_texts()]
    longest = max(int(text.source.lengths.max(initial=0)) for text in texts)
    # Neither these lengths nor those in the corpus count the end token.
    (evaluation, *others), longer = tested.evaluations.values(), list[int]()
    if not others:
        encoded = tokenizer.encode_source([translation.source for translation in evaluation.translations])
        longer = [row for row, ids in enumerate(encoded) if len(ids) > longest]
    progress = run.checkpoints.progress()
    model = translator.bundle.model
    return Rung(
        name=entry.name,
        title=recipe.title,
        architecture=recipe.model.architecture,
        parameters=sum(p.numel() for p in model.parameters()),
        updates=progress.step,
        minutes=progress.seconds / 60,
        tokens=progress.tokens,
        bleu=tested.bleu,
        signature=tested.signatures("bleu"),
        lowercased=tested.lowercased,
        chrf=tested.chrf,
        longest_seen=longest,
        longer=len(longer),
        longer_bleu=evaluation.score(longer).bleu.value if longer else None,
        curve=tuple(
            (validation.elapsed / 60, validation.bleu)
            for validation in run.metrics.validations()
            if validation.bleu is not None
        ),
        seed=planned.seed,
    )


def budget(minutes: float | None, updates: int | None) -> list[str]:
    """Return the options that give every rung the same budget."""
    limits = {"training.max_minutes": minutes, "training.max_updates": updates}
    return [f"{key}={value}" for key, value in limits.items() if value is not None]
