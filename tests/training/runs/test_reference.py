"""The reference of options: nothing is left out, and what it prints is a recipe."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from docs.options import to_markdown

from dragoman.base.config import from_table, option_names, to_toml
from dragoman.base.errors import ConfigError
from dragoman.base.options import entries, option_name, variants
from dragoman.models.shapes import Architecture, ModelConfig, RecurrentConfig
from dragoman.training.runs import reference
from dragoman.training.runs.recipe import PRESETS, Recipe, resolve

PAGE = Path(__file__).parents[3] / "docs" / "options.md"
FOLDER = Path(__file__).parents[3] / "recipes"
RECIPES = sorted(set(FOLDER.rglob("*.toml")) - set(FOLDER.glob("pipeline*.toml")))
SECTIONS = reference.sections(Recipe())
# (full name, the one architecture that has it or "")
ALL = [
    (option_name(section.name, entry.name), section.architecture)
    for section in SECTIONS
    for entry, _ in section.options
]


def test_every_option_of_a_recipe_is_listed_once() -> None:
    sections = {section.name for section in SECTIONS}

    assert {name for name, _ in ALL} == set(option_names(Recipe)) - sections
    assert len(ALL) == len(set(ALL))


@pytest.mark.parametrize("kind", get_args(Architecture))
def test_an_architecture_has_the_options_listed_for_it(kind: type[ModelConfig]) -> None:
    listed = [name for name, only in ALL if name.startswith("model.") and only in ("", kind.architecture)]

    assert sorted(listed) == sorted(f"model.{name}" for name in entries(kind))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.name} {section.architecture}")
def test_every_option_has_a_description(section: reference.Section) -> None:
    assert section.about.endswith(".")
    for entry, _ in section.options:
        text = entry.option.description
        assert text.endswith("."), entry.name
        assert text[:1].isupper(), entry.name
        assert "  " not in text, entry.name


def test_no_description_stands_twice() -> None:
    """Except that of an option which two architectures share."""
    options = {(entry.name, entry.option.description) for section in SECTIONS for entry, _ in section.options}
    texts = [text for _, text in options if text]

    assert sorted(texts) == sorted(set(texts))


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == to_markdown(), "run: python docs/options.py > docs/options.md"


def test_the_page_shows_what_presets_change() -> None:
    lines = to_markdown().splitlines()

    assert f"| option | default | {' | '.join(f'`{name}`' for name in PRESETS)} |" in lines
    assert "| `model.heads` | `8` | `4` | `4` | `8` | `8` | `16` |" in lines
    assert (
        "| `training.learning_rate` | not set | `0.005` | `0.002` | `0.0005` | not set | not set |" in lines
    )
    rows = [line for line in lines if line.startswith("| `") and line.count(" | ") == 1 + len(PRESETS)]
    changed = {
        f"{section}.{name}"
        for preset in PRESETS.values()
        for section, options in preset.items()
        for name in options
    }
    assert {row.split("`")[1] for row in rows} == changed


@pytest.mark.parametrize("overrides", [[], ["model.architecture=recurrent", 'title="a # b"']])
@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_what_is_printed_is_the_recipe(preset: str | None, overrides: list[str]) -> None:
    recipe = resolve(preset=preset, overrides=overrides, pairs=None)

    text = reference.to_toml(reference.sections(recipe))

    assert from_table(Recipe, tomllib.loads(text)) == recipe
    assert tomllib.loads(text) == tomllib.loads(to_toml(recipe))
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_file_printed_is_the_same_recipe(path: Path) -> None:
    recipe = resolve(recipe=path)

    assert from_table(Recipe, tomllib.loads(reference.to_toml(reference.sections(recipe)))) == recipe


def test_a_comment_tells_the_values_and_a_changed_default() -> None:
    text = reference.to_toml(reference.sections(resolve(preset="tiny")))

    assert (
        "# Attention heads in each layer (table 3, h). They divide d_model. A whole\n"
        "# number, at least 1. Default: 8.\nheads = 4\n"
    ) in text
    assert "# Add a bias to the output layer.\noutput_bias = false\n" in text
    assert "# window = (not set)\n" in text


def test_other_architectures_are_commented_out_or_left_out() -> None:
    recipe = Recipe(model=RecurrentConfig())
    with_others = reference.to_toml(reference.sections(recipe))
    alone = reference.to_toml(reference.sections(recipe, all_architectures=False))

    assert "\n# heads = 8\n" in with_others
    assert "\nlayers = 2\n" in with_others
    assert "heads" not in alone
    assert "\nlayers = 2\n" in alone


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["seed"], ["seed"]),
        (["data.filter"], ["data.filter.max_length", "data.filter.max_ratio", "data.filter.drop_duplicates"]),
        (["model.cell", "title"], ["title", "model.cell"]),
        (["model.positions"], ["model.positions"] * 3),
    ],
)
def test_a_section_or_an_option_is_selected(names: list[str], options: list[str]) -> None:
    chosen = reference.to_json(reference.select(SECTIONS, names))

    assert [row["name"] for row in chosen] == options


def test_a_section_holds_those_inside_it() -> None:
    names = {row["name"] for row in reference.to_json(reference.select(SECTIONS, ["data"]))}

    assert {"data.train", "data.filter.max_ratio"} < names
    assert all(name.startswith("data.") for name in names)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("modle", "did you mean model?"),
        ("heads", "did you mean model.heads?"),
        ("haeds", "did you mean model.heads?"),
        ("data.fliter", "did you mean data.filter?"),
        (
            "xyzzy",
            "sections: data, data.filter, tokenizer, model, training, tuning, teacher, generation, expected",
        ),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"no section or option '{name}'") as caught:
        reference.select(SECTIONS, [name])

    assert caught.value.hint.startswith(hint)


def test_json_holds_values_and_defaults() -> None:
    recipe = resolve(preset="tiny", overrides=['data.train=["a", "b"]'])
    rows = {
        (row["name"], row["architecture"]): row
        for row in json.loads(json.dumps(reference.to_json(reference.sections(recipe))))
    }

    assert rows["model.heads", "transformer"] == {
        "name": "model.heads",
        "architecture": "transformer",
        "values": "a whole number, at least 1",
        "default": 8,
        "value": 4,
        "description": "Attention heads in each layer (table 3, h). They divide d_model.",
    }
    assert rows["data.train", None]["value"] == ["a", "b"]
    assert rows["training.max_minutes", None]["default"] is None
    assert rows["model.architecture", None]["values"] == "one of: transformer, ssru, recurrent, convolutional"


def test_sections_with_variants_are_the_model_alone() -> None:
    """The reference shows several architectures; it knows of no other section with a choice."""
    several = [name for name, entry in entries(Recipe).items() if len(variants(entry.kind)) > 1]

    assert several == ["model"]
