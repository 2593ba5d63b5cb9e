"""`Translator` with the native engine: the same translations as with PyTorch, and the same interface."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.folder.bundle import save
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.native.build import unavailable
from dragoman.translation.native.native import NativeEngine

TESTS = Path(__file__).parents[2]
SAVED = TESTS / "saved" / "0.1"
MODEL, RECURRENT = SAVED / "transformer", SAVED / "recurrent"
LINES = (SAVED / "text" / "test.en").read_text(encoding="utf-8").splitlines()
native = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")


@pytest.fixture(autouse=True)
def no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAGOMAN_ENGINE", raising=False)


def texts(translator: Translator) -> list[str]:
    return [one.text for one in translator.translate(LINES, beam=3, max_extra_tokens=8)]


@native
def test_a_folder_runs_natively() -> None:
    found = Translator.load(MODEL, device="cpu")
    expected = Translator.load(MODEL, device="cpu", engine="pytorch")

    assert isinstance(found.engine, NativeEngine)
    assert isinstance(expected.engine, PyTorchEngine)
    assert texts(found) == texts(expected)
    assert found.generation == expected.generation
    assert (found.source_language, found.target_language) == ("en", "de")


def test_other_architectures_run_with_pytorch() -> None:
    assert isinstance(Translator.load(RECURRENT, device="cpu").engine, PyTorchEngine)
    with pytest.raises(ConfigError, match="no recurrent models"):
        Translator.load(RECURRENT, engine="native")


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENGINE", "pytorch")
    assert isinstance(Translator.load(MODEL, device="cpu").engine, PyTorchEngine)
    with pytest.raises(ConfigError, match="int8 needs the native engine: engine = pytorch"):
        Translator.load(MODEL, dtype="int8")


@native
def test_the_pytorch_model_is_loaded_when_it_is_needed() -> None:
    translator = Translator.load(MODEL, device="cpu")
    translator.generation = replace(translator.generation, size=7)

    first = translator.bundle

    assert first.generation.size == 7
    assert translator.bundle.model is first.model
    assert translator.inspect(LINES[0], beam=2)
    expected = PyTorchEngine(first.model)
    wanted = Translator(
        first.tokenizer, expected, source_language="en", target_language="de", generation=first.generation
    )
    assert texts(translator) == texts(wanted)


@native
def test_an_archive_runs_natively_and_opens_again(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in MODEL.iterdir():
            archive.write(path, f"model/{path.name}")

    translator = Translator.load(tmp_path / "model.zip", device="cpu")

    assert isinstance(translator.engine, NativeEngine)
    assert texts(translator) == texts(Translator.load(MODEL, engine="pytorch"))
    assert translator.bundle.config.model == Translator.load(MODEL).bundle.config.model


@native
@pytest.mark.parametrize("name", ["hf-multilingual", "marian-ssru"])
def test_an_imported_model_runs_natively(name: str) -> None:
    folder = TESTS / "interop" / "fixtures" / name
    found = Translator.load(folder, device="cpu")
    expected = Translator.load(folder, device="cpu", engine="pytorch")
    to = found.tokenizer.languages[0] if found.tokenizer.languages else None

    assert isinstance(found.engine, NativeEngine)
    assert [one.text for one in found.translate(LINES, to=to)] == [
        one.text for one in expected.translate(LINES, to=to)
    ]


@native
def test_a_model_in_memory_runs_natively() -> None:
    bundle = Translator.load(MODEL, device="cpu", engine="pytorch").bundle

    assert isinstance(Translator.of(bundle).engine, PyTorchEngine)  # its weights may still change
    translator = Translator.of(bundle, engine="native")

    assert isinstance(translator.engine, NativeEngine)
    assert translator.bundle.model is bundle.model
    assert texts(translator) == texts(Translator.of(bundle))


@pytest.mark.parametrize("engine", ["pytorch", pytest.param("native", marks=native)])
def test_bfloat16_is_close(engine: str) -> None:
    exact = Translator.load(MODEL, device="cpu", engine="pytorch")
    translator = Translator.load(MODEL, device="cpu", engine=engine, dtype="bfloat16")  # type: ignore[arg-type]
    targets = texts(exact)

    found = [one.score for one in translator.score(LINES, targets)]

    wanted = [one.score for one in exact.score(LINES, targets)]
    assert found != wanted
    assert found == pytest.approx(wanted, abs=0.1)


@native
def test_damaged_weights_are_refused_as_pytorch_refuses_them(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save(Translator.load(MODEL).bundle, folder)  # with the digest that release 0.1 did not write
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x55")
    messages = []
    for engine in ("native", "pytorch"):
        with pytest.raises(ModelError) as error:
            Translator.load(folder, engine=engine)  # type: ignore[arg-type]
        messages.append((str(error.value), error.value.hint))
    assert messages[0] == messages[1]


@native
def test_without_the_library_pytorch_translates(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = sys.modules["dragoman.translation.native.choice"]
    monkeypatch.setattr(choice, "unavailable", lambda: "no C++ compiler")

    assert isinstance(Translator.load(MODEL, device="cpu").engine, PyTorchEngine)
    with pytest.raises(ConfigError, match="no C.. compiler"):
        Translator.load(MODEL, engine="native")
