"""The demo. That its translator is good is a slow test; here a much smaller one goes the same way."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.program import program

from dragoman.cli.display import Silent
from dragoman.cli.outcome import run
from dragoman.text import toy
from dragoman.training.runs import demo
from dragoman.training.runs.demo import Demonstration, demonstrate, write_text
from dragoman.training.runs.recipe import resolve


class Steps(Silent):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.messages: list[str] = []

    def on_report(self, event):
        self.steps.append(event.step)

    def on_message(self, text):
        self.messages.append(text)


@pytest.fixture
def smaller(monkeypatch):
    monkeypatch.setattr(demo, "PAIRS", 1000)
    monkeypatch.setattr(demo, "HELD_OUT", 12)
    shape = ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")
    length = ("max_updates=4", "validate_every=2", "warmup=1", "log_every=1")
    overrides = [*(f"model.{o}" for o in shape), *(f"training.{o}" for o in length)]
    monkeypatch.setattr(demo, "OVERRIDES", (*demo.OVERRIDES, "tokenizer.vocab_size=400", *overrides))


def test_its_recipe_is_one():
    recipe = resolve(preset=demo.PRESET, overrides=demo.OVERRIDES)

    assert recipe.training.max_updates % recipe.training.validate_every == 0
    assert recipe.training.max_updates // recipe.training.validate_every >= 4, "to see it getting better"


@pytest.mark.thorough
def test_it_goes_the_way_a_user_goes(smaller, tmp_path):
    watching = Steps()

    first = demonstrate(tmp_path / "demo", observer=watching)

    assert watching.steps == [1, 2, 3, 4]
    assert first.scores.lines == 12
    assert set(first.scores.by_metric) == {"bleu", "chrf"}
    assert "nrefs:1" in first.scores.bleu.signature
    assert tuple(source for source, _ in first.translations) == toy.DEMO_SENTENCES
    names = {path.name for path in (tmp_path / "demo/text").iterdir()}
    assert names == {f"{part}.{side}" for part in ("train", "valid", "test") for side in ("en", "de")}
    again = demonstrate(tmp_path / "demo", observer=(second := Steps()))
    assert second.steps == []
    assert any("nothing to do" in message for message in second.messages)
    assert again.translations == first.translations
    assert again.scores == first.scores


def test_what_it_shows(smaller, tmp_path, capsys, monkeypatch):

    monkeypatch.chdir(tmp_path)
    assert run(program(), ["demo"]) == 0
    out, err = capsys.readouterr()

    assert "BLEU" in out
    assert "nrefs:1" in out
    assert all(sentence in out for sentence in toy.DEMO_SENTENCES)
    assert "update 1/4" in err
    commands = [line.strip() for line in out.splitlines() if line.strip().startswith("dragoman ")]
    assert [command.split()[1] for command in commands] == ["translate", "evaluate", "inspect", "train"]
    assert toy.DEMO_SENTENCES[0] in (tmp_path / "runs/demo/report.html").read_text()
    assert "runs/demo/report.html" in out
    words = shlex.split(commands[1])[1:]
    assert run(program(), [*words, "--bootstrap", "0"]) == 0
    assert run(program(), shlex.split(commands[2])[1:]) == 0


def test_text_that_is_there_is_kept(smaller, tmp_path):
    write_text(tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "test.de").unlink()

    write_text(tmp_path)

    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == first
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    write_text(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_held_out_sentences_and_those_it_shows_are_not_learnt(smaller, tmp_path):
    write_text(tmp_path)
    lines = {name: (tmp_path / f"{name}.en").read_text().splitlines() for name in demo.PARTS}

    assert not set(lines["train"]) & {*lines["valid"], *lines["test"], *toy.DEMO_SENTENCES}


@pytest.mark.slow
def test_it_learns(tmp_path):
    """About two minutes on two cores."""
    shown: Demonstration = demonstrate(Path(tmp_path) / "demo")

    assert shown.scores.bleu.value > 90
    perfect = {"The old farmer gets up early every day.": "Der alte Bauer steht jeden Tag früh auf."}
    assert perfect.items() <= dict(shown.translations).items()
