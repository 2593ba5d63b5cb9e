"""Exporting a model: compared as it is written, or not written at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.memorised import SOURCES, random_bundle, tokenizer
from tests.translation.bundles import several_bundle

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.interop import formats
from dragoman.interop.exports import export_model
from dragoman.models.folder.bundle import Bundle
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return random_bundle(tokenizer())


def test_a_verified_export(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    done = export_model(bundle, "onnx", tmp_path / "new" / "out", lines=SOURCES)
    assert done.comparison is not None
    assert (done.comparison.lines, done.unverified, done.notes) == (len(SOURCES), None, ())
    assert (tmp_path / "new" / "out" / "encoder.onnx").exists()


def test_a_model_with_placeholders_is_exported_without_its_rule(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pairs = [(line, line) for line in SOURCES * 5]
    reserving = Tokenizer.train(pairs, TokenizerConfig(vocab_size=320, placeholders=2))
    lines = ["⟦1⟧ dogs", "two ⟦2⟧ and ⟦1⟧"]
    done = export_model(random_bundle(reserving), "onnx", tmp_path / "out", lines=lines)
    assert done.comparison is not None
    assert [note for note in done.notes if "⟦1⟧" in note]


@pytest.mark.parametrize(
    ("to", "options", "notes"),
    [
        ("ctranslate2", {}, ["['>>de<<>>en<<', ...]", "beam_size"]),
        (
            "ctranslate2",
            {"target_mark": "target", "kind": "unigram"},
            ["['>>de<<', ...]", "target_prefix=[['>>en<<']]. The first token", "beam_size"],
        ),
        ("onnx", {}, [">>de<<>>en<<A dog."]),
        ("onnx", {"target_mark": "target", "kind": "characters"}, [">>de<<A dog.", "such as >>en<<."]),
        pytest.param("huggingface", {"source_mark": False}, [": >>en<<A dog."], marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_a_model_of_several_languages(
    to: formats.ExportFormat, options: dict[str, Any], notes: list[str], tmp_path: Path
) -> None:
    pytest.importorskip(formats.FORMATS[to].package)
    several = several_bundle(**options)
    done = export_model(several, to, tmp_path / "out")
    assert done.comparison is not None
    assert done.comparison.translated == ("target_mark" not in options)
    assert all(any(note in one for one in done.notes) for note in notes)
    if "target_mark" in options and to == "onnx":
        starts = json.loads((tmp_path / "out" / "model.json").read_text())["target_start"]
        assert starts == {one: list(several.tokenizer.target_start(one)) for one in ("de", "en", "fr")}


@pytest.mark.parametrize(
    ("to", "options", "reason"),
    [
        ("huggingface", {}, "two marks before a source"),
        ("huggingface", {"source_mark": False, "target_mark": "target"}, 'tokenizer.target_mark = "target"'),
        ("marian", {}, "Marian reads them as text"),
        ("firefox", {}, "Firefox cannot hold"),
        ("argos", {}, "a package translates between two languages"),
    ],
)
def test_marks_that_a_program_cannot_read_are_refused(
    to: formats.ExportFormat, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=reason):
        export_model(several_bundle(**options), to, tmp_path / "out", verified=False)
    assert list(tmp_path.iterdir()) == []


def test_without_the_other_program(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    done = export_model(bundle, "onnx", tmp_path / "out")
    assert done.comparison is None
    assert done.unverified == "onnxruntime is not installed: pip install 'dragoman[onnx]'"


def test_a_disagreement_leaves_nothing_behind(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    from dragoman.interop.onnx import onnx

    write, other = onnx.write, random_bundle(tokenizer(), seed=5)
    monkeypatch.setattr(onnx, "write", lambda bundle, path: write(other, path))
    with pytest.raises(DragomanError, match="disagrees on"):
        export_model(bundle, "onnx", tmp_path / "new" / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["onnx", "ctranslate2", "huggingface", "marian", "argos"])
def test_what_exists_is_kept(bundle: Bundle, to: formats.ExportFormat, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        export_model(bundle, to, output)
    assert output.read_text() == "mine"


def test_an_unknown_format_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="to='html': unknown format"):
        export_model(bundle, "html", tmp_path / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("to", ["onnx", "huggingface", "marian"])
def test_quantization_is_refused_elsewhere(bundle: Bundle, to: formats.ExportFormat, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--quantization int8"):
        export_model(bundle, to, tmp_path / "out", quantization="int8")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["onnx", "ctranslate2", "huggingface", "marian", "argos"])
def test_a_refused_model_leaves_nothing_behind(to: formats.ExportFormat, tmp_path: Path) -> None:
    from dragoman.models.seq2seq import build_model
    from dragoman.models.shapes import RecurrentConfig

    cutter = tokenizer()
    size = cutter.source_size
    model = build_model(RecurrentConfig(source_vocab=size, target_vocab=size, d_model=8, layers=1))
    recurrent = Bundle(model=model, tokenizer=cutter, source_language="en", target_language="de")
    with pytest.raises(ConfigError, match="recurrent"):
        export_model(recurrent, to, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_dead_link_is_not_followed(bundle: Bundle, tmp_path: Path) -> None:
    link = tmp_path / "en-de.argosmodel"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="exists already"):
        export_model(bundle, "argos", link, verified=False)
    assert not (tmp_path / "elsewhere").exists()
