"""Every recipe in the repository is complete: it resolves, states its expected score, and runs."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.marks import one_of

from dragoman.base.errors import ConfigError
from dragoman.models.seq2seq import build_model
from dragoman.text import toy
from dragoman.training.runs.recipe import DATA_VARIABLE, find_data, resolve
from dragoman.training.runs.run import train
from dragoman.training.step.update import _Recomputed as Layer
from dragoman.translation.translator import Translator

FOLDER = Path(__file__).parents[3] / "recipes"
PIPELINES = sorted(FOLDER.glob("pipeline*.toml"))
MANY = FOLDER / "general-many.toml"  # of several languages
RECIPES = sorted(set(FOLDER.rglob("*.toml")) - {*PIPELINES, MANY})
LAYERS = ["encoder_layers=1", "decoder_layers=1"]
SHAPES = {
    "transformer": ["d_model=16", "d_ff=16", "heads=2", *LAYERS],
    "convolutional": ["d_model=16", *LAYERS],
    "recurrent": ["d_model=16", "layers=1"],
    "ssru": ["d_model=16", "d_ff=16", "heads=2", *LAYERS],
}
UNMEASURED = {
    "multi30k-de-en",
    "multi30k-en-fr",
    "general-en-de",
    "general-en-de-small",
    "iwslt14-de-en",
}  # and not published
SMALL = [
    "tokenizer.vocab_size=400",
    *(f"training.{name}" for name in ("batch_tokens=200", "max_updates=2", "validate_every=1", "warmup=1")),
]


def put_sample(folder: Path, names: tuple[str, ...], seed: int) -> None:
    """A few sentences of the embedded corpus under the file names of a recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, sentences in zip(names, zip(*toy.pairs(seed=seed, count=40), strict=True), strict=True):
        text = "".join(f"{sentence}\n" for sentence in sentences).encode()
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("pair", ["de-en", "en-de", "en-fr"])
def test_multi30k_has_the_names_of_its_own_repository(pair: str, ending: str, tmp_path: Path) -> None:
    data = resolve(recipe=FOLDER / f"multi30k-{pair}.toml").data
    parts = {"train": data.train, "val": data.valid, "test_2016_flickr": data.test}
    for part, names in parts.items():
        files = tuple(f"{part}.{language}{ending}" for language in pair.split("-"))
        put_sample(tmp_path, files, seed=1)
        (tmp_path / f"{part.replace('2016', '2017')}_2017.de").touch()  # another test set
        assert find_data(data, tmp_path, names) == [tmp_path / file for file in files]


def test_the_script_for_iwslt14_writes_the_names_of_its_recipe(tmp_path: Path) -> None:
    """With the marks of its subwords in one folder, and without them in another."""
    path = FOLDER / "iwslt14-de-en.toml"
    data, top = resolve(recipe=path).data, tmp_path / "iwslt14.tokenized.de-en"
    top.mkdir()
    for folder in (top, top / "tmp"):
        for part in (data.train, data.valid, data.test):
            put_sample(folder, part, seed=1)
    assert find_data(data, top / "tmp", data.train) == [top / "tmp" / name for name in data.train]
    assert find_data(data, tmp_path, data.train) == [top / "tmp" / name for name in data.train]


def test_there_are_recipes():
    assert {path.stem for path in RECIPES} >= {
        "multi30k-en-de",
        *UNMEASURED,
        *(f"wmt14-en-{language}-{size}" for language in ("de", "fr") for size in ("base", "big")),
    }


@pytest.mark.parametrize("path", one_of(8, RECIPES), ids=lambda path: path.stem)
def test_a_recipe_runs_on_a_small_sample(path, tmp_path):
    recipe = resolve(recipe=path)
    put_sample(tmp_path / recipe.data.folder, recipe.data.train, seed=1)
    put_sample(tmp_path / recipe.data.folder, recipe.data.valid, seed=2)
    shape = [f"model.{option}" for option in SHAPES[recipe.model.architecture]]
    translator = train(recipe=path, data_root=tmp_path, output=tmp_path / "run", overrides=[*SMALL, *shape])
    assert isinstance(translator("A small dog sleeps."), str)
    assert (tmp_path / "run" / "README.md").read_text(encoding="utf-8").startswith(f"# {recipe.title}")


