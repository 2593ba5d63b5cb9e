"""`dragoman train` before the training: a mistake is reported without waiting seconds for torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.train.train import TrainingRun, spread_files

CODE = """
import sys
from dragoman.cli import main
try:
    main()
except SystemExit as done:
    print(done.code, "torch" in sys.modules)
"""
OPTIONS = ["--preset", "tiny"]


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    paths = [tmp_path / "train.en", tmp_path / "train.de"]
    for path, line in zip(paths, ("A dog.\n", "Ein Hund.\n"), strict=True):
        path.write_text(line, encoding="utf-8")
    return [str(path) for path in paths]


def train(*words: str) -> tuple[int, bool, str]:
    """Exit code, whether torch was loaded, and standard error."""
    ended = subprocess.run(
        [sys.executable, "-c", CODE, "train", *words],
        env={name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    code, loaded = ended.stdout.split()
    return int(code), loaded == "True", ended.stderr


@pytest.mark.thorough
def test_a_missing_argument_loads_no_torch(text: list[str]) -> None:
    code, loaded, err = train(*text)

    assert (code, loaded) == (2, False)
    assert "no folder to write to" in err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["TEXT", "-o", "OUT", *OPTIONS, "model.head=2"], 2, "unknown option 'model.head'"),
        (["no.en", "no.de", "-o", "OUT", *OPTIONS], 3, "no.en: no such file"),
        (["TEXT", "-o", "TAKEN", *OPTIONS], 2, "training would overwrite README.md"),
        (["TEXT", "-o", "OUT", "--recipe", "no.toml"], 2, "no.toml: No such file"),
        (["TEXT", "-o", "OUT", *OPTIONS, "--seeds", "0"], 2, "--seeds 0"),
        (["TEXT", "-o", "OUT", *OPTIONS, "--seeds", "2"], 2, "--seeds needs text to score"),
        (["-", "-o", "OUT", *OPTIONS, "--seeds", "2"], 2, "standard input can be read only once"),
    ],
)
def test_a_mistake_loads_no_torch(
    words: list[str], code: int, message: str, text: list[str], tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "README.md").write_text("Mine.")
    names = {"TEXT": text, "OUT": [str(tmp_path / "out")], "TAKEN": [str(taken)]}

    ended, loaded, err = train(*(name for word in words for name in names.get(word, [word])))

    assert message in err
    assert (ended, loaded) == (code, False)


def test_standard_input_holds_both_sides_of_validation_text() -> None:
    words = ["--valid", "-", "train.en", "train.de"]
    assert spread_files(words) == words
    assert spread_files(["--valid", "v.mqxliff", "memory.tmx"]) == ["--valid", "v.mqxliff", "memory.tmx"]


def test_text_that_options_name_needs_a_preset_or_a_model_to_tune() -> None:
    for option in ("data.train=[a.tmx]", "data.corpora=[]"):
        assert not TrainingRun().names_text([option])
        assert TrainingRun(preset="tiny").names_text([option])
        assert TrainingRun().names_text([option], tunes=True)
    assert not TrainingRun().names_text(["model.heads=2"], tunes=True)
