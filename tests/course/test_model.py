"""The model of the course: small, as its recipe says, and right with both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.course import MODEL
from dragoman.text import toy
from dragoman.training.runs.recipe import resolve
from dragoman.translation.folder.config import read_config
from dragoman.translation.native.build import unavailable
from dragoman.translation.translator import Translator

RECIPE = Path(__file__).parents[2] / "recipes/course/model.toml"
GERMAN = [
    "Der alte Bauer steht jeden Tag früh auf.",
    "Gestern hat meine Schwester ein teures rotes Kleid gekauft.",
    "Peter ist zu Hause geblieben, weil er krank war.",
    "Ich kenne die Frau, die in Wien wohnt.",
    "Die Kinder wollen die Küche nicht aufräumen.",
    "Wenn es regnet, werden wir zum Bahnhof fahren.",
]


@pytest.mark.parametrize("engine", ["native", "pytorch"])
def test_it_translates_sentences_that_it_has_not_seen(engine: str) -> None:
    if engine == "native" and (why := unavailable()):
        pytest.skip(why)
    translator = Translator.load(MODEL, engine=engine)

    assert [one.text for one in translator.translate(toy.DEMO_SENTENCES)] == GERMAN


def test_it_is_small_and_has_nothing_else() -> None:
    files = {path.name: path.stat().st_size for path in MODEL.iterdir()}

    assert sum(files.values()) < 3_000_000
    assert files.keys() >= {"config.json", "generation.json", "tokenizer.json", "tokenizer.spm", "README.md"}
    assert not any(path.is_dir() for path in MODEL.iterdir())


def test_it_has_the_shape_of_its_recipe() -> None:
    recipe, config = resolve(recipe=RECIPE), read_config(MODEL)
    learned = ("source_vocab", "target_vocab", "pad_id", "start_id", "end_id")
    same = set(vars(recipe.model)) - set(learned)

    assert {name: getattr(config.model, name) for name in same} == {
        name: getattr(recipe.model, name) for name in same
    }
    assert config.model.source_vocab == config.model.target_vocab == recipe.tokenizer.vocab_size
    assert config.generation == recipe.generation
    assert config.quantised is not None
