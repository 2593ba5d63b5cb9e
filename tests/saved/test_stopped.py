"""Work that an earlier version left half done is finished by this one. `make_stopped.py` made the folders."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.program import program
from tests.saved.make_stopped import (
    COMMANDS,
    MARKED,
    STOPPED,
    TRAININGS,
    losses_of,
    mark,
    place_of_parts,
    train_in,
    write_pairs,
)

from dragoman import Translator
from dragoman.cli.outcome import run
from dragoman.version import __version__

MADE_WITH = "0.1.0"  # translations and scores are only resumed with the version that began them
same_version = pytest.mark.skipif(__version__ != MADE_WITH, reason=f"begun with {MADE_WITH}")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the folders, each with nothing changed since."""
    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")  # as when it began: the loops in C draw other masks
    monkeypatch.delenv("DRAGOMAN_ENGINE", raising=False)
    shutil.copytree(STOPPED, tmp_path / "stopped")
    return tmp_path / "stopped"


@pytest.fixture
def finish(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Repeat a command in its folder, and run it from its beginning in another. Returns the two folders."""

    def finish_command(name: str) -> tuple[Path, Path]:
        whole = copy / "whole"
        whole.mkdir()
        for folder in (copy / name, whole):
            COMMANDS[name].write(folder)
            for place in folder.glob("out/.unfinished.parts/*.txt"):
                place.rename(place.with_name(place_of_parts(folder / "out" / place.name)))
            monkeypatch.chdir(folder)
            assert run(program(), list(COMMANDS[name].words)) == 0
        return copy / name, whole

    return finish_command


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@same_version
@pytest.mark.parametrize(
    ("name", "output"), [("lines", "out"), ("back-translation", "out.de-en.tsv"), ("scores", "scores")]
)
def test_a_file_of_lines_is_finished(finish: Any, name: str, output: str) -> None:
    kept = (STOPPED / name / f"{output}.unfinished").read_bytes()

    ended, whole = finish(name)

    lines = (whole / output).read_bytes().splitlines(keepends=True)
    assert 0 < kept.count(b"\n") < len(lines)
    assert (ended / output).read_bytes() == kept + b"".join(lines[kept.count(b"\n") :])
    assert files(ended).keys() == files(whole).keys()


@same_version
def test_a_folder_of_documents_is_finished(copy: Path, finish: Any) -> None:
    os.utime(copy / "documents/out/a.md", (1, 1))

    ended, whole = finish("documents")

    assert files(ended) == files(whole)
    assert (ended / "out/a.md").stat().st_mtime == 1  # it was not translated again
    assert (ended / "out/b.md").stat().st_mtime > 1


@same_version
def test_a_folder_in_parts_is_finished(copy: Path, finish: Any) -> None:
    os.utime(copy / "parts/out/a.txt", (1, 1))

    ended, whole = finish("parts")

    (changed,) = {name for name, content in files(whole).items() if files(ended)[name] != content}
    assert changed == "out/b.txt"
    assert (ended / changed).read_bytes() == b"#" + (whole / changed).read_bytes()[1:]
    assert files(ended).keys() == files(whole).keys()
    assert (ended / "out/a.txt").stat().st_mtime == 1


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_is_finished(name: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = TRAININGS[name]
    monkeypatch.chdir(copy / training.folder)
    before = files(Path(name))
    write_pairs(Path(), times=training.times)
    for path in Path(name).rglob("*.jsonl"):
        os.utime(path, (1, 1))

    train_in(training, name)

    after = files(Path(name))
    losses = losses_of(Path(name))
    expected = json.loads(Path(f"{name}.json").read_text())
    assert [row[:2] for row in losses] == [row[:2] for row in expected]
    assert [row[2] for row in losses] == pytest.approx([row[2] for row in expected], abs=0.02)
    assert after["metrics.jsonl"].startswith(before.get("metrics.jsonl", b""))
    if name in MARKED:
        kept = after[MARKED[name].replace("unfinished/", "")]
        assert mark(kept) == kept
    if name == "translating":
        assert (Path(name) / "checkpoints/outputs/reference/00000.jsonl").stat().st_mtime == 1
        assert "checkpoints/outputs/reference/00001.jsonl" in after.keys() - before.keys()
    assert len(Translator.load(name, device="cpu").translate(["Tom sleeps now."])) == 1
