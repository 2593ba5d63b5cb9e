"""`dragoman bench` as a user meets it, where it does not measure this machine."""

from __future__ import annotations

import json

import pytest

FILES = (("a", "a.tsv"), ("b", "b.en-de.tsv"))


def test_goodput(dragoman_):
    words = "bench goodput --update 0.5 --checkpoint 20 --restart 180 --failure 2000".split()

    shown = dragoman_(*words)
    table = json.loads(
        dragoman_(*words, "--every", "500", "--machines", "8", "--hours", "20000", "--json").out
    )

    assert shown.out.startswith(
        "update 0.5 s, checkpoint 20 s, restart 180 s, a machine fails every 2000 hours"
    )
    assert [line.split()[0] for line in shown.out.splitlines()[3:6]] == ["1", "8", "64"]
    (forecast,) = table["forecasts"]
    assert (forecast["machines"], forecast["every"]) == (8, 500)
    assert forecast["goodput"] == pytest.approx(forecast["expected"], abs=0.01)
    assert dragoman_(*words, "--machines", "some").code == 2
    assert dragoman_(*words, "--machines", "0").code == 2


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


def test_cost(dragoman_):
    words = "bench cost --preset base training.recompute=true --gpus 8,64".split()

    shown, table = dragoman_(*words), json.loads(dragoman_(*words, "--price", "2", "--json").out)

    assert [line.split()[0] for line in shown.out.splitlines()[-2:]] == ["8", "64"]
    assert "989 TFLOP/s, of which 30% are reached" in shown.out
    first, second = table["costs"]
    assert first["price"] == pytest.approx(first["hours"] * 8 * 2)
    assert second["summing"] > first["summing"]
    assert dragoman_(*words, "--gpus", "0").code == 2
    assert dragoman_("bench", "cost", "--preset", "base", "--utilisation", "30").code == 2


@pytest.mark.parametrize(
    "goal", ["--bleu nan", "--bleu 0", "--bleu 40 --minutes nan", "--bleu 40 --minutes -1"]
)
def test_a_goal_that_no_run_reaches(goal, dragoman_, tmp_path):
    words = ["bench", "quality", "--recipe", tmp_path / "r.toml", "-o", tmp_path / "x", *goal.split()]

    ended = dragoman_(*words)

    assert ended.code == 2
    assert f"error: {' '.join(goal.split()[-2:])}" in ended.err
    assert not (tmp_path / "x").exists()
