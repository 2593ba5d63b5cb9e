"""What version 0.1 wrote still loads, translates the same, and resumes. `make.py` made the folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.saved.make import HALF_DONE, MODELS, run

from dragoman import Translator, train

SAVED = Path(__file__).parent / "0.1"


def expected(folder: Path) -> dict[str, Any]:
    table = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert isinstance(table, dict)
    return table


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("search", "options"),
    [
        ("greedy", {"beam": 1}),
        ("beam", {"beam": 3, "n_best": 2, "no_repeat_ngram": 2, "max_extra_tokens": 8}),
    ],
)
def test_a_model_translates_as_it_did(name: str, search: str, options: dict[str, Any]) -> None:
    translator = Translator.load(SAVED / name, device="cpu")
    lines = (SAVED / "text/test.en").read_text(encoding="utf-8").splitlines()

    found = [one for best in translator.translate(lines, **options) for one in (best, *best.alternatives)]

    before = expected(SAVED / name)[search]
    assert [one.text for one in found] == [one["text"] for one in before]
    assert [one.score for one in found] == pytest.approx([one["score"] for one in before], abs=1e-3)


@pytest.mark.parametrize("name", HALF_DONE)
def test_a_half_done_run_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")  # as when it began: the loops in C draw other masks
    folder = tmp_path / name
    shutil.copytree(SAVED / name, folder)

    run(folder, SAVED / "text", HALF_DONE[name])

    history = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    before = expected(SAVED / name)
    # Muon works in bf16, which processors round differently.
    for kind, losses in (("train", before["losses"]), ("valid", before["validations"])):
        assert [line["loss"] for line in history if line["kind"] == kind] == pytest.approx(losses, abs=0.02)
    assert len(Translator.load(folder, device="cpu").translate(["Tom sleeps."])) == 1


def test_another_run_is_refused_in_an_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "half-done"
    shutil.copytree(SAVED / "half-done", folder)
    text = SAVED / "text"

    with pytest.raises(Exception, match="other options"):
        train([text / "train.en", text / "train.de"], output=folder, preset="tiny")
