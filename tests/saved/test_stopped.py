"""A training that an earlier version left half done is finished by this one.

`make_stopped.py` made the folders. Translations and scores are resumed only by the version that began them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.saved.make_stopped import (
    MARKED,
    STOPPED,
    TRAININGS,
    losses_of,
    mark,
    train_in,
    write_pairs,
)

from dragoman import Translator


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the folders, each with nothing changed since."""
    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")  # as when it began: the loops in C draw other masks
    monkeypatch.delenv("DRAGOMAN_ENGINE", raising=False)
    shutil.copytree(STOPPED, tmp_path / "stopped")
    return tmp_path / "stopped"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
