"""Several seeds: runs that equal lone ones, mean and standard deviation, and resuming after a stop."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.runs.comparison.test_ladder import MODELS, RECIPE

from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError, Interrupted
from dragoman.cli.display import Silent
from dragoman.evaluation.evaluate import evaluate
from dragoman.models.folder.weights import read_weights
from dragoman.text import toy
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.events import Observer, Stop
from dragoman.training.runs.comparison.seeds import (
    MOST_SEEDS,
    Seeded,
    SeedReport,
    SeedScores,
    plan_seeds,
    report_seeds,
    seeded,
    spread_of,
    train_seeds,
)
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.run import train
from dragoman.training.trainer import Trainer
from dragoman.translation.translator import Translator

QUICK = ("training.max_updates=4", "training.validate_every=2", "training.log_every=2")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text and a recipe."""
    folder = tmp_path_factory.mktemp("seeds")
    for part, seed, count in (("train", 1, 150), ("valid", 2, 20), ("test", 3, 30)):
        pairs = toy.pairs(seed=seed, count=count)
        for number, side in enumerate(("en", "de")):
            lines = [f"{pair[number]}\n" for pair in pairs]
            (folder / f"{part}.{side}").write_text("".join(lines), encoding="utf-8")
    (folder / "r.toml").write_text(RECIPE.format(model=MODELS["2-transformer"]), encoding="utf-8")
    return folder


@contextmanager
def watch(_: Path) -> Iterator[Any]:
    with Silent() as display:
        yield display, lambda: 0


def trained(place: Path, run: Seeded, observer: Observer, stop: Stop) -> Translator:
    return train(
        output=run.folder,
        recipe=place / "r.toml",
        overrides=run.overrides,
        data_root=place,
        observer=observer,
        stop=stop,
    )


def planned(place: Path, output: Path, *overrides: str, count: int = 2) -> list[Seeded]:
    return plan_seeds(count, output, recipe=place / "r.toml", overrides=(*QUICK, *overrides), data_root=place)


@pytest.fixture(scope="module")
def runs(place: Path) -> list[Seeded]:
    """Two finished runs, whose first seed is not 1."""
    runs = planned(place, place / "out", "seed=4", "training.ema=0.5")
    train_seeds(runs, lambda *each: trained(place, *each), watch=watch)
    return runs


@pytest.fixture(scope="module")
def report(place: Path, runs: list[Seeded]) -> SeedReport:
    return report_seeds(runs, place / "out", data_root=place, command=["dragoman", "train"])


@pytest.mark.thorough
def test_each_seed_has_a_folder(runs: list[Seeded], place: Path) -> None:
    assert [(run.seed, run.folder) for run in runs] == [(n, place / "out" / f"seed-{n}") for n in (4, 5)]
    assert [read_toml(run.folder / "training.toml")["seed"] for run in runs] == [4, 5]
    assert read_weights(runs[0].folder / "model.safetensors").keys()


@pytest.mark.thorough
def test_a_seed_is_the_run_that_it_would_be_alone(runs: list[Seeded], place: Path, tmp_path: Path) -> None:
    """Bit for bit: what ran before it in the same process leaves no trace."""
    alone = Seeded(seed=5, folder=tmp_path / "alone", overrides=runs[1].overrides)
    trained(place, alone, Silent(), lambda: 0)

    name = "model.safetensors"
    assert (alone.folder / name).read_bytes() == (runs[1].folder / name).read_bytes()
    assert (runs[0].folder / name).read_bytes() != (runs[1].folder / name).read_bytes()


@pytest.mark.thorough
def test_the_scores_are_those_of_the_models(runs: list[Seeded], report: SeedReport, place: Path) -> None:
    pairs = list(
        zip(*((place / f"test.{side}").read_text("utf-8").splitlines() for side in ("en", "de")), strict=True)
    )
    for run, scores in zip(runs, report.runs, strict=True):
        translator = Translator.load(run.folder)
        evaluation = evaluate(translator, pairs, metrics=("bleu", "chrf"), bootstrap=0)
        assert scores.test_bleu == evaluation.scores.bleu.value
        assert scores.test_chrf == evaluation.scores.chrf.value
        assert scores.test_lowercased == evaluation.score(lowercase=True).bleu.value
        assert (scores.seed, scores.updates) == (run.seed, 4)
        finish = [json.loads(line) for line in RunFolder(run.folder).metrics.path.read_text().splitlines()][
            -1
        ]
        assert (scores.validation_loss, scores.validation_bleu) == (finish["loss"], finish["bleu"])
        corpus = TokenisedCorpus(run.folder / "checkpoints/corpus/valid", translator.tokenizer)
        assert len(corpus) == 20


def test_the_spread_is_mean_and_standard_deviation(report: SeedReport, place: Path) -> None:
    written = json.loads((place / "out/seeds.json").read_text("utf-8"))

    assert written["command"] == ["dragoman", "train"]
    assert [run["seed"] for run in written["runs"]] == [4, 5]
    for name in ("validation_loss", "test_chrf"):
        values = [run[name] for run in written["runs"]]
        assert values[0] != values[1]
        assert written["spread"][name]["mean"] == pytest.approx(np.mean(values))
        assert written["spread"][name]["sd"] == pytest.approx(np.std(values, ddof=1))
        assert values == [getattr(run, name) for run in report.runs]


