"""The same run with several seeds, and its scores as mean and standard deviation.

Two runs that differ only in their seed differ in their scores. A difference between two systems means little
unless it is larger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from dragoman.base.config import from_table
from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.base.tables import aligned
from dragoman.text.corpora.languages import Direction, direction_name
from dragoman.training.events import Observer, Stop
from dragoman.training.processes.distributed import joined
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import DataConfig, Recipe, find_data, recipe_of_run, set_options
from dragoman.training.runs.text.directions import validation_of, with_languages
from dragoman.training.runs.text.texts import open_named

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.evaluation.results import MetricName
    from dragoman.translation.search.options import Decoding
    from dragoman.translation.translator import Translator

MOST_SEEDS = 1000
SUMMARY = "seeds.json"
Watch = Callable[[Path], AbstractContextManager[tuple[Observer, Stop]]]


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """One of several runs that differ in their seed."""

    seed: int
    folder: Path
    overrides: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SeedScores:
    """The scores of one seed: of the model that the run kept."""

    seed: int
    folder: str  # within the folder of all
    updates: int
    minutes: float  # of training, validation included
    validation_loss: float | None = None  # nats a token
    validation_bleu: float | None = None
    test_bleu: float | None = None
    test_lowercased: float | None = None  # BLEU
    test_chrf: float | None = None
    pairs: dict[str, float] = field(default_factory=dict)  # test BLEU by pair of languages, of several


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and standard deviation (n - 1) of one measure over the seeds. One seed has no deviation."""

    mean: float
    sd: float | None

    def text(self, digits: int) -> str:
        """`41.19 ± 0.31`, or the mean alone."""
        return f"{self.mean:.{digits}f}" + ("" if self.sd is None else f" ± {self.sd:.{digits}f}")


# The measures, their names in a table and their digits.
_MEASURES = {
    "validation_loss": ("validation loss", 4),
    "validation_bleu": ("validation BLEU", 2),
    "test_bleu": ("test BLEU", 2),
    "test_lowercased": ("lower-cased", 2),
    "test_chrf": ("chrF", 2),
}


@dataclass(frozen=True, kw_only=True)
class SeedReport:
    """The scores of all seeds."""

    runs: tuple[SeedScores, ...]
    notes: tuple[str, ...]  # searches and signatures
    command: tuple[str, ...] = ()

    def spreads(self) -> dict[str, Spread]:
        """Mean and deviation of each measure that every run has."""
        columns = {name: [getattr(run, name) for run in self.runs] for name in _MEASURES}
        return {name: spread_of(values) for name, values in columns.items() if None not in values}

    def to_json(self) -> str:
        """Return the file seeds.json."""
        table = {
            "command": list(self.command),
            "runs": [asdict(run) for run in self.runs],
            "spread": {name: asdict(spread) for name, spread in self.spreads().items()},
            "notes": list(self.notes),
        }
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """Return a row for each seed, and one with mean ± standard deviation."""
        spreads = self.spreads()
        shown = [name for name in _MEASURES if any(getattr(run, name) is not None for run in self.runs)]
        rows = [["seed", "updates", "minutes", *(_MEASURES[name][0] for name in shown)]]
        for run in self.runs:
            values = [(getattr(run, name), _MEASURES[name][1]) for name in shown]
            cells = ["-" if value is None else f"{value:.{digits}f}" for value, digits in values]
            rows.append([str(run.seed), f"{run.updates:,}", f"{run.minutes:.1f}", *cells])
        means = [spreads[name].text(_MEASURES[name][1]) if name in spreads else "-" for name in shown]
        rows.append(["mean" if len(self.runs) == 1 else "mean ± sd", "", "", *means])
        pairs = [
            f"test BLEU {pair}: {spread_of([run.pairs[pair] for run in self.runs]).text(2)}"
            for pair in self.runs[0].pairs
        ]
        return "\n".join((*aligned(rows), "", *pairs, *self.notes))


