"""`dragoman import` and `dragoman export`, as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.translation.folder.models import saved

FIXTURES = Path(__file__).parents[1] / "interop" / "fixtures"


def test_import_then_translate_into_a_language(dragoman_, tmp_path):
    text = tmp_path / "text.en"
    text.write_text("The dog sleeps.\n\n")

    code, out, err = dragoman_("import", FIXTURES / "hf-multilingual", "-o", tmp_path / "m", "--no-verify")
    assert (code, out) == (0, "")
    assert "translates from" in err
    assert "(choose with --to)" in err

    code, out, _ = dragoman_("translate", tmp_path / "m", text, "--to", "deu")
    assert code == 0
    assert out.count("\n") == 2
    assert out.splitlines()[0]

    code, out, err = dragoman_("translate", tmp_path / "m", text, "--to", "fin")
    assert (code, out) == (2, "")
    assert "does not translate to it\nhint: it has deu" in err


@pytest.mark.parametrize(
    ("line", "warnings"), [("The dog sleeps.", 1), (">>deu<< The dog sleeps.", 0), ("", 0)]
)
def test_a_line_without_a_language_is_warned_of(tmp_path, caplog, line, warnings):
    from dragoman import Translator

    translator = Translator.load(FIXTURES / "hf-multilingual", device="cpu")
    translator.translate([line, line], beam=1)

    assert sum("several target languages" in record.message for record in caplog.records) == warnings


def test_evaluate_into_a_language(dragoman_, tmp_path):
    dragoman_("import", FIXTURES / "hf-multilingual", "-o", tmp_path / "m", "--no-verify")
    (tmp_path / "test.en").write_text("The dog sleeps.\n")
    (tmp_path / "test.de").write_text("Der Hund schläft.\n")
    words = ("evaluate", tmp_path / "m", tmp_path / "test.en", tmp_path / "test.de", "--bootstrap", 0)

    code, out, _ = dragoman_(*words, "--to", "deu")
    assert (code, "BLEU" in out) == (0, True)

    code, _, err = dragoman_(*words, "--to", "fin")
    assert code == 2
    assert "does not translate to it" in err


def test_to_needs_a_model_with_several_languages(dragoman_, tmp_path):
    text = tmp_path / "text.en"
    text.write_text("The dog sleeps.\n")

    code, _, err = dragoman_("translate", saved(tmp_path / "m", 1), text, "--to", "de")

    assert code == 2
    assert "this model has one target language" in err


def test_verify_on_a_text(dragoman_, tmp_path):
    pytest.importorskip("transformers")
    text = tmp_path / "text.en"
    text.write_text("The dog sleeps.\n\nMy sister sings.\n")

    words = ("import", FIXTURES / "hf-opus", "-o", tmp_path / "m", "--verify-on", text)
    code, out, err = dragoman_(*words)

    assert (code, out) == (0, "")
    assert "2 translations equal" in err


@pytest.mark.parametrize("command", ["import", "export"])
def test_verify_on_needs_lines(dragoman_, tmp_path, command):
    (tmp_path / "empty").write_text("\n")
    source = FIXTURES / "hf-opus" if command == "import" else saved(tmp_path / "m", 1)
    words = [command, source, "-o", tmp_path / "out", *(["--to", "onnx"] if command == "export" else [])]

    code, _, err = dragoman_(*words, "--verify-on", tmp_path / "empty")
    assert code == 3
    assert "no lines to compare on" in err

    code, _, err = dragoman_(*words, "--verify-on", tmp_path / "empty", "--no-verify")
    assert code == 2
    assert "--verify-on together with --no-verify" in err


def test_export_to_an_unknown_format(dragoman_, tmp_path):
    code, _, err = dragoman_("export", saved(tmp_path / "m", 1), "--to", "tensorflow", "-o", tmp_path / "out")

    assert code == 2
    assert "--to tensorflow: unknown format\nhint: choose huggingface, marian, firefox, ctranslate2" in err


def test_export(dragoman_, tmp_path):
    pytest.importorskip("onnxruntime")
    code, out, err = dragoman_("export", saved(tmp_path / "m", 1), "--to", "onnx", "-o", tmp_path / "out")

    assert (code, out) == (0, "")
    assert "verified with onnxruntime" in err
    assert (tmp_path / "out" / "model.json").exists()


def test_calibrating_needs_lines(dragoman_, tmp_path):
    (tmp_path / "empty.en").write_text("\n\n")
    (tmp_path / "empty.de").write_text("\n\n")
    calibrate = "--calibrate", tmp_path / "empty.en", tmp_path / "empty.de"
    model = saved(tmp_path / "m", 1)
    code, _, err = dragoman_("export", model, "--to", "firefox", "-o", tmp_path / "out", *calibrate)

    assert code == 3
    assert "empty.en: only empty lines\nhint: " in err


def test_a_missing_model(dragoman_, tmp_path):
    code, _, err = dragoman_("import", tmp_path / "nothing", "-o", tmp_path / "out")

    assert code == 4
    assert "nothing: no such model folder\nhint: " in err
