"""The demo. That its translator is good is a slow test; here a much smaller one goes the same way."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.program import program

from dragoman.base.errors import ConfigError
from dragoman.cli.display import Silent
from dragoman.cli.outcome import run
from dragoman.text import toy
from dragoman.text.toy.grammar import words
from dragoman.training.runs import demo
from dragoman.training.runs.demo import Demonstration, demonstrate, write_text
from dragoman.training.runs.recipe import resolve
from dragoman.translation.translator import Translator


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

    (tmp_path / "train.en").write_text("MY OWN TEXT\n")
    (tmp_path / "test.de").unlink()
    with pytest.raises(ConfigError, match=r"train.en: not the text of the demo"):
        write_text(tmp_path)
    assert not (tmp_path / "test.de").exists()


def test_held_out_sentences_and_those_it_shows_are_not_learnt(smaller, tmp_path):
    write_text(tmp_path)
    lines = {name: (tmp_path / f"{name}.en").read_text().splitlines() for name in demo.PARTS}

    assert not set(lines["train"]) & {*lines["valid"], *lines["test"], *toy.DEMO_SENTENCES}


# What README, --help and the how-tos translate from English, as a person translates it.
SHOWN = {
    "The old farmer gets up early every day.": "Der alte Bauer steht jeden Tag früh auf.",
    "Yesterday my sister bought an expensive red dress.": (
        "Gestern hat meine Schwester ein teures rotes Kleid gekauft."
    ),
    "Peter stayed at home because he was sick.": "Peter ist zu Hause geblieben, weil er krank war.",
    "I know the woman who lives in Vienna.": "Ich kenne die Frau, die in Wien wohnt.",
    "The children do not want to tidy up the kitchen.": "Die Kinder wollen die Küche nicht aufräumen.",
    "If it rains, we will drive to the station.": "Wenn es regnet, werden wir zum Bahnhof fahren.",
    "A man rides a bike.": "Ein Mann fährt Fahrrad.",
    "A woman rides a bike.": "Eine Frau fährt Fahrrad.",
    "A dog sleeps.": "Ein Hund schläft.",
    "A cat sleeps.": "Eine Katze schläft.",
    "The dog sleeps.": "Der Hund schläft.",
    "The farmer sleeps.": "Der Bauer schläft.",
    "The dog sleeps in the old garden.": "Der Hund schläft im alten Garten.",
    "Two dogs play in the snow.": "Zwei Hunde spielen im Schnee.",
    "It rains.": "Es regnet.",
    "A dog.": "Ein Hund.",
    "The house.": "Das Haus.",
}
# With texts that a memory, a check, a context or a tokenizer needs, not shown with a model.
OTHERS = {"Save the file.", "Save the files.", "Click the button.", "It is old.", "It is new."}
OTHERS |= {"Do you know him?"}
EXAMPLE = re.compile(
    r"""(?:runs/en-de|--compare|q=|echo|"text":|"texts":\ \[|lines\ =\ \[|,\ |
    translator\(|translate\(\[?|inspect\(|using\()
    (?:[^"'\n]*\)\()?\s*["']([A-Z][^"'\n]*[.?])["']""",
    re.VERBOSE,
)


def test_every_sentence_that_is_shown_has_its_words_in_the_corpus():
    root = Path(__file__).parents[3]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs/how-to").glob("*.md")]
    pages += [root / f"src/dragoman/cli/{name}.py" for name in ("inspect", "translate/translate")]
    found = {sentence for page in pages for sentence in EXAMPLE.findall(page.read_text())} - OTHERS
    english = {one for one in found if not re.match(r"Ein |Eine |Der |Die |Das |Es ", one)}
    assert "A man rides a bike." in english
    assert english <= SHOWN.keys()
    assert tuple(SHOWN)[: len(toy.DEMO_SENTENCES)] == toy.DEMO_SENTENCES
    corpus = toy.pairs(count=5000)
    for side, sentences in enumerate((SHOWN.keys(), SHOWN.values())):
        known = {word.lower() for pair in corpus for word in words(pair[side])}
        assert known.issuperset(word.lower() for one in sentences for word in words(one))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "precision"),
    [*((seed, "fp32") for seed in range(1, 11)), *((seed, "bf16") for seed in range(1, 4))],
)
def test_whatever_the_seed_what_is_shown_is_right(seed, precision, tmp_path, monkeypatch):
    """About two minutes each on two cores; bf16 takes longer where the processor has to emulate it."""
    changes = (f"seed={seed}", f"training.precision={precision}")
    monkeypatch.setattr(demo, "OVERRIDES", (*demo.OVERRIDES, *changes))

    shown: Demonstration = demonstrate(tmp_path / "demo")

    assert shown.scores.bleu.value > 95
    answers = Translator.load(tmp_path / "demo").translate(list(SHOWN))
    assert {one.source: one.text for one in answers} == SHOWN
