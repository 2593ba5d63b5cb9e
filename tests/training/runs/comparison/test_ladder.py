"""A ladder of small models on a few sentences: the rungs, the table and the page."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.base.errors import ConfigError
from dragoman.cli.display import Silent
from dragoman.evaluation.metrics import score_corpus
from dragoman.text import toy
from dragoman.training.runs.comparison import ladder
from dragoman.training.runs.comparison.ladder import PlannedRung, budget, climb, plan_rungs, to_html, to_text
from dragoman.translation.translator import Translator

RECIPE = """
title = "a small one"
[data]
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
test = ["test.en", "test.de"]
filter.max_length = 14
[tokenizer]
vocab_size = 400
[model]
{model}
[training]
batch_tokens = 400
schedule = "inverse-sqrt"
learning_rate = 0.003
warmup = 10
max_updates = 12
validate_every = 6
average = 2
"""
MODELS = {
    "1-recurrent": 'architecture = "recurrent"\nd_model = 16\nattention = "dot"',
    "2-transformer": "d_model = 16\nd_ff = 16\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ladder")
    parts = {"train": toy.pairs(seed=1, count=300), "valid": toy.pairs(seed=2, count=20)}
    for part, pairs in {**parts, "test": toy.pairs(seed=3, count=30)}.items():
        for number, side in enumerate(("en", "de")):
            lines = [f"{pair[number]}\n" for pair in pairs]
            (folder / f"{part}.{side}").write_text("".join(lines), encoding="utf-8")
    for name, model in MODELS.items():
        (folder / f"{name}.toml").write_text(RECIPE.format(model=model), encoding="utf-8")
    return folder


@contextmanager
def watch(_: Path) -> Iterator[Any]:
    with Silent() as display:
        yield display, lambda: 0


@pytest.fixture(scope="module")
def rungs(place: Path) -> list[ladder.Rung]:
    files = sorted(place.glob("*.toml"))
    return climb(plan_rungs(files, (), None, place), place / "out", data_root=place, watch=watch)


@pytest.mark.thorough
def test_every_rung_is_a_model_that_translates(rungs: list[ladder.Rung], place: Path) -> None:
    assert [rung.architecture for rung in rungs] == ["recurrent", "transformer"]
    for rung in rungs:
        model = Translator.load(place / "out" / rung.name).bundle.model
        assert rung.parameters == sum(p.numel() for p in model.parameters())  # type: ignore[attr-defined]
        assert rung.updates == 12
        assert rung.tokens > 12 * 100
        assert len(rung.curve) == 2
        assert 0 <= rung.bleu <= rung.lowercased <= 100
        assert rung.signature.startswith("nrefs:1|case:mixed")


@pytest.mark.thorough
def test_sentences_longer_than_any_in_training_are_scored_apart(
    rungs: list[ladder.Rung], place: Path
) -> None:
    lines = (place / "test.en").read_text(encoding="utf-8").splitlines()
    references = (place / "test.de").read_text(encoding="utf-8").splitlines()
    for rung in rungs:
        translator = Translator.load(place / "out" / rung.name)
        lengths = map(len, translator.bundle.tokenizer.encode_source(lines))
        longer = [i for i, length in enumerate(lengths) if length > 14]
        found = [one.text for one in translator.translate(lines)]
        scores = score_corpus(
            [found[i] for i in longer], [references[i] for i in longer], target_language="de", bootstrap=0
        )

        assert (rung.longest_seen, rung.longer) == (14, len(longer))
        assert 0 < len(longer) < 30
        assert rung.longer_bleu == scores.bleu.value


@pytest.mark.thorough
def test_what_was_measured_is_written(rungs: list[ladder.Rung], place: Path) -> None:
    table = json.loads((place / "out/ladder.json").read_text())
    page = (place / "out/ladder.html").read_text()

    assert [entry["name"] for entry in table] == list(MODELS)
    assert table[0]["bleu"] == rungs[0].bleu
    assert page == to_html(rungs)
    for rung in rungs:
        assert rung.name in page
        assert rung.name in to_text(rungs)
        assert f"{rung.parameters:,}" in page


@pytest.mark.thorough
def test_a_rung_that_is_done_is_not_trained_again(
    rungs: list[ladder.Rung], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = place / "out/1-recurrent/model.safetensors"
    before = weights.stat().st_mtime_ns

    again = climb(
        plan_rungs(sorted(place.glob("*.toml")), (), None, place), place / "out", data_root=place, watch=watch
    )

    assert weights.stat().st_mtime_ns == before
    assert [rung.bleu for rung in again] == [rung.bleu for rung in rungs]


@pytest.mark.thorough
def test_a_rung_of_several_seeds_has_mean_and_deviation(place: Path, tmp_path: Path) -> None:
    options = ("training.max_updates=2", "training.validate_every=2", "seed=3")
    planned = plan_rungs([place / "2-transformer.toml"], options, None, place, seeds=2)
    (rung,) = climb(planned, tmp_path, data_root=place, watch=watch)
    (entry,) = json.loads((tmp_path / "ladder.json").read_text())

    assert [run.seed for run in rung.runs] == [3, 4]
    assert sorted(path.name for path in (tmp_path / rung.name).iterdir()) == ["seed-3", "seed-4"]
    chrfs = [run.chrf for run in rung.runs]
    assert chrfs[0] != chrfs[1]
    assert rung.chrf == pytest.approx(statistics.fmean(chrfs))
    assert rung.minutes == pytest.approx(statistics.fmean(run.minutes for run in rung.runs))
    assert [run["chrf"] for run in entry["runs"]] == chrfs
    shown = f"{statistics.fmean(chrfs):.2f} ± {statistics.stdev(chrfs):.2f}"
    assert shown in to_text([rung])
    assert shown in to_html([rung])
    assert "standard deviation (n - 1) of 2 seeds" in to_text([rung])
    (alone,) = climb(
        plan_rungs([place / "2-transformer.toml"], (*options, "seed=4"), None, place),
        tmp_path / "alone",
        data_root=place,
        watch=watch,
    )
    assert alone.chrf == chrfs[1]
    assert "±" not in to_text([alone])


def test_a_rung_may_mix_texts(place: Path, tmp_path: Path) -> None:
    corpora = '[{name="a", train=["train.*.en", "train.*.de"]}, {name="b", train=["more.en", "more.de"]}]'
    parts = "valid", "test"
    for side in ("en", "de"):
        lines = (place / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"train.1.{side}").write_text("".join(lines[:200]), encoding="utf-8")
        (tmp_path / f"more.{side}").write_text("".join(lines[200:]), encoding="utf-8")
        for part in parts:
            (tmp_path / f"{part}.{side}").write_bytes((place / f"{part}.{side}").read_bytes())
    file = tmp_path / "mixed.toml"
    recipe = RECIPE.format(model=MODELS["2-transformer"])
    recipe = recipe.replace('train = ["train.en", "train.de"]', f"corpora = {corpora}")
    file.write_text(recipe, encoding="utf-8")

    planned = plan_rungs([file], ("training.max_updates=2", "training.validate_every=2"), None, tmp_path)
    (rung,) = climb(planned, tmp_path / "out", data_root=tmp_path, watch=watch)

    assert 0 < rung.longest_seen <= 14
    (tmp_path / "more.de").unlink()
    with pytest.raises(ConfigError, match="more.en and more.de"):
        plan_rungs([file], (), None, tmp_path)


def test_a_table_climbs() -> None:
    common: dict[str, Any] = {
        "title": "", "architecture": "transformer", "parameters": 1, "updates": 1, "minutes": 1.0,
        "tokens": 60,
        "signature": "s", "lowercased": 1.0, "chrf": 1.0, "longest_seen": 9, "longer": 0, "longer_bleu": None,
        "curve": (),
    }  # fmt: skip
    text = to_text(
        [ladder.Rung(name="high", bleu=9.0, **common), ladder.Rung(name="low", bleu=1.0, **common)]
    )

    assert text.index("low") < text.index("high")
    assert "longer than seen" not in text


def test_one_recipe_varies(place: Path) -> None:
    recipe = place / "2-transformer.toml"

    made = plan_rungs([recipe], ("seed=2",), "model.positions=rotary, none", place)

    assert made == [
        PlannedRung(
            name=f"2-transformer-{kind}", file=recipe, overrides=("seed=2", f"model.positions={kind}")
        )
        for kind in ("rotary", "none")
    ]


def test_a_value_that_is_a_path_makes_no_folders(place: Path) -> None:
    (made,) = plan_rungs([place / "2-transformer.toml"], (), "title=../../etc/x y", place)

    assert made.name == "2-transformer--etc-x-y"


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("model.positions", "not an option and its values"),
        ("model.positions=", "not an option and its values"),
        ("model.positions=rotary,rotary", "two rungs named"),
        ("model.positions=rotary,spiral", r"model\.positions"),
        ("data.test=[]", "names no test text"),
        ('data.valid=["nowhere.en"]', r"nowhere\.en"),
    ],
)
def test_a_ladder_that_cannot_be_is_refused_before_it_begins(vary: str, message: str, place: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_rungs([place / "2-transformer.toml"], (), vary, place)


def test_no_seeds_are_refused(place: Path) -> None:
    with pytest.raises(ConfigError, match="--seeds 0"):
        plan_rungs([place / "2-transformer.toml"], (), None, place, seeds=0)


def test_the_budget_is_the_same_for_all() -> None:
    assert budget(5, None) == ["training.max_minutes=5"]
    assert budget(2.5, 100) == ["training.max_minutes=2.5", "training.max_updates=100"]
    assert budget(None, None) == []
