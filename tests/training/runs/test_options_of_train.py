"""How `train` takes its options: overrides, tables of sections, a recipe file or a `Recipe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.base.config import from_table, read_toml
from dragoman.base.errors import ConfigError
from dragoman.text import toy
from dragoman.training.options import TrainingConfig
from dragoman.training.runs.recipe import Recipe, resolve
from dragoman.training.runs.run import train
from dragoman.training.runs.text.texts import RunRequest

PAIRS = toy.pairs(seed=3, count=60)
MODEL = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TRAINING = {"batch_tokens": 400, "max_updates": 2, "validate_every": 2, "average": 1}
OVERRIDES = [
    "tokenizer.vocab_size=400",
    *(f"model.{name}={value}" for name, value in MODEL.items()),
    *(f"training.{name}={value}" for name, value in TRAINING.items()),
]


def recipe_of(output: Path, **options: Any) -> Recipe:
    """The recipe that a run in `output` began with."""
    train(PAIRS, output=output, source_language="en", target_language="de", **options)
    return from_table(Recipe, read_toml(output / "training.toml"))


def test_sections_say_the_same_as_overrides(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"tokenizer": {"vocab_size": 400}, "model": MODEL, "training": TRAINING}
    expected = recipe_of(tmp_path / "overrides", preset="tiny", overrides=[*OVERRIDES, "seed=3"])

    assert recipe_of(tmp_path / "sections", preset="tiny", seed=3, **sections) == expected


def test_a_recipe_says_it_all(tmp_path: Path) -> None:
    recipe = resolve(preset="tiny", overrides=OVERRIDES)

    used = recipe_of(tmp_path / "x", recipe=recipe, training={"max_updates": 1})

    assert used.training.max_updates == 1
    assert used.training.batch_tokens == recipe.training.batch_tokens
    assert used.model == recipe.model
    assert used.preset == "tiny"


def test_a_configuration_takes_the_place_of_a_section(tmp_path: Path) -> None:
    used = recipe_of(
        tmp_path / "x",
        preset="tiny",
        model=MODEL,
        tokenizer={"vocab_size": 400},
        training=TrainingConfig(batch_tokens=400, max_updates=2),
    )

    assert used.training == TrainingConfig(batch_tokens=400, max_updates=2)


@pytest.mark.parametrize(
    ("keywords", "message", "hint"),
    [
        ({"trainig": {}}, "unknown keyword 'trainig'", "did you mean training?"),
        ({"vald": PAIRS}, "unknown keyword 'vald'", "did you mean valid?"),
        ({"max_updates": 2}, "unknown option 'max_updates'", "did you mean training.max_updates?"),
        (
            {"training": {"max_update": 2}},
            "unknown option 'training.max_update'",
            "max_updates?",
        ),
        ({"training": 2}, "training is a section, not the value 2", "set its options: training.NAME"),
        ({"model": {"heads": "x"}}, 'model.heads = "x"', "it must be a whole number"),
    ],
)
def test_mistakes_are_explained(keywords: dict[str, Any], message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        train(PAIRS, output=tmp_path / "x", source_language="en", target_language="de", **keywords)

    assert caught.value.hint is not None
    assert hint in caught.value.hint
    assert not (tmp_path / "x").exists()


def test_text_may_be_one_path_or_anything_to_go_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RunRequest] = []

    def caught(request: RunRequest, *_: object) -> None:
        asked.append(request)
        raise ConfigError("seen")

    monkeypatch.setattr("dragoman.training.runs.run.prepare", caught)
    pairs: Any = zip(["a", "b"], ["A", "B"], strict=True)
    for data, valid in (("a.tmx", Path("b.tmx")), (pairs, None)):
        with pytest.raises(ConfigError, match="seen"):
            train(data, valid=valid, output=tmp_path / "x")

    assert [one.data for one in asked] == [["a.tmx"], [("a", "A"), ("b", "B")]]
    assert [one.valid for one in asked] == [[Path("b.tmx")], None]