def spread_of(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation of at least one value."""
    return Spread(mean=fmean(values), sd=stdev(values) if len(values) > 1 else None)


def seeded(output: Path, overrides: Sequence[str], *, first: int, count: int) -> list[Seeded]:
    """Return runs with the seeds `first`, `first` + 1 ..., each with its folder in `output`.

    Raises ConfigError for a number of seeds out of range.
    """
    if not 1 <= count <= MOST_SEEDS:
        raise ConfigError(
            f"--seeds {count} cannot be used", hint=f"it must be from 1 to {MOST_SEEDS:,}, such as --seeds 3"
        )
    from_table(Recipe, {"seed": first + count - 1})
    return [
        Seeded(seed=seed, folder=output / f"seed-{seed}", overrides=(*overrides, f"seed={seed}"))
        for seed in range(first, first + count)
    ]


def plan_seeds(
    count: int,
    output: Path,
    *,
    recipe: Path | None,
    overrides: Sequence[str],
    data_root: Path | None,
    validated: bool = False,
    own_text: bool = True,
) -> list[Seeded]:
    """Return the runs of `dragoman train --seeds`. The recipe has the first seed.

    `validated` says that there is validation text which the recipe does not name, `own_text` that the runs
    train on the text that it names: otherwise they do not use its validation text. Raises ConfigError if the
    folder holds a run without seeds, the test text is missing, or there is no text to score.
    """
    own = set_options(recipe, overrides)
    plain = from_table(Recipe, {key: own[key] for key in ("seed", "data") if key in own})
    for names in filter(None, [plain.data.test, *(one.test for one in plain.data.corpora)]):
        find_data(plain.data, data_root, names)  # before anything is trained
    runs = seeded(output, overrides, first=plain.seed, count=count)
    own_valid = plain.data.valid or any(one.valid for one in plain.data.corpora)
    if not (validated or (own_text and own_valid) or has_test(plain.data)):
        raise ConfigError(
            "--seeds needs text to score: the runs have neither validation nor test text",
            hint="pass --valid FILE FILE, or a recipe with data.test",
        )
    if RunFolder(output).recipe.exists() or RunFolder(output).weights.exists():
        raise ConfigError(
            f"{output}: holds a run without --seeds", hint="choose another folder with -o, for all seeds"
        )
    return runs


def train_seeds(
    runs: Sequence[Seeded],
    train: Callable[[Seeded, Observer, Stop], object],
    *,
    watch: Watch,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Train the runs one after the other. One that is complete is not trained again.

    Raises what `train` raises, and ConfigError if the first run has no text to score.
    """
    with joined():  # the processes of torchrun join once, not for each run
        for number, run in enumerate(runs, 1):
            say(f"seed {run.seed}, {number} of {len(runs)}: {run.folder}")
            with watch(run.folder) as (observer, stop):
                train(run, observer, stop)
            folder = RunFolder(run.folder)
            scored = (folder.metrics.result() or {}).get("bleu") is not None
            if not (scored or has_test(recipe_of_run(folder.recipe).data)):
                raise ConfigError("--seeds needs text to score: no pairs were held out", hint="pass --valid")


def report_seeds(
    runs: Sequence[Seeded], output: Path, *, data_root: Path | None, command: Sequence[str] = ()
) -> SeedReport:
    """Evaluate the trained runs on the test text, if the recipe names one, and write seeds.json."""
    scored = [_scores(run, data_root) for run in runs]
    notes = list(dict.fromkeys(note for _, each in scored for note in each))
    if len(runs) > 1:
        notes.insert(0, f"sd: standard deviation (n - 1) of {len(runs)} seeds")
    report = SeedReport(runs=tuple(one for one, _ in scored), notes=tuple(notes), command=tuple(command))
    write_whole(output / SUMMARY, report.to_json())
    return report


@dataclass(frozen=True)
class Tested:
    """The translations of a recipe's test text, by pair of languages; the scores are the means."""

    evaluations: Mapping[Direction, Evaluation]

    @cached_property
    def bleu(self) -> float:
        return fmean(self.by_pair.values())

    @cached_property
    def lowercased(self) -> float:
        return fmean(one.score(lowercase=True).bleu.value for one in self.evaluations.values())

    @cached_property
    def chrf(self) -> float:
        return fmean(one.scores.chrf.value for one in self.evaluations.values())

    @cached_property
    def by_pair(self) -> dict[str, float]:
        """BLEU of each pair."""
        return {direction_name(pair): one.scores.bleu.value for pair, one in self.evaluations.items()}

    def signatures(self, metric: MetricName, *, lowercase: bool = False) -> str:
        """The signatures of a metric; several languages may have several."""
        found = (one.score(lowercase=lowercase).by_metric[metric] for one in self.evaluations.values())
        return " ".join(dict.fromkeys(one.signature for one in found))


def has_test(data: DataConfig) -> bool:
    """Whether a recipe names test text."""
    return bool(data.test or any(one.test for one in data.corpora))


def score_test(
    translator: Translator,
    recipe: Recipe,
    data_root: Path | None,
    decoding: Decoding | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Tested:
    """Translate and score the test text of a recipe."""
    from dragoman.evaluation.evaluate import evaluate
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.search.options import Decoding

    several = translator.several
    stated = (None, None) if several else (translator.source_language, translator.target_language)
    if recipe.data.test:
        text = open_corpus(find_data(recipe.data, data_root, recipe.data.test), languages=stated)
        only = translator.pair(Decoding(source=text.source_language, to=text.target_language))
        texts = {only: text}
    else:
        opened = open_named(recipe.data, data_root, stated, lambda one: one.test)
        tested = tuple(one for one in recipe.data.corpora if one.name in opened)
        chosen = replace(recipe, data=replace(recipe.data, corpora=tested))
        texts = validation_of(with_languages(chosen, opened, several=True).data.corpora, opened)
    found: dict[Direction, Evaluation] = {}
    for (source, to), text in texts.items():
        pairs = [(line.source, line.target) for line in text]
        say(f"{source}-{to}: {len(pairs):,} sentences")
        ways = (source, to) if several else (None, None)
        found[source, to] = evaluate(
            translator, pairs, decoding, metrics=("bleu", "chrf"), bootstrap=0, source=ways[0], to=ways[1]
        )
    return Tested(found)


def _scores(run: Seeded, data_root: Path | None) -> tuple[SeedScores, Iterable[str]]:
    """The scores of a run, and notes for the reader."""
    from dragoman.training.runs.validation_scores import search_name
    from dragoman.translation.translator import Translator

    folder = RunFolder(run.folder)
    recipe = recipe_of_run(folder.recipe)
    progress, result = folder.checkpoints.progress(), folder.metrics.result() or {}
    scores = SeedScores(
        seed=run.seed,
        folder=run.folder.name,
        updates=progress.step,
        minutes=progress.seconds / 60,
        validation_loss=result.get("loss"),
        validation_bleu=result.get("bleu"),
    )
    notes = []
    if scores.validation_bleu is not None:
        notes.append(f"validation BLEU: {result['search']}; {result['signature']}")
    if has_test(recipe.data):
        tested = score_test(Translator.load(run.folder), recipe, data_root)
        scores = replace(
            scores,
            test_bleu=tested.bleu,
            test_lowercased=tested.lowercased,
            test_chrf=tested.chrf,
            pairs=tested.by_pair if len(tested.by_pair) > 1 else {},
        )
        notes.append(f"test BLEU: {search_name(recipe.generation)}; {tested.signatures('bleu')}")
        lowercased = tested.signatures("bleu", lowercase=True)
        notes += [f"lower-cased: {lowercased}", f"chrF: {tested.signatures('chrf')}"]
    return scores, notes
