"""Options out of bounds are refused before they cost time or memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.translation.folder.config import read_config
from dragoman.translation.native.message import message_of
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Sample

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer"
HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    "words",
    [
        ("--beam", "100000"),
        ("--beam", HUGE),
        ("--n-best", "100000"),
        ("--candidates", "100000", "--mbr", "chrf"),
        ("--length-penalty", "1e308"),
        ("--length-penalty", "-1000"),
        ("--max-extra", "1000000000"),
        ("--max-extra", HUGE),
        ("--min-length", HUGE),
        ("--sample", "--max-extra", "1000000000"),
    ],
    ids=" ".join,
)
def test_an_option_of_translate_has_bounds(dragoman_, words):
    ended = dragoman_("translate", SAVED, *words, stdin=b"A dog.\n")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[1].startswith("hint: it must be a")
    assert "unexpected" not in ended.err


@pytest.mark.parametrize(
    "option",
    ["tokenizer.vocab_size=100000000000", "generation.size=100000", "generation.length_penalty=1e308"],
)
def test_an_option_of_a_recipe_has_bounds(dragoman_, tmp_path, option):
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("A dog.\nA cat.\n", encoding="utf-8")
    words = ("train", tmp_path / "train.en", tmp_path / "train.de", "-o", tmp_path / "model")
    ended = dragoman_(*words, option)

    assert ended.code == 2
    assert ended.err.startswith(f"error: {option.split('=')[0]} = ")
    assert "\nhint: it must be a" in ended.err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "text", ["a = " + 100_000 * "[", "a = " + 100_000 * "{a = "], ids=["lists", "tables"]
)
def test_a_recipe_of_brackets_is_not_valid(dragoman_, tmp_path, text):
    (tmp_path / "deep.toml").write_text(text, encoding="utf-8")
    ended = dragoman_("config", "--recipe", tmp_path / "deep.toml")

    assert ended.code == 2
    assert ended.err.startswith(f"error: {tmp_path / 'deep.toml'}: not valid TOML")


def test_an_option_of_brackets_is_text(dragoman_):
    ended = dragoman_("config", "title=" + 10_000 * "[")

    assert "unexpected" not in ended.err


def test_a_draw_takes_memory_for_its_own_length_only():
    """Random numbers for the whole limit would take 8 GB a draw."""
    config = read_config(SAVED).model
    messages = [
        message_of(config, Request(source=(5, 6), how=Sample(n_best=3), max_tokens=limit))
        for limit in (10, 10**9)
    ]

    assert len(messages[0][0]) == len(messages[1][0])
    assert len(messages[0][1]) == len(messages[1][1])