@pytest.mark.parametrize("path", [*RECIPES, MANY], ids=lambda path: path.stem)
def test_a_recipe_states_its_score_and_cost(path):
    recipe = resolve(recipe=path)
    if path.stem in UNMEASURED:
        assert (recipe.expected.score, recipe.expected.measured) == ("", False)
    else:
        assert "BLEU" in recipe.expected.score
    assert recipe.expected.cost
    assert recipe.data.origin.startswith(("https://", "recipes/"))
    assert {len(one.test) for one in recipe.data.corpora or [recipe.data]} == {2}


def test_the_recipe_of_many_languages_takes_the_text_that_its_pipeline_writes():
    shell = (FOLDER / "pipeline-many.toml").read_text(encoding="utf-8")
    scored = re.search(r"for f in ([\w -]+); do", shell)
    assert scored is not None
    corpora = resolve(recipe=MANY).data.corpora
    assert [one.name for one in corpora] == scored[1].split()
    for one in corpora:
        language = one.name.partition("-")[2]
        assert one.train == (f"{one.name}/train.en", f"{one.name}/train.{language}")
    assert {one.name.partition("-")[2] for one in corpora} == {"de", "fr", "zh", "ja"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_if_its_text_is_missing_a_recipe_says_where_to_get_it(path, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    data = resolve(recipe=path).data
    with pytest.raises(ConfigError) as error:
        find_data(data, None, data.train)
    assert DATA_VARIABLE in error.value.hint
    assert data.origin in error.value.hint


def test_the_rungs_of_the_ladder_differ_only_in_their_model():
    rungs = [resolve(recipe=path) for path in sorted((FOLDER / "ladder").glob("*.toml"))]

    assert [rung.model.architecture for rung in rungs] == [*["recurrent"] * 3, "convolutional", "transformer"]
    for part in ("data", "tokenizer", "training", "generation"):
        assert len({repr(getattr(rung, part)) for rung in rungs}) == 1


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "fr")])
def test_the_settings_of_multi30k_are_those_of_one_direction(source, target):
    chosen = resolve(recipe=FOLDER / "multi30k-en-de.toml")
    other = resolve(recipe=FOLDER / f"multi30k-{source}-{target}.toml")
    data = other.data

    assert (data.valid, data.test) == tuple(
        (f"{part}.{source}", f"{part}.{target}") for part in ("valid", "test")
    )
    assert data.train == (f"train.{source}.gz", f"train.{target}.gz")
    same = {"title": chosen.title, "data": chosen.data, "expected": chosen.expected}
    assert replace(other, **same) == chosen


def test_the_small_general_model_is_a_third_of_its_teacher():
    """And has its text and its vocabulary, so that it can also learn from the distribution of each word."""
    large, small = (resolve(recipe=FOLDER / f"general-en-de{size}.toml") for size in ("", "-small"))
    counts = []
    for recipe in (large, small):
        size = recipe.tokenizer.vocab_size
        model = build_model(replace(recipe.model, source_vocab=size, target_vocab=size))
        counts.append(sum(weight.numel() for weight in model.parameters()))

    assert 3 * counts[1] <= counts[0]
    assert (small.data, small.tokenizer) == (large.data, large.tokenizer)


@pytest.mark.parametrize("language", ["de", "fr"])
def test_the_recipes_of_the_paper_follow_its_table_3(language):
    base = resolve(recipe=FOLDER / f"wmt14-en-{language}-base.toml")
    big = resolve(recipe=FOLDER / f"wmt14-en-{language}-big.toml")
    shape = [
        (m.encoder_layers, m.decoder_layers, m.d_model, m.d_ff, m.heads) for m in (base.model, big.model)
    ]
    assert shape == [(6, 6, 512, 2048, 8), (6, 6, 1024, 4096, 16)]
    assert base.model.dropout == 0.1
    assert big.model.dropout == {"de": 0.3, "fr": 0.1}[language]  # section 6.1
    assert (base.model.norm, base.model.activation, base.model.tie) == ("post", "relu", "all")
    assert (base.training.max_updates, big.training.max_updates) == (100_000, 300_000)
    for recipe in (base, big):
        assert (recipe.training.schedule, recipe.training.warmup) == ("paper", 4000)
        assert (recipe.training.betas, recipe.training.epsilon) == ((0.9, 0.98), 1e-9)
        assert recipe.training.label_smoothing == 0.1
        assert (recipe.generation.size, recipe.generation.length_penalty) == (4, 0.6)
        assert recipe.tokenizer.vocab_size == {"de": 37_000, "fr": 32_000}[language]
    assert (base.training.average, big.training.average) == (5, 20)


