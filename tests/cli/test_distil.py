"""`dragoman distil`: what the words mean, what is refused, and a run that is repeated."""

from __future__ import annotations

from pathlib import Path
from shutil import make_archive
from typing import Any

import pytest
from tests.training.runs.students import PAIRS, STUDENT, make_teacher, make_twin

from dragoman.cli.train.distil import is_text, teachers_and_text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two teachers and text."""
    folder = tmp_path_factory.mktemp("place")
    make_twin(make_teacher(folder / "one"), folder / "two")
    for side, suffix in enumerate(("en", "de")):
        (folder / f"train.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
        (folder / f"valid.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS[::9]))
    return folder


def unwrapped(text: str) -> str:
    """Lines are wrapped where the length of a temporary path puts their ends."""
    return " ".join(text.split())


def test_folders_after_the_first_word_are_teachers(place: Path) -> None:
    one, two, text = str(place / "one"), str(place / "two"), str(place / "train.en")

    assert teachers_and_text([one, two, text]) == ([one, two], [text])
    assert teachers_and_text(["opus.zip", one, text]) == (["opus.zip", one], [text])
    assert teachers_and_text([one, text, two]) == ([one], [text, two])
    assert teachers_and_text([]) == ([], [])


def test_an_archive_may_be_a_teacher_and_text_may_not(place: Path, tmp_path: Path) -> None:
    archives = [make_archive(str(tmp_path / "one"), kind, place, "one") for kind in ("zip", "gztar")]

    assert [is_text(name) for name in [*archives, str(place / "one"), "opus-mt", "user/model"]] == [False] * 5
    assert is_text(str(place / "train.en"))


def test_a_student_of_two_and_the_same_command_again(
    dragoman_: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    words = ["distil", "one", "two", "train.en", "train.de", "--valid", "valid.en", "valid.de"]
    words += ["-o", str(tmp_path / "x"), "--preset", "tiny", *STUDENT, "teacher.words=0.5"]

    ended = dragoman_(*words)

    assert (ended.code, ended.out) == (0, "")
    assert "the teachers' translations: 60 pairs" in ended.err
    assert "the teachers' distributions for reference.outputs: 8 tokens at 300 places" in ended.err
    assert "is not a model to translate with" in ended.err
    assert "this run is complete; nothing to do" in unwrapped(dragoman_(*words).err)
    recipe = ["train", "--recipe", str(tmp_path / "x/training.toml"), "train.en", "train.de"]
    ended = dragoman_(*recipe, "--valid", "valid.en", "valid.de", "-o", str(tmp_path / "x"))
    assert "this run is complete; nothing to do" in unwrapped(ended.err)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-o", "out"], 2, "no teacher"),
        (["one", "-o", "out"], 2, "no text to train on"),
        (["train.en", "train.de", "-o", "out"], 2, "train.en: expected a teacher model, got a text file"),
        (["one", "train.en", "train.de"], 2, "no folder to write to"),
        (["one", "train.en", "-o", "out"], 2, "has only sources, but teacher.reference_weight = 1"),
        (["nowhere", "train.en", "train.de", "-o", "out"], 4, "nowhere: no such model folder"),
        (["one", "train.de", "train.en", "-o", "out"], 2, "from de to en, but one translates from en to de"),
        (["one", "train.en", "train.de", "-o", "out", "teacher.beam=x"], 2, "teacher.beam"),
        (["one", "train.en", "train.de", "-o", "out", "teacher.outputs=none"], 2, "learn nothing"),
    ],
)
def test_what_is_refused(
    dragoman_: Any, place: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(place)

    ended = dragoman_("distil", *words)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("error:") == 1
    assert not (place / "out").exists()


def test_a_recipe_that_names_its_teachers_below_the_data(dragoman_: Any, place: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        'preset = "tiny"\n[data]\ntrain = ["train.en", "train.de"]\n[teacher]\nmodels = ["one"]\n'
    )

    ended = dragoman_(
        "train", "--recipe", tmp_path / "r.toml", "--data", place, "-o", tmp_path / "x", *STUDENT
    )

    assert ended.code == 0, ended.err
    assert "the teachers' translations: 60 pairs" in ended.err


def test_options_may_name_the_text(dragoman_: Any, place: Path, tmp_path: Path) -> None:
    text = 'data.corpora=[{name="a", train=["train.en", "train.de"]}]'

    ended = dragoman_(
        "distil", place / "one", "--data", place, "-o", tmp_path / "x", "--preset", "tiny", *STUDENT, text
    )

    assert ended.code == 0, ended.err
    assert "the teachers' translations: 60 pairs" in ended.err


def test_a_refused_command_leaves_the_recipe_of_the_run(
    dragoman_: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    words = ["distil", "one", "-o", tmp_path / "x", "--preset", "tiny", *STUDENT]
    assert dragoman_(*words, "train.en", "train.de").code == 0
    before = (tmp_path / "x/training.toml").read_bytes()
    for side in ("en", "de"):
        lines = (place / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"train.{side}").write_text("".join(lines[1:]), encoding="utf-8")

    ended = dragoman_(*words, tmp_path / "train.en", tmp_path / "train.de", "training.max_updates=6")

    assert ended.code == 3
    assert (tmp_path / "x/training.toml").read_bytes() == before
