"""Configurations as tables and TOML: strict reading, overrides, writing, differences."""

import json
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base import config
from dragoman.base.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Model:
    heads: int = 4
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"

    def __post_init__(self) -> None:
        if self.heads < 1:
            raise ConfigError(f"heads = {self.heads}", hint="one or more")


@dataclass(frozen=True, kw_only=True)
class Extra:
    path: Path
    size: Literal[1, 2] = 1


@dataclass(frozen=True, kw_only=True)
class Recipe:
    seed: int = 1
    name: str = "x"
    quiet: bool = False
    steps: int | None = None
    average: int | str = "best"
    betas: tuple[float, float] = (0.9, 0.98)
    sizes: tuple[int, ...] = ()
    model: Model = field(default_factory=Model)
    extra: Extra | None = None
    made: int = field(default=0, init=False)


@dataclass(frozen=True, kw_only=True)
class Tree:
    kind: Literal["tree"] = "tree"
    height: int = 3


@dataclass(frozen=True, kw_only=True)
class House:
    kind: Literal["house"] = "house"
    rooms: int = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    thing: Tree | House = Tree()


@dataclass(frozen=True, kw_only=True)
class Many:
    models: tuple[Model, ...] = ()


def refused(table: dict[str, Any], cls: type = Recipe) -> tuple[str, str]:
    with pytest.raises(ConfigError) as caught:
        config.from_table(cls, table)
    return str(caught.value), caught.value.hint


# Files


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('\ufeffseed = 3\n[model]\nnorm = "pre"\n', encoding="utf-8")

    assert config.read_toml(tmp_path / "r.toml") == {"seed": 3, "model": {"norm": "pre"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"seed = 1\nmodel heads = 8\n", "line 2"),
        (b"seed = 1\nseed = 2\n", "line 2"),
        (b'name = "\xff"', "r.toml: not valid TOML"),
        (b"seed = " + b"9" * 5000, "r.toml: not valid TOML"),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "r.toml").write_bytes(content)

    with pytest.raises(ConfigError, match=message):
        config.read_toml(tmp_path / "r.toml")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"r\.toml: No such file"):
        config.read_toml(tmp_path / "r.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        config.read_toml(tmp_path)


# Overrides


def test_overrides_are_toml_values_or_bare_words_and_change_a_copy() -> None:
    tables = {"seed": 1, "model": {"heads": 4}}

    result = config.override(
        tables,
        [
            "seed = 2",
            "model.heads=8",
            "model.norm=pre",
            "name='a=b'",
            "betas=[0.9, 0.999]",
            "a.b.c=1e-3",
            "quiet=true",
        ],
    )

    assert result == {
        "seed": 2,
        "model": {"heads": 8, "norm": "pre"},
        "name": "a=b",
        "betas": [0.9, 0.999],
        "a": {"b": {"c": 0.001}},
        "quiet": True,
    }
    assert tables == {"seed": 1, "model": {"heads": 4}}


@pytest.mark.parametrize(
    "text",
    [
        "8\nseed = 2",
        "8\n[model]\nheads = 1",
        "8 # twice",
        "8, 9",
        "8,",
        "8]\nseed = [2",
        "8] # [",
        "",
        "#all",
        "True",
        "9" * 5000,
    ],
)
def test_anything_but_one_whole_toml_value_is_a_word(text: str) -> None:
    """Nothing after a value is dropped in silence, and no value can set another option."""
    assert config.override({}, [f"name={text}"]) == {"name": text}


@pytest.mark.parametrize("assignment", ["heads", "=8", "model.=8", ".heads=8", "model..heads=8", ""])
def test_anything_but_an_assignment_is_refused(assignment: str) -> None:
    with pytest.raises(ConfigError, match="is not an option") as caught:
        config.override({}, [assignment])

    assert "model.heads=8" in caught.value.hint


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"title=a.udce9b' is not UTF-8"):
        config.override({}, ["title=a\udce9b"])