# The paper's recipes, by the commands in their headers

PAPERS = [path for path in RECIPES if path.stem.startswith("wmt14")]
# Sizes only: everything else is as written.
SIZES = [
    "tokenizer.vocab_size=400",
    *(f"model.{option}" for option in SHAPES["transformer"]),
    *(f"training.{option}" for option in ("batch_tokens=200", "max_updates=2")),
]


def commands(path: Path) -> list[list[str]]:
    """The words of the torchrun commands in a recipe's header."""
    lines = path.read_text(encoding="utf-8").partition("title =")[0].splitlines()
    joined = " ".join(line.removeprefix("#").removesuffix("\\").strip() for line in lines)
    found = re.findall(
        r"torchrun (?:--\S+ \d+ )+-m dragoman train (?:--?\S+ \S+ |training\.\S+ )+", joined + " "
    )
    return [command.split() for command in found]


@pytest.mark.thorough
@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_a_paper_s_recipe_runs_as_its_header_says(path, tmp_path, monkeypatch):
    """In one process; with bf16, layers computed again and shards, if the header has them."""
    recipe = resolve(recipe=path)
    put_sample(tmp_path / recipe.data.folder, recipe.data.train, seed=1)
    put_sample(tmp_path / recipe.data.folder, recipe.data.valid, seed=2)
    (command,) = commands(path)
    options = [word for word in command if word.startswith("training.")]
    assert {"training.recompute=true", "training.precision=bf16"} <= set(options)
    assert command[command.index("--recipe") + 1] == f"recipes/{path.name}"
    computed = []
    run = Layer.__call__
    monkeypatch.setattr(Layer, "__call__", lambda self, *words: (computed.append(1), run(self, *words))[1])

    train(recipe=path, data_root=tmp_path, output=tmp_path / "run", overrides=[*options, *SIZES])

    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    (started,) = [row for row in rows if row["kind"] == "start"]
    assert started["precision"] == "bf16"
    assert [row["step"] for row in rows if row["kind"] == "finish"] == [2]
    assert len(computed) >= 2 * 2  # both layers, in both updates


@pytest.mark.slow
@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_a_paper_s_recipe_runs_in_two_processes(path, tmp_path):
    recipe = resolve(recipe=path)
    put_sample(tmp_path / recipe.data.folder, recipe.data.train, seed=1)
    put_sample(tmp_path / recipe.data.folder, recipe.data.valid, seed=2)
    (command,) = commands(path)
    options = [word for word in command if word.startswith("training.")]
    words = [
        "--nproc-per-node",
        "2",
        "-m",
        "dragoman",
        "train",
        "--recipe",
        str(path),
        "--data",
        str(tmp_path),
    ]

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            *words,
            "-o",
            str(tmp_path / "run"),
            *options,
            *SIZES,
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    (started,) = [row for row in rows if row["kind"] == "start"]
    assert (started["processes"], started["precision"]) == (2, "bf16")
    assert [row["step"] for row in rows if row["kind"] == "finish"] == [2]
    assert isinstance(Translator.load(tmp_path / "run")("A small dog sleeps."), str)


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_a_pipeline_has_steps_whose_training_resolves(path: Path, tmp_path: Path) -> None:
    from dragoman.pipeline.forecast import forecast
    from dragoman.pipeline.graph import Pipeline

    pipeline = Pipeline.read(path, tmp_path, tmp_path)
    assert [one["name"] for one in forecast(pipeline)] == list(pipeline.steps)  # each recipe resolves
