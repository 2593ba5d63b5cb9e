"""`dragoman config`, as a user meets it."""

from __future__ import annotations

import json
import tomllib
from functools import partial
from pathlib import Path

import pytest

from dragoman.training.runs import reference
from dragoman.training.runs.recipe import Recipe, resolve

RECIPE = Path(__file__).parents[2] / "recipes" / "multi30k-en-de.toml"


@pytest.fixture
def config(dragoman_):
    """Runs `dragoman config`."""
    return partial(dragoman_, "config")


def test_alone_it_prints_the_defaults_as_a_recipe_file(config, tmp_path):
    code, out, err = config()

    assert (code, err) == (0, "")
    (tmp_path / "r.toml").write_text(out, encoding="utf-8")
    assert resolve(recipe=tmp_path / "r.toml") == Recipe()


def test_a_preset_a_recipe_and_options_show_the_values_in_use(config):
    code, out, _ = config("--preset", "tiny", "--recipe", RECIPE, "model.heads=2", "title=Mine")

    recipe = resolve(preset="tiny", recipe=RECIPE, overrides=["model.heads=2", "title=Mine"])
    assert code == 0
    assert out == reference.to_toml(reference.sections(recipe, all_architectures=False))
    assert tomllib.loads(out)["model"]["heads"] == 2
    assert tomllib.loads(out)["title"] == "Mine"


def test_options_alone_choose_no_preset(config):
    _, out, _ = config("training.warmup=7")

    assert tomllib.loads(out)["training"]["warmup"] == 7
    assert tomllib.loads(out)["model"]["d_model"] == 512


def test_a_section_is_printed_with_every_architecture(config):
    _, out, _ = config("model")

    assert "\n[model]\n" in out
    assert "[training]" not in out
    assert all(
        f'architecture = "{name}"' in out for name in ("transformer", "ssru", "recurrent", "convolutional")
    )
    assert "\n# cell = " in out


def test_json_is_one_document(config):
    code, out, err = config("training", "--preset", "small", "--json")

    rows = {row["name"]: row for row in json.loads(out)}
    assert (code, err) == (0, "")
    assert (rows["training.clip"]["default"], rows["training.clip"]["value"]) == (0.0, 1.0)
    assert all(name.startswith("training.") for name in rows)


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["modle"], "no section or option 'modle'", "did you mean model?"),
        (["modle.heads=8"], "unknown option 'modle'", "did you mean model?"),
        (["model.heads=0"], "model.heads = 0", "it must be a whole number, at least 1"),
        (["--preset", "huge"], "no preset 'huge'", "tiny, small, tiny11, base, big"),
        (["--recipe", "nowhere.toml"], "nowhere.toml: No such file", "check the path"),
    ],
)
def test_what_is_wrong_is_said_with_a_hint(config, words, what, hint):
    code, out, err = config(*words)

    assert (code, out) == (2, "")
    assert err.startswith(f"error: {what}")
    assert hint in err.splitlines()[1]