def test_a_section_is_not_replaced_as_a_whole() -> None:
    tables = {"model": {"heads": 4, "norm": "pre"}, "seed": 1}

    for before, assignment in [
        (tables, "model=8"),
        (tables, "model={heads=8}"),
        ({}, "model={heads=8}"),
    ]:
        with pytest.raises(ConfigError, match="'model' is a section"):
            config.override(before, [assignment])
    with pytest.raises(ConfigError, match="'seed' is a value, not a section"):
        config.override(tables, ["seed.x=8"])


# From a table


def test_an_empty_table_is_the_default() -> None:
    assert config.from_table(Recipe, {}) == Recipe()


def test_every_kind_of_option_is_built() -> None:
    table = {
        "seed": 2,
        "name": "y",
        "quiet": True,
        "steps": 10,
        "average": 5,
        "betas": [0.8, 1],
        "sizes": [1, 2, 3],
        "model": {"heads": 8, "dropout": 0, "norm": "pre"},
        "extra": {"path": "a/b", "size": 2},
    }

    built = config.from_table(Recipe, table)

    assert built == Recipe(
        seed=2,
        name="y",
        quiet=True,
        steps=10,
        average=5,
        betas=(0.8, 1.0),
        sizes=(1, 2, 3),
        model=Model(heads=8, dropout=0.0, norm="pre"),
        extra=Extra(path=Path("a/b"), size=2),
    )
    assert isinstance(built.model.dropout, float)
    assert isinstance(built.betas[1], float)


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        ({"seed": True}, "seed = true", "a whole number"),
        ({"seed": 1.0}, "seed = 1.0", "a whole number"),
        ({"seed": "1"}, 'seed = "1"', "a whole number"),
        ({"quiet": 1}, "quiet = 1", "true or false"),
        ({"quiet": "True"}, 'quiet = "True"', "true or false"),
        ({"name": 51}, "name = 51", "text in quotes"),
        ({"model": {"dropout": True}}, "model.dropout = true", "a number"),
        ({"model": {"dropout": math.nan}}, "model.dropout = nan", "a number"),
        ({"model": {"dropout": 10**400}}, "model.dropout = 1000", "a number"),
        ({"model": {"norm": "none"}}, 'model.norm = "none"', "it must be one of: post, pre"),
        ({"model": {"norm": ["pre"]}}, 'model.norm = ["pre"]', "it must be one of"),
        ({"model": 8}, "model is a section, not the value 8", ""),
        ({"steps": "ten"}, 'steps = "ten"', "a whole number"),
        ({"average": 1.5}, "average = 1.5", "text"),
        ({"betas": [0.9]}, "betas = [0.9]", "a list [...] of 2 numbers"),
        ({"betas": 0.9}, "betas = 0.9", "a list [...] of 2 numbers"),
        ({"sizes": "12"}, 'sizes = "12"', "a list [...] of whole numbers"),
        ({"sizes": [1, "2"]}, 'sizes = [1, "2"]', "a list [...] of whole numbers"),
        ({"extra": {"path": "a", "size": True}}, "extra.size = true", "it must be one of: 1, 2"),
        ({"extra": {"path": "a", "size": 1.0}}, "extra.size = 1.0", "it must be one of: 1, 2"),
        ({"extra": {}}, "extra.path is missing", "no default"),
        ({"made": 1}, "unknown option 'made'", "did you mean model?"),
        ({"model": {"heads": 0}}, "heads = 0", "one or more"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(table: dict[str, Any], message: str, hint: str) -> None:
    text, advice = refused(table)

    assert text.startswith(message)
    assert hint in advice


def test_an_unknown_option_gets_a_suggestion() -> None:
    assert refused({"model": {"haeds": 8}}) == ("unknown option 'model.haeds'", "did you mean model.heads?")
    assert refused({"dropout": 0.3}) == ("unknown option 'dropout'", "did you mean model.dropout?")
    assert refused({"size": 1}) == ("unknown option 'size'", "did you mean sizes?")
    assert refused({"path": "a"}) == ("unknown option 'path'", "did you mean extra.path?")
    assert refused({"zzz": 1}, Model)[1] == "known options: dropout, heads, norm"


def test_a_fault_in_the_code_is_not_reported_as_a_fault_of_the_user() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Broken:
        size: int = 1

        def __post_init__(self) -> None:
            len(self.size)  # type: ignore[arg-type]

    with pytest.raises(TypeError):
        config.from_table(Broken, {})


# Writing

text = st.text(st.characters(exclude_categories=["Cs"]))
recipes = st.builds(
    Recipe,
    seed=st.integers(-(2**63), 2**63 - 1),
    name=text,
    quiet=st.booleans(),
    steps=st.none() | st.integers(0, 9),
    average=st.integers() | text,
    betas=st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
    sizes=st.lists(st.integers(), max_size=3).map(tuple),
    model=st.builds(Model, heads=st.integers(1, 9), norm=st.sampled_from(["post", "pre"])),
    extra=st.none() | st.builds(Extra, path=st.just(Path("a/b")), size=st.sampled_from([1, 2])),
)


@given(recipes)
def test_a_written_configuration_is_read_back_equal(recipe: Recipe) -> None:
    table = config.to_table(recipe)

    assert config.from_table(Recipe, tomllib.loads(config.to_toml(recipe))) == recipe
    assert config.from_table(Recipe, json.loads(json.dumps(table))) == recipe
    assert config.difference(table, json.loads(json.dumps(table))) == []


def test_the_text_is_toml_as_a_person_writes_it() -> None:
    recipe = Recipe(name='a "b"\n\x7f', steps=7, sizes=(1, 2), extra=Extra(path=Path("a")))

    assert config.to_toml(recipe) == (
        "seed = 1\n"
        'name = "a \\"b\\"\\n\\u007f"\n'
        "quiet = false\n"
        "steps = 7\n"
        'average = "best"\n'
        "betas = [0.9, 0.98]\n"
        "sizes = [1, 2]\n"
        "\n[model]\n"
        "heads = 4\n"
        "dropout = 0.1\n"
        'norm = "post"\n'
        "\n[extra]\n"
        'path = "a"\n'
        "size = 1\n"
    )


def test_none_is_not_written_if_the_default_is_something_else() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Every:
        steps: int | None = 500

    with pytest.raises(ConfigError, match="steps = None"):
        config.to_table(Every(steps=None))


def test_a_list_of_sections_is_written_and_read_back() -> None:
    many = Many(models=(Model(heads=2), Model(norm="pre")))

    assert "models = [{heads = 2, " in config.to_toml(many)
    assert config.from_table(Many, tomllib.loads(config.to_toml(many))) == many


# Difference


def test_differences_take_one_line_each() -> None:
    old = {"seed": 1, "model": {"heads": 4, "norm": "post"}, "gone": {"a": "x"}}
    new = {"seed": 1, "model": {"heads": 8, "norm": "post"}, "extra": {"path": "p"}, "sizes": [1, 2]}

    assert config.difference(old, new) == [
        'extra.path: (not set) -> "p"',
        'gone.a: "x" -> (not set)',
        "model.heads: 4 -> 8",
        "sizes: (not set) -> [1, 2]",
    ]
    assert config.difference(old, old) == []


# One of several sections


@pytest.mark.parametrize(
    ("table", "thing"),
    [
        ({}, Tree()),
        ({"height": 4}, Tree(height=4)),
        ({"kind": "tree"}, Tree()),
        ({"kind": "house", "rooms": 2}, House(rooms=2)),
    ],
)
def test_the_first_option_says_which_dataclass_is_meant(table: dict[str, Any], thing: Tree | House) -> None:
    place = config.from_table(Place, {"thing": table})

    assert place == Place(thing=thing)
    assert config.from_table(Place, config.to_table(place)) == place


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        ({"kind": "boat"}, 'thing.kind = "boat"', "it must be one of: tree, house"),
        ({"kind": 3}, "thing.kind = 3", "it must be one of: tree, house"),
        ({"kind": "house", "height": 2}, "unknown option 'thing.height'", "thing.rooms"),
        ({"rooms": 2}, "unknown option 'thing.rooms'", "thing.height"),
    ],
)
def test_an_option_of_another_section_is_refused(table: dict[str, Any], message: str, hint: str) -> None:
    text, advice = refused({"thing": table}, Place)

    assert message in text
    assert hint in advice
