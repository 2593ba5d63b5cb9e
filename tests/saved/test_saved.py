"""What earlier versions wrote still loads, translates the same, and resumes. `make.py` made the folders."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open
from tests.saved.make import HALF_DONE, LANGUAGES, NEWER_HALF_DONE, SEARCHES, run

from dragoman import Translator, train
from dragoman.base.errors import ModelError
from dragoman.text.tokenizers import tokenizer
from dragoman.translation.folder import adapter, config, risk, shortlist
from dragoman.translation.memory import store_file
from dragoman.translation.memory.store import TranslationMemory

SAVED = Path(__file__).parent
TEXT = SAVED / "0.1/text"
MODELS = sorted(str(path.parent.relative_to(SAVED)) for path in SAVED.glob("*/*/config.json"))
RUNS = {f"0.1/{name}": options for name, options in HALF_DONE.items()} | {
    f"0.2/{name}": options for name, options in NEWER_HALF_DONE.items()
}


def expected(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def check(translator: Translator, before: list[dict[str, Any]], options: dict[str, Any]) -> None:
    """Translate the test text and compare."""
    lines = (TEXT / "test.en").read_text(encoding="utf-8").splitlines()
    found = [one for best in translator.translate(lines, **options) for one in (best, *best.alternatives)]
    assert [one.text for one in found] == [one["text"] for one in before]
    assert [one.score for one in found] == pytest.approx([one["score"] for one in before], abs=1e-3)
    if "risk" in before[0]:
        risks = [one.risk.probability if one.risk else None for one in found]
        assert risks == pytest.approx([one["risk"] for one in before], abs=1e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("search", SEARCHES)
def test_a_model_translates_as_it_did(name: str, search: str) -> None:
    options = SEARCHES[search] | LANGUAGES.get(Path(name).name, {})
    check(Translator.load(SAVED / name, device="cpu"), expected(SAVED / name)[search], options)


def test_what_lies_beside_a_model_is_used_as_it_was() -> None:
    folder = SAVED / "0.2/transformer"
    translator, before = Translator.load(folder, device="cpu"), expected(folder)

    check(translator, before["shortlist"], {"beam": 2, "shortlist": True})
    check(translator, before["risk"], {"beam": 1, "risk": True})


def test_an_adapter_changes_a_model_as_it_did() -> None:
    base, own = SAVED / "0.2/transformer", SAVED / "0.2/adapter"

    check(Translator.load(base, device="cpu", adapter=own), expected(own)["beam"], SEARCHES["beam"])

    assert expected(own)["beam"] != expected(base)["beam"]


def test_a_memory_remembers(tmp_path: Path) -> None:
    shutil.copy(SAVED / "0.2/memory/app.tm", tmp_path)
    with TranslationMemory(tmp_path / "app.tm") as memory:
        for before, line in zip(expected(SAVED / "0.2/memory"), ("{}", "{} Yes."), strict=True):
            match = memory.match(line.format(before["source"]))
            assert match is not None
            assert (match.source, match.target) == (before["source"], before["target"])
            assert match.score == pytest.approx(before["score"], abs=0.001)


def test_the_first_format_of_the_risk_is_refused_with_the_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(SAVED / "0.2/transformer", folder)
    shutil.copy(SAVED / "0.2/risk-1.json", folder / "risk.json")

    with pytest.raises(ModelError, match="format_version 1") as refused:
        Translator.load(folder, device="cpu").translate(["Tom sleeps."], risk=True)
    assert "dragoman model calibrate" in refused.value.hint


def test_the_third_format_of_the_risk_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(SAVED / "0.2/transformer", folder)
    config.forget_digest(folder, "risk.json")
    shutil.copy(SAVED / "0.2/risk-3.json", folder / "risk.json")
    config.write_digests(folder, ["risk.json"])

    (found,) = Translator.load(folder, device="cpu").translate(["Tom sleeps."], risk=True)
    assert found.risk is not None
    assert found.risk.probability == pytest.approx(0.9999, abs=1e-4)  # the text was all wrong


# ---- every version of every format -------------------------------------------------------------------


def versions_of_the_code() -> set[tuple[str, int]]:
    newest = {
        "config.json": config._QUANTISED_VERSION,
        "tokenizer.json": tokenizer.FORMAT_VERSION,
        "adapter.json": adapter._VERSION,
        "risk.json": risk.RISK_VERSION,
        "memory": store_file.FORMAT_VERSION,
        "shortlist": int(shortlist._FORMAT["version"]),
    }
    return {(name, version) for name, last in newest.items() for version in range(1, last + 1)}


def versions_saved() -> set[tuple[str, int]]:
    found = set()
    for path in SAVED.rglob("*.json"):
        table = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(table, dict) and "format_version" in table:
            found.add((re.sub(r"-\d+", "", path.name), table["format_version"]))
    for path in SAVED.rglob("shortlist.safetensors"):
        with safe_open(path, "np") as file:
            found.add(("shortlist", int(file.metadata()["version"])))
    for path in SAVED.rglob("*.tm"):
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        found.add(("memory", connection.execute("PRAGMA user_version").fetchone()[0]))
        connection.close()
    return found


def test_every_format_version_is_saved() -> None:
    """A new version needs a folder that a later one can be tested with: see make.py."""
    assert versions_saved() == versions_of_the_code()


def test_every_format_with_a_version_is_known_here() -> None:
    package = SAVED.parents[1] / "src/dragoman"
    writes = re.compile(r'"format_version": |PRAGMA user_version = |"version": "')
    found = {path for path in package.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}

    names = (
        "translation/folder/config",
        "text/tokenizers/tokenizer",
        "translation/folder/adapter",
        "translation/folder/risk",
        "translation/memory/store_file",
        "translation/folder/shortlist",
    )
    # The first shows the version of config.json; dragoman does not read the second, an export.
    others = ("translation/folder/summary", "interop/onnx/onnx")
    assert found == {package / f"{name}.py" for name in (*names, *others)}


# ---- half-done runs ----------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUNS)
def test_a_half_done_run_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")  # as when it began: the loops in C draw other masks
    folder = tmp_path / "run"
    shutil.copytree(SAVED / name, folder)

    run(folder, TEXT, RUNS[name])

    history = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    before = expected(SAVED / name)
    # Muon works in bf16, which processors round differently.
    for kind, losses in (("train", before["losses"]), ("valid", before["validations"])):
        assert [line["loss"] for line in history if line["kind"] == kind] == pytest.approx(losses, abs=0.02)
    assert len(Translator.load(folder, device="cpu").translate(["Tom sleeps."])) == 1


def test_another_run_is_refused_in_an_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "half-done"
    shutil.copytree(SAVED / "0.1/half-done", folder)

    with pytest.raises(Exception, match="other options"):
        train([TEXT / "train.en", TEXT / "train.de"], output=folder, preset="tiny")
