"""The risk of translations on the command line."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.program import program

from dragoman.cli.outcome import run
from dragoman.text import toy

MULTILINGUAL = Path(__file__).parents[1] / "interop" / "fixtures" / "hf-multilingual"
SAVED = Path(__file__).parents[1] / "saved" / "0.1" / "transformer"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    pairs = list(dict(toy.pairs(seed=11, count=240)).items())
    for name, part in (("held", pairs[:205]), ("test", pairs[205:215])):
        for place, side in enumerate(("en", "de")):
            (folder / f"{name}.{side}").write_text("".join(f"{p[place]}\n" for p in part), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """A saved model that is calibrated."""
    folder = tmp_path_factory.mktemp("model") / "en-de"
    shutil.copytree(SAVED, folder)
    words = ["model", "calibrate", str(folder), str(text / "held.en"), str(text / "held.de"), "-q"]
    assert run(program(), words) == 0
    return folder


def test_calibrating_writes_the_file_and_the_card(dragoman_, model):
    card = (model / "README.md").read_text("utf-8")
    table = json.loads((model / "risk.json").read_text())

    assert [line for line in card.splitlines() if line.startswith("#")][-3:] == [
        "## Risk", "## Reliability", "## Planted errors",
    ]  # fmt: skip
    assert f"| translations measured | {table['languages']['de']['report']['lines']} |" in card
    assert dragoman_("model", "verify", model).code == 0
    shown = dragoman_("model", "info", model).out
    assert "expected calibration error" in shown
    assert "risk.json" in shown


def test_calibrating_again_replaces_the_sections(dragoman_, model, text, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(model, again)
    ended = dragoman_("model", "calibrate", again, text / "held.en", text / "held.de", "--pairs", "200")

    assert ended.code == 0
    assert "translations measured" in ended.out
    assert "100" in ended.out
    assert f"wrote {again / 'risk.json'}" in ended.err
    assert (again / "README.md").read_text().count("## Risk") == 1


def test_translate_prints_the_risk(dragoman_, model, text):
    ended = dragoman_("translate", model, text / "test.en", "--jsonl", "--risk")
    rows = [json.loads(line) for line in ended.out.splitlines()]

    assert (ended.code, len(rows)) == (0, 10)
    assert all(0 < row["risk"]["probability"] < 1 for row in rows)
    assert all(set(flag) == {"kind", "detail"} for row in rows for flag in row["risk"]["flags"])
    plain = dragoman_("translate", model, text / "test.en", "--jsonl").out
    assert [json.loads(line)["text"] for line in plain.splitlines()] == [row["text"] for row in rows]
    assert "risk" not in json.loads(plain.splitlines()[0])


def test_a_model_without_risk_prints_what_needs_none(dragoman_):
    ended = dragoman_("translate", SAVED, "--jsonl", "--risk", stdin=b"Tom sleeps.\n\n")
    first, second = (json.loads(line)["risk"] for line in ended.out.splitlines())

    assert first["probability"] is second["probability"] is None
    assert second["flags"] == []
    assert "warning: the risk of the model is not calibrated" in ended.err


def test_evaluate_measures_it(dragoman_, model, text, tmp_path):
    words = ["evaluate", model, text / "test.en", text / "test.de", "--risk", "--bootstrap", "0"]
    shown = dragoman_(*words, "--risk-chart", tmp_path / "risk.svg")
    table = json.loads(dragoman_(*words, "--json").out)["risk"]

    assert shown.code == 0
    assert "expected calibration error" in shown.out
    assert "planted in references" in shown.out
    assert table["lines"] == 10
    assert f"{table['ece']:.3f}" in shown.out
    assert ET.parse(tmp_path / "risk.svg").getroot().tag.endswith("svg")


def test_the_risk_of_given_translations(dragoman_, model, text, tmp_path):
    ended = dragoman_("risk", model, text / "test.en", text / "test.de", "-o", tmp_path / "risk.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "risk.jsonl").read_text(encoding="utf-8").splitlines()]

    assert ended.code == 0
    assert [row["line"] for row in rows] == list(range(1, 11))
    assert [row["text"] for row in rows] == (text / "test.de").read_text(encoding="utf-8").splitlines()
    assert all(0 < row["risk"]["probability"] < 1 for row in rows)
    (tmp_path / "wrong.de").write_text("Es sind 13 Hunde.\n", encoding="utf-8")
    (tmp_path / "wrong.en").write_text("There are 15 dogs.\n", encoding="utf-8")
    wrong = dragoman_("risk", SAVED, tmp_path / "wrong.en", tmp_path / "wrong.de")
    flags = json.loads(wrong.out)["risk"]["flags"]
    assert [flag["kind"] for flag in flags] == ["number differs", "number differs"]
    assert "not calibrated" in wrong.err


def test_a_file_that_cannot_be_used_is_made_again(dragoman_, model, text, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(model, again)
    (again / "risk.json").write_text('{"format_version": 1}')
    refused = dragoman_("translate", again, "--jsonl", stdin=b"Tom sleeps.\n")
    ended = dragoman_("model", "calibrate", again, text / "held.en", text / "held.de", "-q")

    assert refused.code != 0
    assert "make it again with dragoman model calibrate" in refused.err
    assert ended.code == 0
    assert json.loads((again / "risk.json").read_text())["format_version"] == 3


def test_a_language_is_calibrated_by_itself(dragoman_, text, tmp_path):
    """The model has deu and eng; only deu is calibrated."""
    folder = tmp_path / "mul"
    assert dragoman_("import", MULTILINGUAL, "-o", folder, "--no-verify").code == 0
    files = text / "held.en", text / "held.de"
    unchosen = dragoman_("model", "calibrate", folder, *files)
    unknown = dragoman_("model", "calibrate", folder, *files, "--to", "fin")
    assert (unchosen.code, unknown.code) == (2, 2)
    assert "choose one with --to: the model has deu" in unchosen.err
    assert "does not translate to it" in unknown.err
    assert not (folder / "risk.json").exists()

    assert dragoman_("model", "calibrate", folder, *files, "--to", "deu", "-q").code == 0
    assert list(json.loads((folder / "risk.json").read_text())["languages"]) == ["deu"]
    assert "## Risk into deu" in (folder / "README.md").read_text()
    for language, is_known in (("deu", True), ("eng", False)):
        words = "translate", folder, "--to", language, "--jsonl", "--risk"
        (row,) = dragoman_(*words, stdin=b"Tom sleeps.\n").out.splitlines()
        assert (json.loads(row)["risk"]["probability"] is not None) == is_known
        given = dragoman_("risk", folder, text / "test.en", text / "test.de", "--to", language)
        assert ("not calibrated for eng" in given.err) == (not is_known)
        assert (json.loads(given.out.splitlines()[0])["risk"]["probability"] is not None) == is_known
        words = "evaluate", folder, text / "test.en", text / "test.de", "--to", language, "--bootstrap", "0"
        measured = dragoman_(*words, "--risk")
        assert (measured.code, "not calibrated for eng" in measured.err) == (
            (0, False) if is_known else (2, True)
        )


def test_the_languages_of_the_model_say_which_side_is_the_source(dragoman_, tmp_path):
    turned = tmp_path / "pairs.jsonl"
    turned.write_text('{"de": "Tom schläft.", "en": "Tom sleeps."}\n', encoding="utf-8")
    row = json.loads(dragoman_("risk", SAVED, turned, "-q").out)
    assert (row["source"], row["text"]) == ("Tom sleeps.", "Tom schläft.")
    (tmp_path / "pairs.tmx").write_text(
        '<tmx version="1.4"><header/><body><tu><tuv xml:lang="de"><seg>Ja.</seg></tuv>'
        '<tuv xml:lang="en"><seg>Yes.</seg></tuv></tu></body></tmx>'
    )
    row = json.loads(dragoman_("risk", SAVED, tmp_path / "pairs.tmx", "-q").out)
    assert (row["source"], row["text"]) == ("Yes.", "Ja.")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["translate", "MODEL", "--risk"], 2, "--risk without --jsonl"),
        (["translate", "MODEL", "--risk", "--jsonl", "--attention", "1"], 2, "risk cannot be used with"),
        (["evaluate", "SAVED", "TEXT/test.en", "TEXT/test.de", "--risk"], 2, "not calibrated"),
        (["evaluate", "MODEL", "a", "b", "--risk-chart", "x.svg"], 2, "--risk-chart without --risk"),
        (
            ["evaluate", "MODEL", "TEXT/test.en", "TEXT/test.de", "--risk", "--dtype", "int8"],
            *(2, "several types"),
        ),
        (["model", "calibrate", "SAVED", "TEXT/test.en", "TEXT/test.de"], 3, "10 different lines"),
        (["model", "calibrate", "SAVED", "TEXT/test.en", "TEXT/test.de", "--pairs", "0"], 2, "--pairs 0"),
    ],
)
def test_what_cannot_be_done(dragoman_, model, text, words, code, message):
    places = {"MODEL": str(model), "SAVED": str(SAVED)}
    ended = dragoman_(*(places.get(word, word.replace("TEXT", str(text))) for word in words), stdin=b"A.\n")

    assert ended.code == code
    assert message in ended.err
    assert ended.out == ""


def test_a_calibration_of_an_earlier_version_warns_where_the_risk_is_asked_for(
    dragoman_, text: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = SAVED.parents[1] / "0.2" / "transformer"

    assert dragoman_("translate", old, text / "test.en").code == 0
    assert caplog.text == ""
    ended = dragoman_("risk", old, text / "test.en", text / "test.de")
    assert "model calibrate" in caplog.text
    assert ended.code == 0
    assert "low confidence" not in ended.out
