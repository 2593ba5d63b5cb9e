"""Every recipe in the repository is complete: it resolves, states its expected score, and runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.runs.recipe import DATA_VARIABLE, find_data, resolve
from dragoman.runs.run import train
from dragoman.text import toy

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = sorted(FOLDER.rglob("*.toml"))
LAYERS = ["encoder_layers=1", "decoder_layers=1"]
SHAPES = {
    "transformer": ["d_model=16", "d_ff=16", "heads=2", *LAYERS],
    "convolutional": ["d_model=16", *LAYERS],
    "recurrent": ["d_model=16", "layers=1"],
}
SMALL = [
    "tokenizer.vocab_size=400",
    *(f"training.{name}" for name in ("batch_tokens=200", "max_updates=2", "validate_every=1", "warmup=1")),
]


def put_sample(folder: Path, names: tuple[str, ...], seed: int) -> None:
    """A few sentences of the embedded corpus under the file names of a recipe."""
    folder.mkdir(exist_ok=True)
    for name, sentences in zip(names, zip(*toy.pairs(seed=seed, count=40), strict=True), strict=True):
        text = "".join(f"{sentence}\n" for sentence in sentences).encode()
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


def test_there_are_recipes():
    assert {path.stem for path in RECIPES} >= {
        "multi30k-en-de",
        *(f"wmt14-en-{language}-{size}" for language in ("de", "fr") for size in ("base", "big")),
    }


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_runs_on_a_small_sample(path, tmp_path):
    recipe = resolve(recipe=path)
    put_sample(tmp_path / recipe.data.folder, recipe.data.train, seed=1)
    put_sample(tmp_path / recipe.data.folder, recipe.data.valid, seed=2)
    shape = [f"model.{option}" for option in SHAPES[recipe.model.architecture]]
    translator = train(recipe=path, data_root=tmp_path, output=tmp_path / "run", overrides=[*SMALL, *shape])
    assert isinstance(translator("A small dog sleeps."), str)
    assert (tmp_path / "run" / "README.md").read_text(encoding="utf-8").startswith(f"# {recipe.title}")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_states_its_score_and_cost(path):
    recipe = resolve(recipe=path)
    assert "BLEU" in recipe.expected.score
    assert recipe.expected.cost
    assert recipe.data.origin.startswith("https://")
    assert len(recipe.data.test) == 2


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