@pytest.mark.thorough
def test_the_table_has_a_row_for_each_seed_and_one_for_all(report: SeedReport) -> None:
    head, *rows = report.to_text().splitlines()
    spread = report.spreads()["test_chrf"]

    assert [row.split()[0] for row in rows[:3]] == ["4", "5", "mean"]
    assert head.endswith("chrF")
    assert rows[2].endswith(f"{spread.mean:.2f} ± {spread.sd:.2f}")
    assert any("validation BLEU: greedy; nrefs:1|case:mixed" in row for row in rows)
    assert any("test BLEU: beam 4, length penalty 0.6; nrefs:1|case:mixed" in row for row in rows)
    assert any("lower-cased: nrefs:1|case:lc" in row for row in rows)


@pytest.mark.parametrize("values", [[3.0, 5.0], [41.41, 40.97, 41.02], [1.5, 1.5, 1.5, 1.5]])
def test_spread_of_values(values: list[float]) -> None:
    spread = spread_of(values)

    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.sd == pytest.approx(np.std(values, ddof=1))
    assert spread.text(2) == f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"


@pytest.mark.thorough
def test_one_seed_has_no_deviation() -> None:
    assert spread_of([41.0]).text(1) == "41.0"
    report = SeedReport(runs=(SeedScores(seed=1, folder="seed-1", updates=9, minutes=1.0),), notes=())
    assert "±" not in report.to_text()
    assert report.spreads() == {}


@pytest.mark.thorough
def test_complete_seeds_are_not_trained_again(
    runs: list[Seeded], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(_: Trainer) -> None:
        raise AssertionError

    monkeypatch.setattr(Trainer, "train", no_more)
    train_seeds(runs, lambda *each: trained(place, *each), watch=watch)


@pytest.mark.thorough
def test_a_stop_in_the_second_seed_is_gone_on_from(runs: list[Seeded], place: Path, tmp_path: Path) -> None:
    again = planned(place, tmp_path, "seed=4", "training.ema=0.5")
    steps: list[tuple[str, int]] = []

    @contextmanager
    def stopping(folder: Path) -> Iterator[Any]:
        with Silent() as display:
            yield (
                display,
                lambda: 2 if folder.name == "seed-5" and steps.append((folder.name, 0)) is None else 0,
            )

    with pytest.raises(Interrupted, match="stopped at update"):
        train_seeds(again, lambda *each: trained(place, *each), watch=stopping)
    assert steps
    assert (again[0].folder / "model.safetensors").exists()
    assert not (again[1].folder / "model.safetensors").exists()
    train_seeds(again, lambda *each: trained(place, *each), watch=watch)

    for run, whole in zip(again, runs, strict=True):
        name = "model.safetensors"
        assert (run.folder / name).read_bytes() == (whole.folder / name).read_bytes()


@pytest.mark.parametrize("count", [0, -1, MOST_SEEDS + 1])
def test_a_number_of_seeds_out_of_range_is_refused(count: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"--seeds {count}") as caught:
        seeded(tmp_path, (), first=1, count=count)
    assert "from 1 to" in caught.value.hint


def test_seeds_beyond_the_largest_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="seed = "):
        seeded(tmp_path, (), first=2**63 - 1, count=2)


def test_what_cannot_be_is_refused_before_anything_is_trained(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.en"):
        planned(place, tmp_path, 'data.test=["nowhere.en", "test.de"]')
    (tmp_path / "training.toml").write_text("")
    with pytest.raises(ConfigError, match="holds a run without --seeds") as caught:
        planned(place, tmp_path)
    assert "-o" in caught.value.hint


def test_validation_text_of_the_recipe_does_not_score_other_text(place: Path, tmp_path: Path) -> None:
    options = {"recipe": place / "r.toml", "overrides": ["data.test=[]"], "data_root": place}

    assert plan_seeds(2, tmp_path, **options)
    with pytest.raises(ConfigError, match="needs text to score"):
        plan_seeds(2, tmp_path, **options, own_text=False)
    assert plan_seeds(2, tmp_path, **options, own_text=False, validated=True)


def test_a_folder_of_seeds_takes_no_other_run(runs: list[Seeded], place: Path) -> None:
    folder = runs[0].folder.parent
    names = sorted(path.name for path in folder.iterdir())

    with pytest.raises(ConfigError, match=r"holds runs of --seeds"):
        train(output=folder, recipe=place / "r.toml", overrides=QUICK, data_root=place)

    assert sorted(path.name for path in folder.iterdir()) == names


def test_a_memory_too_small_to_hold_pairs_out_ends_after_the_first_seed(place: Path, tmp_path: Path) -> None:
    begun: list[int] = []

    def tuned(run: Seeded, *_: object) -> None:
        begun.append(run.seed)
        folder = RunFolder(run.folder)
        folder.path.mkdir()
        folder.note(Recipe())
        folder.metrics.add({"kind": "result", "step": 4, "loss": None, "bleu": None})

    runs = seeded(tmp_path, (), first=4, count=3)
    with pytest.raises(ConfigError, match="needs text to score"):
        train_seeds(runs, tuned, watch=watch)
    assert begun == [4]
