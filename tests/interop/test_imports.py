"""Importing a model: a folder that appears whole and compared, or not at all."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from dragoman import Translator
from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.interop import formats, imports
from dragoman.interop.imports import import_model

FIXTURES = Path(__file__).parent / "fixtures"


def card_of(folder: Path) -> str:
    return (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["hf-opus", "marian-ssru"])
def test_a_verified_model_is_written(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers" if name.startswith("hf") else "pymarian")
    done = import_model(str(FIXTURES / name), tmp_path / "new" / "model", lines=["The old dog sleeps."])
    assert done.comparison is not None
    assert (done.unverified, done.comparison.lines) == (None, 1)
    assert str(done.comparison) in card_of(tmp_path / "new" / "model")

    direct = Translator.load(FIXTURES / name, device="cpu")
    saved = Translator.load(tmp_path / "new" / "model", device="cpu")
    lines = ["The old dog sleeps.", "My sister sings."]
    assert saved.translate(lines) == direct.translate(lines)


def test_an_archive_is_imported(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "opus-mt-eng-deu"), "zip", FIXTURES / "hf-opus")
    done = import_model(archive, tmp_path / "model", verified=False)
    assert done.unverified == "--no-verify"
    assert "not compared" in card_of(tmp_path / "model")


def test_the_languages_may_be_named(tmp_path: Path) -> None:
    import_model(
        str(FIXTURES / "marian-joint"),
        tmp_path / "model",
        verified=False,
        source_language="en",
        target_language="de",
    )
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert (config["source_language"], config["target_language"]) == ("en", "de")


def test_without_the_other_program_the_import_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    done = import_model(str(FIXTURES / "hf-opus"), tmp_path / "model")
    assert done.comparison is None
    assert done.unverified == "transformers is not installed: pip install 'dragoman[huggingface]'"
    assert "not compared" in card_of(tmp_path / "model")


def test_a_disagreement_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from dragoman.interop import huggingface

    def read_wrongly(folder: Path) -> object:
        bundle = read(folder)
        bundle.model.encoder[0].attention.project.weight.data[0] += 1
        return bundle

    read = huggingface.read
    monkeypatch.setattr(huggingface, "read", read_wrongly)
    with pytest.raises(DragomanError, match="disagrees on"):
        import_model(str(FIXTURES / "hf-opus"), tmp_path / "new" / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        import_model(str(FIXTURES / "hf-opus"), tmp_path, verified=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_existing_folder_is_refused_before_the_model_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "opened", lambda *args, **options: pytest.fail("fetched"))
    with pytest.raises(ConfigError, match="exists already"):
        import_model("owner/model", tmp_path, verified=False)


def test_an_archive_without_a_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("hello")
    archive = shutil.make_archive(str(tmp_path / "notes"), "zip", tmp_path / "in")
    with pytest.raises(ModelError, match=f"^{re.escape(archive)}: not a model"):
        import_model(archive, tmp_path / "model")


def test_damaged_weights_leave_nothing_behind(tmp_path: Path) -> None:
    broken = shutil.copytree(FIXTURES / "hf-opus", tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    tensors["model.encoder.layers.0.fc1.weight"] = tensors["model.encoder.layers.0.fc1.weight"][:-1]
    save_file(tensors, broken / "model.safetensors")
    with pytest.raises(ModelError, match=r"fc1\.weight has shape"):
        import_model(str(broken), tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


@pytest.mark.parametrize("content", ["[]", "", "[" * 100_000, "{"])
def test_a_damaged_configuration_is_named(content: str, tmp_path: Path) -> None:
    broken = shutil.copytree(FIXTURES / "hf-opus", tmp_path / "broken")
    (broken / "config.json").write_text(content)
    with pytest.raises(ModelError, match=r"config\.json: "):
        import_model(str(broken), tmp_path / "model")


@pytest.mark.parametrize("source", ["", "a" * 5000, "a/" * 5000])
def test_what_is_no_path_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not the path or name of a model"):
        import_model(source, tmp_path / "model")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"config.json": '{"format_version": 1}', "tokenizer.json": "{}", "generation.json": "{}"},
            "already",
        ),
        ({"model.bin": "", "config.json": "{}"}, "a model of CTranslate2"),
        ({"en-de.intgemm.alphas.bin": ""}, "not a model that dragoman knows"),
        ({"notes.txt": "hello"}, "not a model that dragoman knows"),
        ({}, "not a model that dragoman knows"),
    ],
)
def test_other_folders_are_refused(files: dict[str, str], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    with pytest.raises(ModelError, match=message):
        import_model(str(folder), tmp_path / "model")
    assert not (tmp_path / "model").exists()
