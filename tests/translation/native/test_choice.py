from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.models.shapes import RecurrentConfig, TransformerConfig
from dragoman.translation.native import choice
from dragoman.translation.native.choice import against_native

TRANSFORMER = TransformerConfig(source_vocab=9, target_vocab=9, d_model=4, d_ff=4, heads=1)
RECURRENT = RecurrentConfig(source_vocab=9, target_vocab=9, d_model=4)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a compiler and without a GPU."""
    monkeypatch.setattr(choice, "unavailable", lambda: None)
    monkeypatch.setattr(choice, "_gpu", lambda: False)
    monkeypatch.delenv("DRAGOMAN_ENGINE", raising=False)


def test_the_native_engine_translates_if_it_can() -> None:
    for engine in (None, "auto", "native"):
        for device in (None, "cpu"):
            assert against_native(engine, TRANSFORMER, device=device) is None
    assert against_native("pytorch", TRANSFORMER) == "engine = pytorch"
    assert against_native(None, RECURRENT) == "it has no recurrent models"
    assert against_native(None, TRANSFORMER, device="cuda:0") == "it does not run on cuda:0"


def test_without_the_library_pytorch_translates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "unavailable", lambda: "no C++ compiler")

    assert against_native(None, TRANSFORMER) == "no C++ compiler"
    with pytest.raises(ConfigError, match=r"engine = native: no C\+\+ compiler"):
        against_native("native", TRANSFORMER)
    with pytest.raises(ConfigError, match=r"int8 needs the native engine: no C\+\+ compiler"):
        against_native(None, TRANSFORMER, dtype="int8")


def test_a_gpu_comes_before_the_native_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_gpu", lambda: True)

    assert against_native(None, TRANSFORMER) == "a GPU is faster"
    assert against_native(None, TRANSFORMER, device="cpu") is None
    assert against_native("native", TRANSFORMER) is None
    assert against_native(None, TRANSFORMER, dtype="int8") is None  # a GPU has no int8 here


def test_a_gpu_needs_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(choice, "_GPU", tmp_path / "no-driver")
    monkeypatch.setattr(choice, "has_pytorch", lambda: pytest.fail("it looks for PyTorch without a driver"))

    assert not choice._gpu()


def test_nothing_is_compiled_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "unavailable", lambda: pytest.fail("compiles"))

    assert against_native("pytorch", TRANSFORMER)
    assert against_native(None, RECURRENT)
    assert against_native(None, TRANSFORMER, device="cuda")


def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENGINE", "pytorch")
    assert against_native(None, TRANSFORMER) == "engine = pytorch"
    assert against_native("auto", TRANSFORMER) is None
    monkeypatch.setenv("DRAGOMAN_ENGINE", "")
    assert against_native(None, TRANSFORMER) is None
    monkeypatch.setenv("DRAGOMAN_ENGINE", "torch")
    with pytest.raises(ConfigError, match="engine = 'torch'") as error:
        against_native(None, TRANSFORMER)
    assert "auto, native, pytorch" in error.value.hint


def test_wishes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="engine = native: it has no recurrent models"):
        against_native("native", RECURRENT)
    with pytest.raises(ConfigError, match="engine = native: it does not run on cuda"):
        against_native("native", TRANSFORMER, device="cuda")
    with pytest.raises(ConfigError, match="int8 needs the native engine: it has no recurrent models"):
        against_native(None, RECURRENT, dtype="int8")
    with pytest.raises(ConfigError, match="int8 needs the native engine: engine = pytorch"):
        against_native("pytorch", TRANSFORMER, dtype="int8")
    with pytest.raises(ConfigError, match="dtype = 'int4'") as error:
        against_native(None, TRANSFORMER, dtype="int4")  # type: ignore[arg-type]
    assert "float32" in error.value.hint
