"""Where the library of the engine comes from, with a program of one function in its place."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.base.compiler import CompilerError, cached
from dragoman.base.errors import ConfigError
from dragoman.translation.native import build

VISIBLE = 'extern "C" __attribute__((visibility("default")))'
SOURCE = f'#include "answer.h"\n{VISIBLE} int answer() {{ return ANSWER; }}\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the engine's, and an empty cache."""
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp" / "answer.h").write_text("#define ANSWER 42\n")
    (tmp_path / "cpp" / "answer.cpp").write_text(SOURCE)
    monkeypatch.setattr(build, "_HERE", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build._find.cache_clear()
    yield tmp_path
    build._find.cache_clear()


@pytest.fixture
def compiler(place: Path) -> None:
    try:
        build._compiler()
    except CompilerError:
        pytest.skip("no C++ compiler here")


def answer(library: ctypes.CDLL) -> int:
    return int(library.answer())


@pytest.mark.usefixtures("compiler")
def test_it_is_compiled_once(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        build._find.cache_clear()  # as a new process
        assert answer(build.library()) == 42
        assert build.unavailable() is None
    assert caplog.messages == ["compiling the native engine (once)"]
    assert caplog.records[0].levelno == logging.WARNING  # so that it is seen without -v

    (place / "cpp" / "answer.h").write_text("#define ANSWER 43\n")
    build._find.cache_clear()

    assert answer(build.library()) == 43
    assert len(list((place / "cache" / "dragoman").iterdir())) == 2


@pytest.mark.usefixtures("compiler")
def test_a_damaged_library_in_the_cache_is_compiled_again(place: Path) -> None:
    path = cached(build._compiler(), build.program())
    path.parent.mkdir(parents=True)
    path.touch()

    assert answer(build.library()) == 42
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.usefixtures("compiler")
def test_a_packaged_library_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.compile_to(place / build.PACKAGED)
    (place / "cpp" / "answer.h").write_text("#define ANSWER 43\n")
    monkeypatch.setenv("PATH", "")

    assert answer(build.library()) == 42
    assert not (place / "cache").exists()


@pytest.mark.usefixtures("compiler")
def test_a_packaged_library_for_another_system_is_compiled_here(place: Path) -> None:
    (place / build.PACKAGED).write_bytes(b"not for this system")

    assert answer(build.library()) == 42


def test_without_a_compiler(place: Path, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("dragoman.base.compiler.find_spec", lambda name: None)

    assert build.unavailable() == "no C++ compiler"
    with pytest.raises(ConfigError, match="not available: no C.. compiler") as error:
        build.library()
    assert "install" in error.value.hint
    assert caplog.messages == []  # PyTorch does the work; `dragoman doctor` says why


@pytest.mark.usefixtures("compiler")
def test_a_failing_compiler(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    (place / "cpp" / "answer.cpp").write_text("#error too old\n")

    reason = build.unavailable()

    assert reason is not None
    assert "too old" in reason
    assert caplog.messages[-1].startswith("the native engine does not compile: ")


@pytest.mark.usefixtures("compiler")
def test_a_library_that_cannot_be_loaded(place: Path) -> None:
    (place / "cpp" / "answer.cpp").write_text(
        f'extern "C" int missing();\n{VISIBLE} int answer() {{ return missing(); }}\n'
    )

    assert "missing" in str(build.unavailable())


@pytest.mark.usefixtures("compiler")
def test_a_cache_that_cannot_be_written(place: Path) -> None:
    (place / "cache").write_text("a file")

    assert "cannot write" in str(build.unavailable())


def test_the_sources_are_all_there() -> None:
    folder = Path(build.__file__).parent / "cpp"
    sources = build.program()

    assert {*sources.sources, *sources.headers} == {*folder.iterdir()}
