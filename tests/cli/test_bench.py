"""`dragoman bench` as a user meets it, where it does not measure this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = (("a", "a.tsv"), ("b", "b.en-de.tsv"))


def test_training_on_a_recipe_of_several_texts(dragoman_, tmp_path):
    """All of its text is read: here it is too little, and the message says how much there was."""
    (tmp_path / "a.tsv").write_text("A dog.\tEin Hund.\n" * 3, encoding="utf-8")
    (tmp_path / "b.en-de.tsv").write_text("A cat sleeps.\tEine Katze schläft.\n" * 4, encoding="utf-8")
    recipe = tmp_path / "r.toml"
    head = 'title = "mixed"\npreset = "tiny"\n'
    texts = [f'[[data.corpora]]\nname = "{name}"\ntrain = ["{file}"]\n' for name, file in FILES]
    recipe.write_text(head + "".join(texts))
    words = "bench", "train", "dragoman", "--busy", "--recipe", recipe, "--data", tmp_path

    refused = dragoman_(*words)

    assert (refused.code, "mixed: 7 pairs fill" in refused.err) == (3, True), refused.err
    recipe.write_text(head)
    assert "no training text" in dragoman_(*words).err


@pytest.mark.parametrize(
    "words",
    [
        "complexity -o complexity.html",
        "cost --preset base training.recompute=true",
        "goodput --help",
        "quality --recipe r.toml --bleu 40 -o x",
    ],
)
def test_commands_that_are_scripts_now(words, dragoman_):
    """They say where they are, whatever follows them, and no help lists them."""
    name = words.split()[0]

    ended = dragoman_("bench", *words.split())

    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.splitlines()
    script = first.removeprefix(f"error: bench {name} moved to ")
    assert (ROOT / script).is_file()
    assert second == f"hint: in a checkout of the source: python {script} --help"
    assert f" {name} " not in dragoman_("bench", "--help").out
